/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_EPOCH_H
#define CULPRIT_DB_EPOCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "db/pack.h"
#include "db/seal.h"

/* What lies in an epoch's directory, by name. Packs are those of a sound seal, if there is one. */
struct epoch_base {
	uint32_t generation, upto;
};

struct epoch_listing {
	uint32_t *segments;	  /* ascending */
	struct epoch_base *bases; /* highest generation first */
	size_t segment_count, base_count;
	char **names; /* everything that is there */
	size_t name_count;
	struct seal seal;
	int seal_error; /* 0; -ENOENT: not sealed; others: sealed, but by what is not known */
	bool *found;	/* of the files of a sound seal, those that are there */
	size_t found_count;
};

/* What is there now. A negative errno when the directory cannot be read. */
int epoch_list(const struct io *io, int epoch_fd, struct epoch_listing *ret);
void epoch_listing_free(struct epoch_listing *l);

/* The packs that together are an epoch, open, so that a compaction meanwhile takes nothing away. */
struct epoch {
	struct pack **packs; /* in order of time: the base first */
	size_t pack_count;
	uint32_t generation, upto; /* of the base; 0 when there is none */
	uint32_t last_segment;
	int unread; /* 0, or why a sound pack could not be read (-EIO, newer version) */
	bool sealed;
	uint64_t bytes;
};

/* Whether a pack's name is in no seal, though there is a sound one: then it does not count. */
bool epoch_is_foreign(const struct epoch_listing *l, const char *name);
/* Whether the newest base stands for it. */
bool epoch_is_covered(const struct epoch_listing *l, const char *name);
/* Whether it is what a compaction made that did not live to seal it. */
bool epoch_is_unsealed_base(const struct epoch_listing *l, const char *name);

struct epoch_limit {
	uint32_t segment; /* the last to take */
	size_t packs;	  /* how many to take */
};

extern const struct epoch_limit epoch_whole;

/*
 * Opens an epoch without a lock, listing again as long as the writer changes it meanwhile. What
 * cannot be used is reported to damage. -ENOENT: the epoch is gone.
 */
int epoch_open(const struct io *io, int machine_fd, const char *name,
	       const struct epoch_limit *limit, pack_damage_fn *damage, void *arg,
	       struct epoch *ret, struct diag *diag);
void epoch_close(struct epoch *e);

/* Interval (ns since 1970, from the name where no pack knows) and samples of all its packs. */
void epoch_summarize(const struct epoch *e, const char *name, uint64_t *ret_start_ns,
		     uint64_t *ret_end_ns, uint64_t *ret_samples);

#endif

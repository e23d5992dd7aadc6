/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_EPOCH_H
#define CULPRIT_DB_EPOCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "db/pack.h"
#include "db/seal.h"

/* The content of an epoch's directory, by name. If there is a sound seal, only the packs that it
 * lists are packs. */
struct epoch_base {
	uint32_t generation, upto;
};

struct epoch_listing {
	uint32_t *segments;	  /* ascending */
	struct epoch_base *bases; /* highest generation first */
	size_t segment_count, base_count;
	char **names; /* all names in the directory */
	size_t name_count;
	struct seal seal;
	int seal_error; /* 0; -ENOENT: not sealed; others: sealed, but the seal is not usable */
	bool *found;	/* for each file of a sound seal: whether it is there */
	size_t found_count;
};

/* Reads the directory. 0, or a negative errno when it cannot be read. */
int epoch_list(const struct io *io, int epoch_fd, struct epoch_listing *ret);
void epoch_listing_free(struct epoch_listing *l);

/* The packs that make up an epoch, held open, so that a compaction at the same time cannot take
 * them away. */
struct epoch {
	struct pack **packs; /* in chronological order: the base first */
	size_t pack_count;
	uint32_t generation, upto; /* of the base; 0 when there is none */
	uint32_t last_segment;
	int unread; /* 0, or why a pack could not be read (-EIO, newer version) */
	bool sealed;
	uint64_t bytes;
};

/* Whether a pack does not belong to the epoch: there is a sound seal that does not list it. */
bool epoch_is_foreign(const struct epoch_listing *l, const char *name);
/* Whether the newest base contains what the pack of this name held. */
bool epoch_is_covered(const struct epoch_listing *l, const char *name);
/* Whether it is a base made by a compaction that died before it could update the seal. */
bool epoch_is_unsealed_base(const struct epoch_listing *l, const char *name);

struct epoch_limit {
	uint32_t segment; /* the last to open */
	size_t packs;	  /* how many to open */
};

extern const struct epoch_limit epoch_whole;

/*
 * Opens an epoch without a lock; lists it again as long as the writer changes it. What cannot be
 * used is reported to damage. -ENOENT: the epoch is gone.
 */
int epoch_open(const struct io *io, int machine_fd, const char *name,
	       const struct epoch_limit *limit, pack_damage_fn *damage, void *arg,
	       struct epoch *ret, struct diag *diag);
void epoch_close(struct epoch *e);

/* The interval (ns since 1970; taken from the name when no pack has one) and the samples of all
 * packs. */
void epoch_summarize(const struct epoch *e, const char *name, uint64_t *ret_start_ns,
		     uint64_t *ret_end_ns, uint64_t *ret_samples);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_SEAL_H
#define CULPRIT_DB_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "db/age.h"
#include "db/layout.h"
#include "db/pack.h"

/*
 * An epoch's seal: nothing will be added, and these packs are all that it is made of. So a reader
 * knows what is missing, and takes nothing that somebody else has put there. A writer that
 * compacts a sealed epoch writes the new seal once the new base is durable, and only then removes
 * what the base covers.
 */
struct seal_file {
	char name[LAYOUT_NAME_MAX];
	uint64_t bytes, samples;
	uint64_t
		sum; /* of its index's payload, which has the sums of all else; 0: it was damaged */
};

struct seal {
	struct seal_file *files;
	size_t count;
	struct age_clock clock; /* when it was sealed first */
	uint64_t sum;		/* of all of it */
};

/* 0; -ENOENT: not sealed; -EBADMSG: damaged; others: it cannot be read now. */
int seal_read(const struct io *io, int epoch_fd, struct seal *ret);
/* Durable when it returns 0. Puts the files in order. */
int seal_write(const struct io *io, int epoch_fd, struct seal *s);
void seal_free(struct seal *s);

/* The file of a name, in a seal that was read; NULL: it does not belong to the epoch. */
const struct seal_file *seal_find(const struct seal *s, const char *name);
/* Adds a pack that lies in the directory; what is not a regular file is passed over. */
int seal_add(struct seal *s, const struct io *io, int epoch_fd, const char *name);
/* Whether an open pack is what was sealed. */
bool seal_fits(const struct seal_file *f, const struct pack *p);

#endif

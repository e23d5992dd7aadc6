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
 * An epoch's seal says that nothing will be added to the epoch, and which packs it consists of. By
 * it a reader knows what is missing, and ignores files that somebody else has put there. A writer
 * that compacts a sealed epoch writes the new seal once the new base is durable, and only then
 * removes what the base covers.
 */
struct seal_file {
	char name[LAYOUT_NAME_MAX];
	uint64_t bytes, samples;
	uint64_t sum; /* of its index's payload, which has the sums of the rest; 0: damaged */
};

struct seal {
	struct seal_file *files;
	size_t count;
	struct age_clock clock; /* when the epoch was first sealed */
	uint64_t sum;		/* of the whole seal */
};

/* 0; -ENOENT: not sealed; -EBADMSG: the seal is damaged; others: it cannot be read now. */
int seal_read(const struct io *io, int epoch_fd, struct seal *ret);
/* Sorts the files and writes the seal, which is durable when this returns 0. */
int seal_write(const struct io *io, int epoch_fd, struct seal *s);
void seal_free(struct seal *s);

/* The file of that name in a seal that was read; NULL if it does not belong to the epoch. */
const struct seal_file *seal_find(const struct seal *s, const char *name);
/* Adds a pack of the directory. What is not a regular file or has nothing usable in it is passed
 * over, with 0; what may not be opened or is of a newer version is added without its sum. */
int seal_add(struct seal *s, const struct io *io, int epoch_fd, const char *name);
/* Whether an open pack is the one that was sealed. True also if damage makes that impossible to
 * tell. */
bool seal_fits(const struct seal_file *f, const struct pack *p);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_TESTS_MODEL_DISK_H
#define CULPRIT_TESTS_MODEL_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "util/io.h"

/*
 * A disk in memory behind an I/O table, which promises no more than POSIX does: of a file only what
 * was there at its last sync_data is safe, of a directory only what was done to its names before
 * its last sync_dir. What a crash leaves of the rest is anything: of the names any subset of what
 * was done, in its order; of a file's data the old, the new, zeroes, or a part.
 */
struct model_disk;

struct model_disk *model_disk_new(void);
void model_disk_free(struct model_disk *d);
struct io model_disk_io(struct model_disk *d);
struct io_time *model_disk_clock(struct model_disk *d);

/* Called before each call that changes the disk, and before each sync. */
void model_disk_watch(struct model_disk *d, void (*before)(void *arg), void *arg);
/*
 * Makes syncs of some things mean nothing, as if nobody called them: of data or of a directory,
 * whose name (as it was made) begins so. NULL: none.
 */
void model_disk_ignore(struct model_disk *d, bool data, const char *prefix);

/* How many changes of names are not safe. */
size_t model_disk_unsafe(const struct model_disk *d);
/*
 * What a crash now may leave, as a disk of its own on which all is safe: bit i of names says
 * whether change i of them has happened (past 64: bit i % 64), seed what is left of each file.
 */
struct model_disk *model_disk_crash(const struct model_disk *d, uint64_t names, uint64_t seed);
/* The same for disks that look the same to whoever reads them. */
uint64_t model_disk_hash(const struct model_disk *d);

#endif

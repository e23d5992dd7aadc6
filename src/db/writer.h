/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_WRITER_H
#define CULPRIT_DB_WRITER_H

#include <stdint.h>
#include "db/batch.h"
#include "util/diag.h"
#include "util/io.h"

/*
 * The one writer of a machine's directory in a database. doc/FORMAT.md has the format and the
 * invariants. Once db_writer_flush has returned 0, the batch survives any crash.
 */
struct db_writer;

/*
 * Opens or makes the database and takes the machine directory's lock. machine is the machine-id;
 * NULL takes it from /etc/machine-id (or, without that, makes a name from the host name). Removes
 * what a crashed predecessor left (temporary files, files that a base covers), and seals the newest
 * epoch if it was not sealed. -EBUSY: there is another writer, which diag names. -EROFS, -EACCES,
 * -ENOSPC as the system says. -EPROTONOSUPPORT: made by a newer version.
 */
int db_writer_open(const char *path, const char *machine, const struct io *io,
		   struct db_writer **ret, struct diag *diag);
/* Seals the current epoch, or removes it if it has no data, and releases the lock. If that fails,
 * an epoch that was begun unseen is removed. */
int db_writer_close(struct db_writer *w, struct diag *diag);
/* Releases the lock without sealing, as after an error. */
void db_writer_free(struct db_writer *w);
/* The same, and removes the current epoch with everything written to it. */
void db_writer_abandon(struct db_writer *w);

/*
 * Seals the current epoch and starts a new one. Epochs are named by their start in UTC,
 * "20261121T053000Z", with "-2", "-3" appended when the name is taken, so that names sort by time.
 */
int db_writer_begin_epoch(struct db_writer *w, uint64_t start_ns, struct diag *diag);
/* The same, but the epoch is not visible until the next one begins or db_writer_close() has sealed
 * it: so, whatever happens, readers see the whole epoch or nothing. */
int db_writer_begin_unseen(struct db_writer *w, uint64_t start_ns, struct diag *diag);
/* The machine directory's name. */
const char *db_writer_machine(const struct db_writer *w);
const char *db_writer_epoch(const struct db_writer *w); /* NULL before the first */

/* Writes the batch as one new segment of the current epoch. The batch is unchanged. */
int db_writer_flush(struct db_writer *w, const struct db_batch *batch, struct diag *diag);

/*
 * Merges the base and the segments of an epoch (NULL: the current one) into the next base, if there
 * is more than one file, or if the epoch is sealed and has no base. Memory is bounded by the number
 * of files, not by their size. Damaged chunks of the inputs stay in their files, which are then
 * kept.
 */
int db_writer_compact(struct db_writer *w, const char *epoch, struct diag *diag);
/* Segments not yet compacted in the current epoch. */
unsigned db_writer_segments(const struct db_writer *w);
/* The number of blobs of images still in use that db_writer_retain removed since the writer was
 * opened, because blobs took more than their share of max_bytes. */
uint64_t db_writer_trimmed(const struct db_writer *w);

/*
 * Removes epochs, the first sealed first, as long as that one was sealed more than max_age_ns ago
 * or everything that the machine has in the database takes more than max_bytes (0: no such limit),
 * but none of the newest three. Ages are by the clock of age.h, so that a wall clock that jumps
 * does no harm.
 */
int db_writer_retain(struct db_writer *w, uint64_t max_age_ns, uint64_t max_bytes,
		     unsigned *ret_removed, struct diag *diag);

#endif

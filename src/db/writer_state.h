/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_WRITER_STATE_H
#define CULPRIT_DB_WRITER_STATE_H

#include "db/age.h"
#include "db/catalog.h"
#include "db/layout.h"
#include "db/writer.h"

/* The inside of the writer, for writer.c, clean.c, compact.c, retain.c, orphans.c, trim.c only. */
struct db_writer {
	const struct io *io;
	char *path, *machine;
	int db_fd, machine_fd, lock_fd;
	/* The current epoch; epoch_fd is -1 before the first. */
	char epoch[LAYOUT_NAME_MAX];
	char dir[2 * LAYOUT_NAME_MAX]; /* its directory, which has another name while unseen */
	int epoch_fd;
	uint32_t last_segment; /* the last one acknowledged */
	uint32_t upto;	       /* the last segment that the base covers */
	struct age_clock age;  /* the clock that seals are dated by */
	uint64_t trimmed;      /* blobs removed since the writer was opened */
};

/* The head of a pack of this batch; its lists are borrowed from the batch. */
struct catalog writer_batch_catalog(const struct db_batch *batch);

/* The clock of age.h, advanced to now. */
const struct age_clock *writer_age(struct db_writer *w);

/*
 * Removes from an epoch what a crash left behind and what the newest base covers. A covered pack
 * that is damaged is renamed to damaged-NAME instead.
 */
int writer_clean_epoch(struct db_writer *w, int epoch_fd, const char *name, struct diag *diag);
/* Removes a directory and the files in it (it has no subdirectories). 0 if it does not exist. */
int writer_remove_dir(struct db_writer *w, const char *name, struct diag *diag);
/* Makes an epoch invisible by one rename, then removes it. */
int writer_remove_epoch(struct db_writer *w, const char *name, struct diag *diag);
/* Removes blobs (see blob.h) of images that are in no epoch any more. */
int writer_remove_orphans(struct db_writer *w, struct diag *diag);
/* Removes blobs until all together take at most max_bytes: code and lines first, the largest
 * first. */
int writer_trim_blobs(struct db_writer *w, uint64_t max_bytes, struct diag *diag);

#endif

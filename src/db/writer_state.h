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
	char dir[2 * LAYOUT_NAME_MAX]; /* where it lies; another while it is out of sight */
	int epoch_fd;
	uint32_t last_segment; /* the last that was acknowledged */
	uint32_t upto;	       /* what the base covers */
	struct age_clock age;  /* what epochs are sealed with */
	uint64_t trimmed;      /* blobs, since it was opened */
};

/* What a pack of this batch says of itself; refers to the batch. */
struct catalog writer_batch_catalog(const struct db_batch *batch);

/* What epochs age by, now. */
const struct age_clock *writer_age(struct db_writer *w);

/*
 * Removes from an epoch what a crash left and what the newest base covers. A covered pack that is
 * damaged is set aside under another name instead.
 */
int writer_clean_epoch(struct db_writer *w, int epoch_fd, const char *name, struct diag *diag);
/* Removes a directory and its files (there are no directories in it). 0 when it is not there. */
int writer_remove_dir(struct db_writer *w, const char *name, struct diag *diag);
/* Takes an epoch out of sight at once, then removes it. */
int writer_remove_epoch(struct db_writer *w, const char *name, struct diag *diag);
/* Removes blobs (see blob.h) of images that no epoch has any more. */
int writer_remove_orphans(struct db_writer *w, struct diag *diag);
/* Removes blobs until all take no more than that: code and lines first, the largest first. */
int writer_trim_blobs(struct db_writer *w, uint64_t max_bytes, struct diag *diag);

#endif

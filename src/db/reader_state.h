/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_READER_STATE_H
#define CULPRIT_DB_READER_STATE_H

#include "db/reader.h"

/* The inside of the reader, for reader.c, select.c and query.c only. */

#define READER_NOTES_MAX 16

/* One epoch that was listed; what is in it is looked up when it is asked for. */
struct epoch_ref {
	char *machine, *name;
	bool future;
	bool loaded;
	struct db_epoch info;
};

struct db_reader {
	const struct io *io;
	char *path;
	char *machine; /* glob; NULL: all */
	int db_fd;
	struct epoch_ref *refs; /* oldest first */
	size_t ref_count;
	struct db_epoch *infos;		/* what db_reader_epochs gave */
	const struct db_epoch **chosen; /* into refs; NULL: none chosen yet */
	size_t chosen_count;
	char *notes[READER_NOTES_MAX];
	size_t note_count, notes_taken, notes_refused, damages;
	uint64_t now_ns; /* when the epochs were listed */
};

/* For db_reader_notes. Without memory the sentence is lost, but it is counted. */
void reader_note(struct db_reader *r, const char *note);
void reader_note_damage(struct db_reader *r, const char *what);
/* Something that is not an epoch has the name of one, or it may not be read. */
void reader_note_stray(struct db_reader *r, const char *name, int error);

/* Lists the epochs of all machines again. */
int reader_list(struct db_reader *r, struct diag *diag);
/* Fills in the info of an epoch. -ENOENT: it is gone. */
int reader_load(struct db_reader *r, struct epoch_ref *ref, struct diag *diag);

#endif

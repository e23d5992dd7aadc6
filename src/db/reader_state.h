/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_READER_STATE_H
#define CULPRIT_DB_READER_STATE_H

#include "db/reader.h"

/* The inside of the reader, for reader.c, select.c and query.c only. */

#define READER_NOTES_MAX 16

/* A listed epoch; its info is read when it is first needed. */
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
	struct db_epoch *infos;		/* what db_reader_epochs returned */
	const struct db_epoch **chosen; /* point into refs; NULL: nothing chosen yet */
	size_t chosen_count;
	char *notes[READER_NOTES_MAX];
	size_t note_count, notes_taken, notes_refused, damages;
	uint64_t now_ns; /* wall clock when the epochs were listed */
};

/* Add a note for db_reader_take_notes. When out of memory the sentence is lost, but it is
 * counted. */
void reader_note(struct db_reader *r, const char *note);
void reader_note_damage(struct db_reader *r, const char *what);
/* Notes that something which has an epoch's name is not one, or may not be read. */
void reader_note_stray(struct db_reader *r, const char *name, int error);

/* Lists the epochs of all machines anew. */
int reader_list(struct db_reader *r, struct diag *diag);
/* Reads the info of an epoch. -ENOENT: the epoch is gone. */
int reader_load(struct db_reader *r, struct epoch_ref *ref, struct diag *diag);

#endif

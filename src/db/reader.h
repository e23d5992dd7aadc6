/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_READER_H
#define CULPRIT_DB_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "db/chunk.h"
#include "util/diag.h"
#include "util/identity.h"
#include "util/io.h"

/* Reads a database. Takes no lock and never waits for the writer. */
struct db_reader;

/* io is borrowed. A negative errno when there is no database at path or it cannot be read. */
int db_reader_open(const char *path, const struct io *io, struct db_reader **ret,
		   struct diag *diag);
void db_reader_free(struct db_reader *r);

struct db_epoch {
	const char *machine, *name; /* the reader's, until it lists epochs again */
	uint64_t start_ns, end_ns;  /* of the data; ns since 1970 */
	uint64_t samples, bytes;
	unsigned files;
	bool sealed;
	bool future; /* begins in the future: some clock was wrong */
};

/* All epochs, oldest first; they are listed anew at each call. Owned by the reader. */
int db_reader_epochs(struct db_reader *r, const struct db_epoch **ret, size_t *ret_count,
		     struct diag *diag);

/* Limits later choices to epochs of machines whose name matches the pattern (a glob; NULL: all). 0
 * or -ENOMEM. */
int db_reader_set_machine(struct db_reader *r, const char *glob);

/*
 * Chooses epochs for later queries. expression is "last", "all", a name, a prefix of names
 * ("20261121"), or FROM..TO (each a name, a prefix or empty; both ends included). "last" is the
 * newest epoch with samples or, if none has any, the newest with other data; one in the future is
 * chosen only if there is no other. If newer epochs without samples were passed over, a note says
 * so. -ENOENT when nothing matches; diag then names what there is. The default is "last".
 */
int db_reader_select(struct db_reader *r, const char *expression, struct diag *diag);
const struct db_epoch *const *db_reader_selected(const struct db_reader *r, size_t *ret_count);

struct db_profile {
	const struct image_id *image;
	const char *image_path;
	size_t image_path_size;
	const struct db_event *event;
	const void *subject; /* canonical form: see util/identity.h */
	size_t subject_size;
	const char *epoch;
};

/*
 * The functions that a query calls; any may be NULL. A profile may be shown several times (once per
 * file), so the visitor must add up. A non-zero return ends the query with that value. Pointers are
 * valid during the call only.
 */
struct db_visitor {
	/* Later calls are about this epoch, one of db_reader_selected's. */
	void (*epoch)(void *arg, const struct db_epoch *epoch);
	/* Returns false to skip this profile's rows, which are then not decoded. */
	bool (*want)(void *arg, const struct db_profile *p);
	/* Rows in ascending order of offset. */
	int (*rows)(void *arg, const struct db_profile *p, const uint64_t *offsets,
		    const uint64_t *counts, size_t n);
	/* By type: called for each item of a kind other than rows (struct db_edge_item, ...), in
	 * ascending order within a chunk. */
	int (*item[DB_KIND_TYPES])(void *arg, const char *epoch, const void *item);
	/* A counter of an event (NULL: of none). May come in several parts, which the visitor must
	 * add up. */
	int (*counter)(void *arg, const struct db_event *event, const char *name, uint64_t value);
	/* Facts come oldest first: the last one of a name is the current one. */
	int (*fact)(void *arg, const char *epoch, const char *name, const char *value);
	/* A damaged or unreadable part: what says which file, where, and what is lost. */
	void (*damage)(void *arg, const char *what);
	void *arg;
};

/* Shows everything in the selected epochs to the visitor. Damage does not make the query fail. */
int db_reader_query(struct db_reader *r, const struct db_visitor *v, struct diag *diag);

/* How notes of damage begin. */
#define DB_NOTE_DAMAGED "damaged: "

/*
 * Takes the notes that users of this reader's data must see: what was damaged, missing or in the
 * way in all that was chosen and read so far, by any query, and epochs in the future. Each sentence
 * is given once, and by one call only. *ret_more is the number of further notes, which were not
 * kept. Valid until the reader is freed.
 */
const char *const *db_reader_take_notes(struct db_reader *r, size_t *ret_count, size_t *ret_more);
/* The number of notes of damage so far, taken or not. */
size_t db_reader_damages(const struct db_reader *r);

/*
 * Checks every byte of a database. Calls finding for each damaged part. 0 when there is none,
 * -EBADMSG when there is some, another error when the database could not be read at all.
 */
struct db_verify_totals {
	uint64_t machines; /* 0: path is not a database */
	uint64_t epochs, files, chunks, bytes, damaged;
	struct db_kind_totals of[DB_KIND_TYPES]; /* by type; without damaged chunks, but for lost */
};
int db_verify(const char *path, const struct io *io, void (*finding)(void *arg, const char *what),
	      void *arg, struct db_verify_totals *ret, struct diag *diag);

#endif

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

/* Reading takes no lock and never waits for the writer. */
struct db_reader;

/* io is borrowed. A negative errno: there is no database at path, or it is not to be read. */
int db_reader_open(const char *path, const struct io *io, struct db_reader **ret,
		   struct diag *diag);
void db_reader_free(struct db_reader *r);

struct db_epoch {
	const char *machine, *name; /* owned by the reader, valid until it is freed or refreshed */
	uint64_t start_ns, end_ns;  /* of the data, ns since 1970 */
	uint64_t samples, bytes;
	unsigned files;
	bool sealed;
	bool future; /* begins after now: a clock was wrong */
};

/* All epochs, oldest first. Lists them again each time. */
int db_reader_epochs(struct db_reader *r, const struct db_epoch **ret, size_t *ret_count,
		     struct diag *diag);

/* Leaves out the epochs of machines whose name the pattern (a glob; NULL: none) does not match, in
 * the choices that follow. 0 or -ENOMEM. */
int db_reader_set_machine(struct db_reader *r, const char *glob);

/*
 * Chooses epochs for the queries that follow: "last" (the newest with samples, where none has some
 * the newest with other data; one of the future only where there is no other), "all", a name or a
 * prefix of names ("20261121"), or FROM..TO (each a name, a prefix or empty; both ends included).
 * That newer ones have no samples is noted.
 * -ENOENT when nothing matches; the text in diag names what there is. The default is "last".
 */
int db_reader_select(struct db_reader *r, const char *expression, struct diag *diag);
const struct db_epoch *const *db_reader_selected(const struct db_reader *r, size_t *ret_count);

struct db_profile {
	const struct image_id *image;
	const char *image_path;
	size_t image_path_size;
	const struct db_event *event;
	const void *subject; /* canonical, see util/identity.h */
	size_t subject_size;
	const char *epoch;
};

/*
 * What a query calls. Any may be NULL. A profile may be shown several times (once a file): the
 * visitor adds. A non-zero return ends the query with that value. Pointers are valid in the call
 * only.
 */
struct db_visitor {
	/* What follows is of this epoch: one of db_reader_selected's. */
	void (*epoch)(void *arg, const struct db_epoch *epoch);
	/* False: skip this profile's rows (they are not decoded). */
	bool (*want)(void *arg, const struct db_profile *p);
	/* Rows in ascending order of offset. */
	int (*rows)(void *arg, const struct db_profile *p, const uint64_t *offsets,
		    const uint64_t *counts, size_t n);
	/* Each item of another kind (struct db_edge_item, ...), by type, ascending in a chunk. */
	int (*item[DB_KIND_TYPES])(void *arg, const char *epoch, const void *item);
	/* A counter of an event (NULL: of no event). Shown in parts too: the visitor adds. */
	int (*counter)(void *arg, const struct db_event *event, const char *name, uint64_t value);
	/* Oldest first: the last of one name wins. */
	int (*fact)(void *arg, const char *epoch, const char *name, const char *value);
	/* A damaged or unreadable part: which file, where, what is lost. */
	void (*damage)(void *arg, const char *what);
	void *arg;
};

/* Shows everything in the selected epochs to the visitor. Damage does not fail the query. */
int db_reader_query(struct db_reader *r, const struct db_visitor *v, struct diag *diag);

/* Notes of damage begin so. */
#define DB_NOTE_DAMAGED "damaged: "

/*
 * What users of this reader's data must be told: what was damaged, missing or in the way of
 * all that was chosen and read so far, by whichever query, and that an epoch is of the future.
 * Each sentence once, and in one call only; *ret_more: how many more there were than are kept.
 * Valid until the reader is freed.
 */
const char *const *db_reader_take_notes(struct db_reader *r, size_t *ret_count, size_t *ret_more);
/* How many were of damage, taken or not. */
size_t db_reader_damages(const struct db_reader *r);

/*
 * Checks every byte of a database. Calls finding for each damaged part, returns 0 when there is
 * none, -EBADMSG when there is some, another error when it could not be read at all.
 */
struct db_verify_totals {
	uint64_t machines; /* 0: it is not a database */
	uint64_t epochs, files, chunks, bytes, damaged;
	struct db_kind_totals
		of[DB_KIND_TYPES]; /* by type; of what is damaged nothing is counted */
};
int db_verify(const char *path, const struct io *io, void (*finding)(void *arg, const char *what),
	      void *arg, struct db_verify_totals *ret, struct diag *diag);

#endif

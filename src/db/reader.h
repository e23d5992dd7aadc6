/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_READER_H
#define CULPRIT_DB_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "db/batch.h"
#include "db/key.h"
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

/* All epochs, oldest first. Lists anew each time. */
int db_reader_epochs(struct db_reader *r, const struct db_epoch **ret, size_t *ret_count,
		     struct diag *diag);

/* Leaves out the epochs of machines whose name the pattern (a glob; NULL: none) does not match, in
 * the choices that follow. 0 or -ENOMEM. */
int db_reader_set_machine(struct db_reader *r, const char *glob);

/*
 * Chooses epochs for the queries that follow: "last" (the newest with data; one of the future only
 * where there is no other), "all", a name or a
 * prefix of names ("20261121"), or FROM..TO (each a name, a prefix or empty; both ends included).
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

/* An edge of a profile, whose subject is empty: see struct db_edge of batch.h. */
struct db_edge_row {
	uint64_t from;			 /* an offset, or DB_EDGE_START */
	uint64_t to;			 /* an offset in to_image, or DB_EDGE_END */
	const struct image_id *to_image; /* the profile's own, or another */
	uint64_t count, windows;	 /* passes, and in how many windows they were seen */
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
	/* Rows in rising order of offset. */
	int (*rows)(void *arg, const struct db_profile *p, const uint64_t *offsets,
		    const uint64_t *counts, size_t n);
	/* The same two for edges, rising by from, then image of to, then to. */
	bool (*want_edges)(void *arg, const struct db_profile *p);
	int (*edges)(void *arg, const struct db_profile *p, const struct db_edge_row *rows,
		     size_t n);
	/* Each stack, rising as db_stack_compare within a file; see db_batch_stack of batch.h. */
	int (*stack)(void *arg, const char *epoch, const struct db_stack_item *s);
	/* Each raw record, rising as db_raw_compare within a file; see struct db_raw of batch.h. */
	int (*raw)(void *arg, const char *epoch, const struct db_raw_item *r);
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
 * What who sees anything of this reader must be told: what was damaged, missing or in the way of
 * all that was chosen and read until now, by whichever query, and that an epoch is of the future.
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
	uint64_t machines; /* 0: it is no database */
	uint64_t epochs, files, chunks, rows, samples, bytes, damaged;
	uint64_t edges, passes; /* rows of edges, and their counts */
	uint64_t stacks, raws;
};
int db_verify(const char *path, const struct io *io, void (*finding)(void *arg, const char *what),
	      void *arg, struct db_verify_totals *ret, struct diag *diag);

#endif

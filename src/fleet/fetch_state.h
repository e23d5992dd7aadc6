/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_FLEET_FETCH_STATE_H
#define CULPRIT_FLEET_FETCH_STATE_H

#include "db/writer.h"
#include "fleet/fetch.h"
#include "fleet/names.h"

/* The inside of a fetch, for fetch*.c only. */
#define FETCH_ANSWER_MAX ((size_t)2 << 30)

struct fetch {
	struct fleet_server *server;
	const char *path;
	enum fleet_detail detail;
	struct fleet_scope scope;
	struct fleet_names names;
	struct db_writer *writer;
	struct db_batch *batch;
	struct fleet_fetched *result;
	struct diag *diag;
};

/* Asks with the question's beginning and end around the conditions. */
int fetch_ask(struct fetch *f, const char *begin, const struct buf *where, const char *end,
	      struct buf *answer);
/* Says that an answer is not whole. */
int fetch_fail_row(struct fetch *f);
/* Writes the batch and empties it. */
int fetch_flush(struct fetch *f);
/* Ends an addition to the batch: 1, it was full and is empty now: add again; else r, with its
 * sentence. */
int fetch_added(struct fetch *f, int r);

/* fetch_rows.c, fetch_stacks.c, fetch_edges.c, fetch_chunks.c, fetch_facts.c, fetch_blobs.c */
int fetch_rows(struct fetch *f);
int fetch_stacks(struct fetch *f);
int fetch_edges(struct fetch *f);
int fetch_chunks(struct fetch *f);
int fetch_facts(struct fetch *f);
int fetch_blobs(struct fetch *f);

#endif

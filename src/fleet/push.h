/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_FLEET_PUSH_H
#define CULPRIT_FLEET_PUSH_H

#include "fleet/server.h"

/*
 * Pushes a database to a fleet. Nothing is kept here of what was pushed: the server's table
 * `epochs` has of each epoch the number of the flush up to which it was pushed, in a row that is
 * sent when all others have arrived. A push that ended anywhere is therefore just done again, by
 * whom ever; and as rows are sums with the number of their flush, what arrives twice, late, or from
 * two pushers counts once.
 */
struct fleet_push_options {
	const char *db;
	const char *machine;  /* glob; NULL: all of the database */
	uint64_t backlog_max; /* epochs at a time; 0: 100. The others stay for the next push */
	bool all;	      /* also what the server says it has: it may have lost it */
	bool no_names;	      /* symbols, code and lines stay here */
};

struct fleet_push_result {
	uint64_t epochs, unchanged, left;	 /* pushed; nothing new; over backlog_max */
	uint64_t gone;				 /* removed from the database meanwhile */
	uint64_t rows, functions, stacks, edges; /* sent: of an epoch that grew, those that grew */
	uint64_t chunks, blobs;
	uint64_t damaged;   /* chunks of the database that cannot be read, left out */
	uint64_t too_large; /* blobs over the limit, left out */
};

/* 0; -ENOENT: no database, or no fleet there; others as fleet_server_run() and db_stream_open().
 * What was done until then is in ret in any case. */
int fleet_push(struct fleet_server *s, const struct fleet_push_options *options,
	       struct fleet_push_result *ret, struct diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_PATHS_PATHS_H
#define CULPRIT_REPORT_PATHS_PATHS_H

#include "analyze/paths/weigh.h"
#include "report/session.h"

/* Which paths through functions were run, how often, and what they cost: the hot ones of all, with
 * what tables 4 and 5 of Ammons, Ball and Larus (PLDI 1997) tell of a program; those of a function;
 * procedures. */

#define PATHS_BY_BEST  PATH_METRICS /* the first metric that there is */
#define PATHS_BY_NAMES PATH_METRIC_NAMES

struct paths_options {
	unsigned by; /* enum path_metric, or PATHS_BY_BEST */
	double hot_percent;
	uint64_t limit;	      /* rows */
	bool procedures;      /* a row a function */
	const char *function; /* a name, a part of one, a regular expression, or 0x...: its paths
				 alone, and shares of its own; NULL: all */
	uint64_t path;	      /* of a function: this one, block by block; 0: all */
};

struct paths_report {
	struct path_tally tally;
	struct path_weights weights;
	enum path_metric by;
	const char **names; /* of the tally's functions, demangled; NULL: none is known */
	struct table *table;
};

/* -ENODATA: the selection has no paths; -ENOENT, -EEXIST: the function is none of those that have
 * paths, or one of several, which diag names; others as in report_session_open. paths_free() in any
 * case; ret is all zeros before. */
int paths_make(struct report_session *s, const struct paths_options *o, struct paths_report *ret,
	       struct report_header *h, struct diag *diag);
void paths_free(struct paths_report *r); /* what it owns */

/*
 * For other reports: the number'th path of a function, from 1, the most executed first. Reads the
 * session anew. free() its blocks. Errors as above.
 */
struct paths_one {
	struct image_id image;
	uint64_t function;
	uint64_t *blocks, to, count;
	uint32_t block_count;
	enum db_path_end end;
};
int paths_find_one(struct report_session *s, const char *function, uint64_t number,
		   struct paths_one *ret, struct diag *diag);

#endif

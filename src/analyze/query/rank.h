/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_QUERY_RANK_H
#define CULPRIT_ANALYZE_QUERY_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/query/loop_tally.h"
#include "analyze/query/query.h"
#include "cfg/cfg.h"
#include "image/lines.h"
#include "image/symbols.h"
#include "util/diag.h"

/* Sums the samples of a query by what the reader asks for: the rows of `culprit prof`. */

enum rank_by {
	RANK_FUNCTION,
	RANK_IMAGE,
	RANK_FILE,
	RANK_LINE,
	RANK_PROCESS,
	RANK_THREAD,
	RANK_SUBJECT,
	RANK_LOOP
};
#define RANK_NAMES "function image file line process thread subject loop" /* in that order */

/* The groups of the query that a ranking needs: those of what samples are charged to (RANK_PROCESS,
 * RANK_THREAD, RANK_SUBJECT), else QUERY_WHOLE. A query by groups can be ranked by function too,
 * each group's functions apart. */
enum query_group rank_group(enum rank_by by);

struct rank_options {
	enum rank_by by;
	const char *function; /* extended regex on the demangled name; NULL: all */
	/* Only rows of such images (glob), when the query must select all images, as totals with
	 * all that was called require; NULL: all. */
	const char *image;
	bool idle;  /* the kernel's idle functions are rows like any other */
	bool loops; /* by line: those of each innermost loop are rows of their own */
};

/* Where symbols, lines and graphs come from: find/find.h and cfg/open.h, or a test. Same meaning
 * and errors as there. */
struct rank_source {
	int (*symbols)(void *arg, const struct image_id *id, const char *path,
		       const struct image_symbols **ret, struct diag *diag);
	int (*lines)(void *arg, const struct image_id *id, const char *path,
		     const uint64_t *addresses, size_t count, struct image_lines **ret,
		     struct diag *diag);
	int (*graphs)(void *arg, const struct image_id *id, const char *path,
		      struct cfg_image **ret, struct diag *diag); /* for RANK_LOOP only */
	void *arg;
};

/* The names of rows that have none of their own. */
#define RANK_NO_LOOP   "[no loop]"   /* by loop: what is in none */
#define RANK_NO_CODE   "[no code]"   /* by loop: there is no code to find loops in */
#define RANK_UNKNOWN   "[unknown]"   /* samples that no mapping explains */
#define RANK_NO_SYMBOL "[no symbol]" /* the image has no function there, or none is known of it */

struct rank_row {
	const struct query_image *image; /* NULL: of several */
	const char *function;		 /* demangled; NULL: of several */
	const char *file;		 /* NULL: not known or of several */
	uint32_t line;			 /* 0: not known or of several */
	const uint8_t *file_md5;	 /* as in struct image_frame, of the first that it has */
	uint64_t built_ns;
	uint32_t group;	     /* in the query's groups, or QUERY_NO_GROUP */
	uint64_t *counts;    /* for each event of the query */
	uint64_t *inclusive; /* ... with all that it called; NULL: see analyze/calls/inclusive.h */

	/* By function, and by line where no line is known: of the function; size 0: of what has no
	 * symbol, and of rows that have no samples. */
	uint64_t start, size;
	uint64_t sampled; /* by function: an offset that has samples */

	const struct loop_nest *loop; /* with options.loops: the innermost; NULL: in none */

	/* Of a loop: file and line are its header's. Depth 0 of all other rows. */
	uint32_t depth; /* 1: outermost */
	bool irreducible;
	uint64_t header, parent; /* addresses of its header, and of the loop's around it */
	uint64_t *own; /* without the loops inside it; counts are with them. With inclusive: see
			* there */
};

struct rank {
	struct rank_row *rows; /* in no order */
	size_t row_count;
	uint64_t *totals; /* for each event: all samples of the query's epochs, idle left out */
	uint64_t *idle;	  /* for each event: left out (or, with the option, included) */
	uint64_t *ranked; /* for each event: the sum of the rows */
	size_t images_without_symbols, images_without_lines, images_without_graphs;
	struct diag symbols_reason, lines_reason, graphs_reason; /* of the first of them */
	size_t functions_incomplete; /* by loop: have jumps whose targets are not known */

	/* Private. */
	struct arena *memory;
	struct intern *keys, *names;
	struct map64 *keyed_rows; /* number of a key -> index of its row */
	size_t row_room;
};

/* q and what the source gave must outlive it. -EINVAL: the regex is wrong. */
int rank_new(const struct query *q, const struct rank_options *options,
	     const struct rank_source *source, struct rank **ret, struct diag *diag);
void rank_free(struct rank *k);

/* True for the functions of the kernel in which it waits for work; idle.c has the list. function
 * may be NULL. */
bool rank_is_idle(const struct image_id *id, const char *function);

/* A new row with nothing counted, for those who fill a ranking. 0, -ENOSPC or -ENOMEM. */
int rank_add_row(struct rank *k, const struct query *q, const struct rank_row *shown,
		 struct rank_row **ret);

#endif

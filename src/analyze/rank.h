/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_RANK_H
#define CULPRIT_ANALYZE_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/query.h"
#include "image/lines.h"
#include "image/symbols.h"
#include "util/diag.h"

/* Sums the samples of a query by what the reader asks for: the rows of `culprit prof`. */

enum rank_by { RANK_FUNCTION, RANK_IMAGE, RANK_FILE, RANK_LINE, RANK_PROCESS, RANK_SUBJECT };

/* The query that a ranking needs. */
enum query_group rank_group(enum rank_by by);

struct rank_options {
	enum rank_by by;
	const char *function; /* extended regex on the demangled name; NULL: all */
	bool idle;	      /* the kernel's idle functions are rows like any other */
};

/* Where symbols and lines come from: image/find.h, or a test. Same meaning and errors as there. */
struct rank_source {
	int (*symbols)(void *arg, const struct image_id *id, const char *path,
		       const struct image_symbols **ret, struct diag *diag);
	int (*lines)(void *arg, const struct image_id *id, const char *path,
		     const uint64_t *addresses, size_t count, struct image_lines **ret,
		     struct diag *diag);
	void *arg;
};

/* The names of rows that have none of their own. */
#define RANK_UNKNOWN   "[unknown]"   /* samples that no mapping explains */
#define RANK_NO_SYMBOL "[no symbol]" /* the image has no function there, or none is known of it */

struct rank_row {
	const struct query_image *image; /* NULL: of several */
	const char *function;		 /* demangled; NULL: of several */
	const char *file;		 /* NULL: not known or of several */
	uint32_t line;			 /* 0: not known or of several */
	uint32_t group;			 /* in the query's groups, or QUERY_NO_GROUP */
	uint64_t *counts;		 /* for each event of the query */
};

struct rank {
	struct rank_row *rows; /* in no order */
	size_t row_count;
	uint64_t *totals; /* for each event: all samples of the query's epochs, idle left out */
	uint64_t *idle;	  /* for each event: left out (or, with the option, included) */
	uint64_t *ranked; /* for each event: the sum of the rows */
	size_t images_without_symbols, images_without_lines;
	struct diag symbols_reason, lines_reason; /* of the first of them */

	/* Its own business. */
	struct arena *memory;
	struct intern *keys, *names;
	struct map64 *keyed_rows; /* number of a key -> index of its row */
	size_t row_room;
};

/* q and what the source gave must outlive it. -EINVAL: the regex is wrong. */
int rank_new(const struct query *q, const struct rank_options *options,
	     const struct rank_source *source, struct rank **ret, struct diag *diag);
void rank_free(struct rank *k);

/* True for the functions in which a kernel waits for work; idle.c has the list. */
bool rank_is_idle(const char *function);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_QUERY_FUNCTIONS_H
#define CULPRIT_ANALYZE_QUERY_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/query/query.h"
#include "analyze/query/rank.h"
#include "util/diag.h"

/* The sampled functions that somebody means by a name or an address. */

struct function_hit {
	const struct query_image *image;
	uint64_t start, size;
	const char *name, *demangled; /* owned by the symbols' source */
	uint64_t *counts;	      /* for each event of the query */
};

struct functions {
	struct function_hit *list; /* most samples of the first event first */
	size_t count, room;
	struct arena *memory;
	size_t images_without_symbols;
	struct diag symbols_reason; /* of the first of them */
	bool has_counts;	    /* executions were counted; set by functions_counted() */
};

/*
 * Those whose name, demangled or as it is in the file, is text; when there is none, those that have
 * text in their name; when there is none either, those that it matches as an extended regular
 * expression. 0 also when none is found. q and what source gave must outlive the result.
 */
int functions_by_name(const struct query *q, const struct rank_source *source, const char *text,
		      struct functions **ret, struct diag *diag);
/*
 * When functions_by_name() found none: adds to f those of exactly this name in images that have
 * samples. They have none themselves, but if executions were counted there is something to show.
 */
int functions_counted(const struct query *q, struct db_reader *reader,
		      const struct rank_source *source, const char *name, struct functions *f,
		      struct diag *diag);
/*
 * For each selected image the function that has the address; without symbols there, 256 bytes from
 * it on. Images that have no samples there are left out, unless there is only one image.
 */
int functions_by_address(const struct query *q, const struct rank_source *source, uint64_t address,
			 struct functions **ret, struct diag *diag);
void functions_free(struct functions *f);

#endif

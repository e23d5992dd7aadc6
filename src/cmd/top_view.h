/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_TOP_VIEW_H
#define CULPRIT_CMD_TOP_VIEW_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/rank.h"
#include "cmd/metrics.h"
#include "db/reader.h"
#include "image/find.h"
#include "report/table.h"
#include "util/diag.h"

/*
 * What is shown of a window, and how. Loading takes the samples that can be read now; making ranks
 * them, as often as somebody wants to see them another way.
 */
struct top_view {
	struct rank_options rank;
	struct metrics metrics;
	const char *sort; /* as prof_table's; NULL: by sort_at */
	size_t sort_at;	  /* the event of that number; past the last event: by name */

	const char *db;
	struct image_finder *finder; /* one for all the time: it remembers what it has read */
	struct db_reader *reader;    /* NULL: no samples yet */
};

struct top_frame {
	struct report_header header;
	struct table *table;
	struct query *query;   /* whose names the table's headings are */
	size_t row_count;      /* also of those past the limit */
	uint64_t taken;	       /* samples, with the idle ones that are only counted */
	const char *sorted_by; /* NULL: nothing to sort */
};

int top_view_init(struct top_view *v, const char *db, struct diag *diag);
void top_view_free(struct top_view *v); /* what it owns */

/* expression: epochs, as of db_reader_select. */
int top_view_load(struct top_view *v, const char *expression, struct diag *diag);
/* limit: rows of the table, 0: all. */
int top_view_make(struct top_view *v, size_t limit, struct top_frame *ret, struct diag *diag);
void top_frame_free(struct top_frame *f); /* what it owns */

#endif

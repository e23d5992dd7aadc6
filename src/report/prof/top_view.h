/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_PROF_TOP_VIEW_H
#define CULPRIT_REPORT_PROF_TOP_VIEW_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/query/rank.h"
#include "report/metrics.h"
#include "render/table.h"
#include "report/session.h"
#include "util/diag.h"

/*
 * What is shown of a window, and how. Loading takes the samples that can be read now; making ranks
 * them, as often as somebody wants to see them another way.
 */
struct top_view {
	struct rank_options rank;
	struct metrics metrics;
	const char *sort, *sort_hint; /* as prof_table's; sort NULL: by sort_at */
	size_t sort_at;		      /* the event of that number; past the last event: by name */

	/* Its finder lasts: it remembers what it read. No reader: no samples yet. */
	struct report_session session;
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

/* expression: epochs, as in db_reader_select. */
int top_view_load(struct top_view *v, const char *expression, struct diag *diag);
/* limit: rows of the table, 0: all. */
int top_view_make(struct top_view *v, size_t limit, struct top_frame *ret, struct diag *diag);
void top_frame_free(struct top_frame *f); /* what it owns */

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/compare/diff.h"

#include <errno.h>
#include "report/estimates.h"

static int estimate(const struct sets *sets, struct diff_report *d, struct diag *diag)
{
	int r = 0;

	for (size_t s = 0; s < 2 && !r; s++) {
		const struct report_session *one = &sets->list[s]->session;
		struct insights_request request = {
			.query = one->query,
			.reader = one->reader,
			.finder = one->finder,
			.method = FREQUENCY_FLOW,
		};

		r = insights_new(&request, &d->insights[s], diag);
	}
	return r;
}

/* Whose intervals could be narrower. */
static void describe_edges(const struct diff_report *d, const struct sets *sets,
			   struct report_header *h)
{
	for (size_t s = 0; s < 2; s++)
		if (d->insights[s] && !insights_have_edges(d->insights[s]))
			report_header_note(
				h,
				"set %zu: CPI and calls are from samples alone, %s: `culprit "
				"record --edges` narrows their intervals",
				s + 1, estimates_without_edges(sets->list[s]->session.reader));
}

int diff_make(struct sets *sets, const struct diff_options *o, struct diff_report *ret,
	      struct report_header *h, struct diag *diag)
{
	struct rank_options by = {
		.by = diff_rank(o->table.by), .function = o->function, .idle = o->idle};
	struct diff_table table = o->table;

	*ret = (struct diff_report){0};
	int r = sets_rank(sets, &by, diag);
	if (!r)
		r = sets_weigh(sets, o->normal, diag);
	if (!r && o->cpi)
		r = estimate(sets, ret, diag);
	if (r)
		return r;
	r = diff_rows_new(sets, table.by, o->normal == SETS_BY_SAMPLES, table.false_alarms,
			  &ret->rows);
	if (r)
		return diag_fail(diag, -r,
				 r == -ENOSPC ? "the sets have too many rows; select less"
					      : "out of memory");
	sets_describe(sets, o->idle, h);
	describe_edges(ret, sets, h);
	table.insights[0] = ret->insights[0];
	table.insights[1] = ret->insights[1];
	return diff_table_make(&table, sets, &ret->rows, h, &ret->table, diag);
}

void diff_free(struct diff_report *r)
{
	table_free(r->table);
	diff_rows_free(&r->rows);
	insights_free(r->insights[0]);
	insights_free(r->insights[1]);
}

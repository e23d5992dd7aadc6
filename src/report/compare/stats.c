/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/compare/stats.h"

#include <math.h>

/* How much the sets differ as a whole. */
static void note_times(const struct sets *s, struct report_header *h)
{
	double sum = 0, squares = 0, least = s->list[0]->seconds, most = least, mean;

	for (size_t i = 0; i < s->count; i++) {
		double seconds = s->list[i]->seconds;

		if (!(seconds > 0))
			return;
		sum += seconds;
		least = seconds < least ? seconds : least;
		most = seconds > most ? seconds : most;
	}
	mean = sum / (double)s->count;
	for (size_t i = 0; i < s->count; i++)
		squares += (s->list[i]->seconds - mean) * (s->list[i]->seconds - mean);
	report_header_note(h, "run time: mean %.4g s, std-dev %.3g, min %.4g, max %.4g", mean,
			   sqrt(squares / (double)(s->count - 1)), least, most);
}

int stats_make(struct sets *sets, const struct stats_options *o, struct stats_report *ret,
	       struct report_header *h, struct diag *diag)
{
	struct stats_table table = o->table;

	*ret = (struct stats_report){0};
	table.shares = o->normal == SETS_BY_SAMPLES;
	int r = sets_rank(sets, &o->rank, diag);
	if (!r)
		r = sets_weigh(sets, o->normal, diag);
	if (r)
		return r;
	sets_describe(sets, o->rank.idle, h);
	note_times(sets, h);
	return stats_table_make(&table, sets, o->rank.by, h, &ret->table, diag);
}

void stats_report_free(struct stats_report *r)
{
	table_free(r->table);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <inttypes.h>
#include <string.h>
#include "cmd/calls_view.h"
#include "util/buf.h"

/* What a report on stacks says before its rows: how good they are. */

static void describe_quality(const struct stack_quality *q, struct report_header *h)
{
	double all = q->stacks ? (double)q->stacks : 1;
	struct buf b;

	buf_init(&b, 4096);
	for (size_t i = 0; i < q->reasons; i++)
		buf_printf(&b, "%s %s %" PRIu64, i ? "," : "; truncated:", q->truncated[i].name,
			   q->truncated[i].stacks);
	report_header_note(h, "%" PRIu64 " stacks, %.2f%% complete%.*s", q->stacks,
			   100 * (double)q->complete / all, (int)b.size,
			   b.data ? (char *)b.data : "");
	buf_free(&b);
	if (q->gapped)
		report_header_note(h,
				   "%" PRIu64 " stacks are so deep that frames in their middle "
				   "were not kept",
				   q->gapped);
}

static void describe_lost(const struct query *q, struct report_header *h)
{
	for (size_t i = 0; i < q->trouble_count; i++)
		if (!strcmp(q->trouble[i].name, "stacks.lost"))
			report_header_note(h, "%" PRIu64 " stacks were taken and lost",
					   q->trouble[i].value);
}

void calls_describe(const struct tree *t, struct report_header *h)
{
	const struct stack_set *s = t->set;
	uint64_t idle = 0;

	describe_quality(&s->quality, h);
	describe_lost(s->query, h);
	for (size_t e = 0; e < t->event_count; e++)
		idle += s->idle[e];
	if (idle)
		report_header_note(h, "%" PRIu64 " idle stacks are left out (--idle)", idle);
	if (t->event_count && t->selected[0] < s->totals[0])
		report_header_note(h, "the selection has %.2f%% of the stacks",
				   calls_share(t, 0, t->selected[0]));
	if (s->images_without_symbols)
		report_header_note(h, "no symbols of %zu image%s: %s", s->images_without_symbols,
				   s->images_without_symbols == 1 ? "" : "s, first",
				   s->symbols_reason.text);
}

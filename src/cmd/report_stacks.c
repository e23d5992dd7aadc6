/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "cmd/report.h"
#include "util/buf.h"
#include "util/num.h"

/* What reports that need stacks say of them. */

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

static void describe_weights(const struct stack_set *s, struct report_header *h)
{
	const struct query *q = s->query;
	uint64_t samples = 0;

	for (size_t i = 0; i < s->count_count; i++)
		samples = num_add_sat(samples, s->counts[i].count);
	if (samples != s->quality.stacks)
		report_header_note(h,
				   "they stand for %" PRIu64
				   " samples: each for those of the function "
				   "that it ends in",
				   samples);
	for (size_t e = 0; e < q->event_count; e++)
		if (s->unplaced[e] && s->totals[e])
			report_header_note(
				h,
				"%s: %.2f%% of the samples are in functions that no stack "
				"ends in: what called them stands above " STACK_CALLERS_UNKNOWN
				" as far as is known (record more: --stack-rate)",
				q->events[e].label,
				100 * (double)s->unplaced[e] / (double)s->totals[e]);
}

void report_describe_stacks(struct report_header *h, const struct stack_set *s)
{
	describe_quality(&s->quality, h);
	describe_weights(s, h);
	describe_lost(s->query, h);
}

int report_fail_no_stacks(struct diag *diag)
{
	return diag_fail(diag, ENODATA,
			 "there are no stacks in these epochs and this selection: record takes "
			 "them unless told --no-stacks (see: culprit doctor)");
}

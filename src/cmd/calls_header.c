/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <inttypes.h>
#include "cmd/calls_view.h"

/* What a report on stacks says before its rows. */

void calls_describe(const struct tree *t, struct report_header *h)
{
	const struct stack_set *s = t->set;
	uint64_t idle = 0;

	report_describe_stacks(h, s);
	for (size_t e = 0; e < t->event_count; e++)
		idle += s->idle[e];
	if (idle)
		report_header_note(h, "%" PRIu64 " idle samples are left out (--idle)", idle);
	if (t->event_count && t->selected[0] < s->totals[0])
		report_header_note(h, "the selection has %.2f%% of the samples",
				   calls_share(t, 0, t->selected[0]));
	if (s->images_without_symbols)
		report_header_note(h, "no symbols of %zu image%s: %s", s->images_without_symbols,
				   s->images_without_symbols == 1 ? "" : "s, first",
				   s->symbols_reason.text);
}

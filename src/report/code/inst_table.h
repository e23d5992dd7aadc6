/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_CODE_INST_TABLE_H
#define CULPRIT_REPORT_CODE_INST_TABLE_H

#include "analyze/inst/tally.h"
#include "render/table.h"

/* The columns of what is told of an instruction. */
struct inst_columns {
	const struct inst_tally *tally;
	int samples, count, retired, events, latencies, event;
	/* Not in text, by event and by latency: -1 where nobody tells it. */
	int share[INST_EVENT_COUNT], low[INST_EVENT_COUNT], high[INST_EVENT_COUNT],
		happened[INST_EVENT_COUNT];
	int mean[INST_LATENCY_COUNT], error[INST_LATENCY_COUNT], median[INST_LATENCY_COUNT],
		ninety[INST_LATENCY_COUNT], most[INST_LATENCY_COUNT];
};

void inst_columns_add(struct inst_columns *c, struct table *t, const struct inst_tally *tally);
/* Sets their cells in the last row. */
void inst_columns_set(const struct inst_columns *c, struct table *t, const struct inst_row *row);
/* The same of what a row of few has: the sampled event's name, samples and retired share. */
void inst_columns_set_base(const struct inst_columns *c, struct table *t,
			   const struct inst_row *row);

#endif

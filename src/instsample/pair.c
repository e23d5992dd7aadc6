/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instsample/pair.h"

static const enum inst_field stages[] = {INST_CYCLES_FETCH_DISPATCH, INST_CYCLES_DISPATCH_READY,
					 INST_CYCLES_READY_ISSUE, INST_CYCLES_ISSUE_DONE,
					 INST_CYCLES_DONE_RETIRE};

uint64_t inst_progress(const struct inst_record *r)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < 4; i++)
		sum += r->fields >> stages[i] & 1 ? r->values[stages[i]] : 0;
	return sum;
}

bool inst_dispatch(const struct inst_record *r, uint64_t *ret_cycle)
{
	*ret_cycle = r->values[INST_CYCLES_FETCH_DISPATCH];
	return r->fields >> INST_CYCLES_FETCH_DISPATCH & 1;
}

bool inst_overlaps(const struct inst_record *r, const struct inst_record *other, int64_t cycles)
{
	uint64_t dispatch;

	if (!inst_has(other, INST_RETIRED) || !inst_dispatch(other, &dispatch))
		return false;
	int64_t at = cycles + (int64_t)dispatch;
	return at >= 0 && at < (int64_t)inst_progress(r);
}

enum inst_stage inst_stage_at(const struct inst_record *r, int64_t cycles)
{
	int64_t end = 0;

	if (cycles < 0)
		return INST_STAGE_BEFORE;
	for (unsigned i = 0; i < sizeof(stages) / sizeof(*stages); i++) {
		if (!(r->fields >> stages[i] & 1))
			break;
		end += r->values[stages[i]];
		if (cycles < end)
			return (enum inst_stage)(INST_STAGE_FETCH + i);
	}
	return INST_STAGE_OVER;
}

const char *inst_stage_name(enum inst_stage stage)
{
	static const char *const names[] = {"before", "fetch", "waits", "ready",
					    "runs",   "done",  "over"};

	return stage < INST_STAGES ? names[stage] : "?";
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instsample/pair.h"

static const enum inst_field stages[] = {INST_CYCLES_FETCH_DISPATCH, INST_CYCLES_DISPATCH_READY,
					 INST_CYCLES_READY_ISSUE, INST_CYCLES_ISSUE_DONE};

uint64_t inst_progress(const struct inst_record *r)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < sizeof(stages) / sizeof(*stages); i++)
		sum += r->fields >> stages[i] & 1 ? r->values[stages[i]] : 0;
	return sum;
}

/* The cycle of its dispatch, from its fetch on; false: it never was. */
static bool dispatch_of(const struct inst_record *r, uint64_t *ret_cycle)
{
	*ret_cycle = r->values[INST_CYCLES_FETCH_DISPATCH];
	return r->fields >> INST_CYCLES_FETCH_DISPATCH & 1;
}

bool inst_overlaps(const struct inst_record *r, const struct inst_record *other, int64_t cycles)
{
	uint64_t dispatch;

	if (!inst_has(other, INST_RETIRED) || !dispatch_of(other, &dispatch))
		return false;
	int64_t at = cycles + (int64_t)dispatch;
	return at >= 0 && at < (int64_t)inst_progress(r);
}

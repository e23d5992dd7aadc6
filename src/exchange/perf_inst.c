/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/perf.h"

#include <errno.h>
#include <string.h>
#include <linux/perf_event.h>
#include <sys/auxv.h>

#define WEIGHTS (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)

uint64_t perf_inst_key(void)
{
	const void *given = (const void *)getauxval(AT_RANDOM);
	uint64_t key[2] = {0};

	if (given)
		memcpy(key, given, sizeof(key));
	return hash_u64(key[0] ^ hash_u64(key[1]));
}

int perf_inst_add(struct perf *p, struct perf_attr *a, const struct perf_inst *at,
		  struct inst_record *record)
{
	struct harvest_inst inst = {
		.event = a->event,
		.subject = at->subject,
		.place = at->place,
		.record = *record,
		.other_place = HARVEST_NONE,
	};
	int r;

	if (at->data)
		/* What the kernel has mapped all processes share. */
		inst_set_address(&inst.record,
				 p->data_key + (at->data >> 63 ? 0 : hash_u64(at->pid)), at->data);
	r = harvest_inst(p->harvest, &inst);
	/* Of too many the rest is left out; the samples themselves are not. */
	p->counters.insts_too_many += r == -E2BIG;
	a->insts += r == 0;
	return r == -E2BIG ? 0 : r;
}

/* Events of IBS have it in their raw data, where they have any. */
bool perf_inst_is_told(const struct perf *p, const struct perf_attr *a)
{
	bool is_told;

	if (!(a->sample_type & (WEIGHTS | PERF_SAMPLE_DATA_SRC)))
		return false;
	if (perf_raw_kind(p, a, &is_told))
		return !(a->sample_type & PERF_SAMPLE_RAW);
	return a->precise != 0;
}

int perf_inst_take(struct perf *p, struct perf_attr *a, const struct perf_inst *at,
		   uint64_t data_source, uint64_t weight)
{
	bool is_struct = a->sample_type & PERF_SAMPLE_WEIGHT_STRUCT, is_told;
	enum ibs_kind kind = perf_raw_kind(p, a, &is_told);
	struct inst_memory m = {
		.has_source = a->sample_type & PERF_SAMPLE_DATA_SRC,
		.has_weight = a->sample_type & WEIGHTS,
		.has_stages = is_struct && p->is_intel && !kind,
		.data_source = data_source,
		/* Of others the first of a structure's latencies is as theirs always was. */
		.weight = is_struct && (!p->is_intel || kind) ? weight & UINT32_MAX : weight,
	};
	struct inst_record record;

	inst_from_memory(&m,
			 kind == IBS_OP	     ? INST_IBS_OP
			 : kind == IBS_FETCH ? INST_IBS_FETCH
					     : INST_PRECISE,
			 &record);
	return perf_inst_add(p, a, at, &record);
}

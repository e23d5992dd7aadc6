/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instsample/decode.h"

/* IbsOpData2.DataSrc of Zen 4 and later; before, only 2, 3, 4 and 7 are used, and 2 is any cache of
 * the same socket. */
enum data_source {
	SOURCE_NONE,
	SOURCE_LOCAL_CACHE,
	SOURCE_NEAR_CACHE,
	SOURCE_MEMORY,
	SOURCE_REMOTE_CACHE,
	SOURCE_FAR_CACHE,
	SOURCE_LONG_MEMORY,
	SOURCE_DEVICE,
	SOURCE_EXTENSION,
	SOURCE_PEER_MEMORY = 12,
};
#define CAPS_ZEN4 (1u << 11)

/* The value of a register that a record may lack: then 0. */
static uint64_t value_of(const struct ibs_record *r, unsigned number)
{
	uint32_t bit = 1u << number;

	return r->form.mask & bit ? r->values[__builtin_popcount(r->form.mask & (bit - 1))] : 0;
}

static bool has_bit(uint64_t value, unsigned bit)
{
	return value >> bit & 1;
}

static uint32_t low16(uint64_t value)
{
	return value & 0xffff;
}

static void take_branch(uint64_t data, struct inst_record *r)
{
	bool is_branch = has_bit(data, 37);

	inst_set_event(r, INST_BRANCH, is_branch);
	if (!is_branch)
		return;
	inst_set_event(r, INST_RETURN, has_bit(data, 34));
	inst_set_event(r, INST_TAKEN, has_bit(data, 35));
	inst_set_event(r, INST_MISPREDICTED, has_bit(data, 36));
}

/* Where a load's data came from that was in neither of the core's own caches. */
static void take_source(uint64_t data2, uint32_t caps, struct inst_record *r)
{
	bool is_new = caps & CAPS_ZEN4;
	unsigned source = (data2 & 7) | (is_new ? (unsigned)(data2 >> 6 & 3) << 3 : 0);
	bool is_far = has_bit(data2, 4);

	if (source == SOURCE_NONE)
		return;
	inst_set_event(r, INST_L3_MISS,
		       source != SOURCE_LOCAL_CACHE && (is_new || source != SOURCE_NEAR_CACHE));
	if (is_new)
		inst_set_event(r, INST_OTHER_CORE,
			       source == SOURCE_NEAR_CACHE || source == SOURCE_FAR_CACHE);
	inst_set_event(r, INST_REMOTE,
		       is_far || source == SOURCE_FAR_CACHE || source == SOURCE_REMOTE_CACHE);
}

static void take_cache(const struct ibs_record *ibs, uint64_t data3, struct inst_record *r)
{
	bool is_miss = has_bit(data3, 7), is_queued = has_bit(data3, 16);
	bool is_prefetch = has_bit(data3, 21), is_load = has_bit(data3, 0);
	bool is_l2_miss = is_miss && has_bit(data3, 20);

	inst_set_event(r, INST_DCACHE_MISS, is_miss);
	inst_set_event(r, INST_FILL_BUFFER, is_miss && is_queued);
	/* Of both of these l2_miss may be wrong (erratum 1293 of family 19h). */
	if (is_miss && (is_prefetch || is_queued))
		return;
	inst_set_event(r, INST_L2_MISS, is_l2_miss);
	if (!is_l2_miss) {
		inst_set_event(r, INST_L3_MISS, false);
		inst_set_event(r, INST_REMOTE, false);
	} else if (is_load) {
		take_source(value_of(ibs, IBS_OP_DATA2), ibs->form.caps, r);
	}
	if (is_load && is_miss)
		inst_set(r, INST_CYCLES_LOAD_DATA, low16(data3 >> 32));
}

static void take_translation(uint64_t data3, struct inst_record *r)
{
	bool is_miss = has_bit(data3, 2);

	inst_set_event(r, INST_DTLB_MISS, is_miss);
	inst_set_event(r, INST_DTLB_WALK, is_miss && has_bit(data3, 3));
	if (is_miss)
		inst_set(r, INST_CYCLES_DTLB, low16(data3 >> 48));
}

static void take_op(const struct ibs_record *ibs, struct inst_record *r)
{
	uint64_t data = value_of(ibs, IBS_OP_DATA), data3 = value_of(ibs, IBS_OP_DATA3);
	uint32_t waited = low16(data), total = low16(data >> 16);

	inst_set_event(r, INST_RETIRED, true); /* of others there is no sample */
	inst_set_event(r, INST_ABORTED, false);
	inst_set_event(r, INST_MICROCODE, has_bit(data, 40));
	inst_set_event(r, INST_LOAD, has_bit(data3, 0));
	inst_set_event(r, INST_STORE, has_bit(data3, 1));
	inst_set_event(r, INST_PREFETCH, has_bit(data3, 21));
	take_branch(data, r);
	if (total >= waited)
		inst_set(r, INST_CYCLES_DISPATCH_DONE, total - waited);
	inst_set(r, INST_CYCLES_DONE_RETIRE, waited);
	if (!has_bit(data3, 0) && !has_bit(data3, 1))
		return;
	take_cache(ibs, data3, r);
	inst_set_event(r, INST_MISALIGNED, has_bit(data3, 8));
	inst_set_event(r, INST_UNCACHED, has_bit(data3, 13) || has_bit(data3, 14));
	inst_set_event(r, INST_LOCKED, has_bit(data3, 15));
	if (has_bit(data3, 17))
		take_translation(data3, r);
}

static void take_fetch(const struct ibs_record *ibs, struct inst_record *r)
{
	uint64_t control = value_of(ibs, IBS_FETCH_CTL);
	bool is_new = ibs->form.caps & CAPS_ZEN4;

	inst_set_event(r, INST_FETCH_ABORTED, !has_bit(control, 50));
	inst_set_event(r, INST_ICACHE_MISS, has_bit(control, 51));
	inst_set_event(r, INST_ICACHE_L2_MISS, has_bit(control, 58));
	inst_set_event(r, INST_ITLB_MISS, has_bit(control, 55));
	inst_set_event(r, INST_ITLB_WALK, has_bit(control, 56));
	if (is_new) {
		inst_set_event(r, INST_OPCACHE_MISS, has_bit(control, 60));
		inst_set_event(r, INST_ICACHE_L3_MISS, has_bit(control, 61));
	}
	inst_set(r, INST_CYCLES_FETCH, low16(control >> 32));
	if (ibs->form.mask & 1u << IBS_FETCH_EXTENDED && has_bit(control, 55))
		inst_set(r, INST_CYCLES_ITLB, low16(value_of(ibs, IBS_FETCH_EXTENDED)));
}

void inst_from_ibs(const struct ibs_record *ibs, struct inst_record *ret, uint64_t *ret_linear)
{
	bool is_op = ibs->form.kind == IBS_OP;

	inst_begin(ret, is_op ? INST_IBS_OP : INST_IBS_FETCH);
	if (is_op)
		take_op(ibs, ret);
	else
		take_fetch(ibs, ret);
	*ret_linear = is_op ? value_of(ibs, IBS_OP_LINEAR) : 0;
}

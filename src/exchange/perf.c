/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/perf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/batch.h"
#include "exchange/readers.h"
#include "unwind/unwind_walk.h"

#define IDS_MAX	     (1u << 20)
#define LINK_X86_64  0xffffffff81000000ull
#define MEAN(sum, n) (((sum) + (n) / 2) / (n))

static void count(struct perf *p, const char *name, uint64_t value)
{
	harvest_count(p->harvest, HARVEST_NONE, name, value);
}

static void tell_event(struct perf *p, struct perf_attr *a)
{
	uint32_t flags = (a->precise ? DB_EVENT_PRECISE : 0) |
			 (a->no_kernel ? 0 : DB_EVENT_KERNEL) | (a->no_user ? 0 : DB_EVENT_USER);

	if (a->event == HARVEST_NONE)
		return;
	harvest_event_set(p->harvest, a->event, a->samples ? MEAN(a->units, a->samples) : a->period,
			  flags);
	harvest_count(p->harvest, a->event, "samples", a->samples);
	harvest_count(p->harvest, a->event, "units", a->units);
	harvest_count(p->harvest, a->event, "unknown.process", a->unknown_process);
	harvest_count(p->harvest, a->event, "unknown.mapping", a->unknown_mapping);
	harvest_count(p->harvest, a->event, "unknown.kernel", a->unknown_kernel);
	harvest_count(p->harvest, a->event, "unknown.guest", a->guest);
	harvest_count(p->harvest, a->event, "weights", a->weights);
	harvest_count(p->harvest, a->event, "weights.sum", a->weight_sum);
	harvest_count(p->harvest, a->event, "instsamples.records", a->insts);
	harvest_count(p->harvest, a->event, "raw.records", a->raws);
	harvest_count(p->harvest, a->event, "raw.physical_left_out", a->raw_physical);
	harvest_count(p->harvest, a->event, "raw.elsewhere", a->raw_elsewhere);
}

/* What is lost, then what was odd, then what has no place in a database. */
static void tell_counters(struct perf *p)
{
	const struct perf_counters *c = &p->counters;

	count(p, "lost.ring", c->lost);
	count(p, "lost.kernel", c->lost_samples);
	count(p, "lost.unknown_event", c->unknown_id);
	count(p, "lost.malformed", c->lost_malformed);
	count(p, "lost.spe", c->spe_lost);
	count(p, "spe.bad_bytes", c->spe_bad_bytes);
	count(p, "aux.truncated", c->aux_truncated);
	count(p, "records.malformed", c->malformed);
	count(p, "records.late", c->late);
	count(p, "records.unordered", c->unordered);
	count(p, "records.not_known", c->unknown_records);
	count(p, "throttled", c->throttled);
	count(p, "stacks.truncated", c->stacks_cut);
	count(p, "stacks.copies", c->copies);
	count(p, "stacks.copies_not_unwound", c->copies_not_unwound);
	count(p, "stacks.end.copy_ended", c->copies_cut);
	count(p, "stacks.end.no_file", c->copies_no_file);
	for (unsigned i = 0; i < WIRE_STACK_ENDS; i++) {
		char name[64];

		snprintf(name, sizeof(name), "stacks.end.%s", unwind_end_name(i));
		count(p, name, c->ends[i]);
	}
	count(p, "branches.stacks", c->branch_stacks);
	count(p, "branches.taken", c->branches);
	count(p, "branches.unplaced", c->branches_unplaced);
	count(p, "not_kept.aux_bytes", c->aux_bytes);
	count(p, "not_kept.raw_of_other_events", c->raw_other_event);
	count(p, "not_kept.raw_of_unknown_pmu", c->raw_unknown_pmu);
	count(p, "not_kept.raw_malformed", c->raw_malformed);
	count(p, "not_kept.raw_too_many", c->raw_too_many);
	count(p, "not_kept.raw_bytes", c->raw_bytes);
	count(p, "not_kept.instsamples_too_many", c->insts_too_many);
	count(p, "not_kept.data_addresses", c->addresses);
	count(p, "not_kept.physical_addresses", c->phys_addresses);
	count(p, "not_kept.transactions", c->transactions);
	count(p, "not_kept.counter_reads", c->reads);
	count(p, "not_kept.text_pokes", c->text_pokes);
}

static void tell(struct perf *p)
{
	for (size_t i = 0; i < p->attr_count; i++)
		tell_event(p, &p->attrs[i]);
	tell_counters(p);
	harvest_duration(p->harvest, p->last_ns - p->first_ns);
	if (p->wall_ns && p->clock_ns && p->first_ns)
		harvest_interval(p->harvest, p->wall_ns + (p->first_ns - p->clock_ns),
				 p->wall_ns + (p->last_ns - p->clock_ns));
}

static int open_perf(struct perf *p)
{
	p->kernel_link = LINK_X86_64;
	p->data_key = perf_inst_key();
	p->ids = map64_new(IDS_MAX);
	p->build_ids = map64_new(IDS_MAX);
	p->spe_types = map64_new(IDS_MAX);
	p->world = perf_world_new();
	return p->ids && p->build_ids && p->spe_types && p->world ? 0 : -ENOMEM;
}

static void close_perf(struct perf *p)
{
	free(p->aux.block);
	perf_stream_free(p);
	perf_stack_free(p);
	perf_world_free(p->world);
	map64_free(p->ids);
	map64_free(p->build_ids);
	map64_free(p->spe_types);
	free(p->build_id);
	perf_order_free(p);
	free(p->attrs);
	free(p);
}

int read_perf_data(const struct reading *in, struct harvest *harvest, struct diag *diag)
{
	struct perf *p = calloc(1, sizeof(*p));
	int r = p ? open_perf(p) : -ENOMEM;

	if (!r) {
		p->harvest = harvest;
		p->file_key = in->key;
		p->in = in;
		r = perf_read(p, in, diag);
	}
	if (!r)
		r = perf_world_flush(p);
	if (r == -ENOMEM)
		diag_fail(diag, ENOMEM, "out of memory");
	if (r == -ENOSPC)
		diag_fail(diag, ENOSPC,
			  "the recording holds more than one import can: record less at once");
	if (!r) {
		tell(p);
		strcpy(in->cut, p->cut);
	}
	if (p)
		close_perf(p);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_EVENTS_SAMPLER_STATE_H
#define CULPRIT_COLLECT_EVENTS_SAMPLER_STATE_H

#include <bpf/libbpf.h>
#include "bpf/wire.h"

#include "bpf/sample.skel.h" /* has types of wire.h */
#include "collect/host/cpus.h"
#include "collect/events/period.h"
#include "collect/events/sampler.h"

/* What sampler.c, which has the program and its events, and sampler_tables.c, which has the memory
 * that it counts in, share. */
struct sampler {
	struct sample_bpf *bpf;
	struct ring_buffer *notices;
	struct wire_cpu *state;	   /* by CPU number */
	struct wire_table *tables; /* two a slot */
	size_t state_bytes, tables_bytes;
	struct cpu_list cpus; /* by slot: the CPU's number */
	size_t event_count;
	/* By slot * event_count + event. */
	int *fds, *links; /* -1 where not open */
	struct period *periods;
	double width; /* of the range of periods; 0: fixed */
	uint64_t seed, next_redraw_ns, redraws;
	uint64_t *busy;	      /* by slot: samples outside the idle task, at the last redraw */
	uint64_t *taken;      /* by slot: samples at the last sampler_busiest */
	uint64_t *enabled_ns; /* by slot: of an event, at the last sampler_watch_cpus */
	uint64_t watched_ns, missed_ns; /* last sampler_watch_cpus; what was missed in all */
	uint64_t names_refused;
	bool tracepoint[WIRE_EVENTS], clock[WIRE_EVENTS];
	struct wire_tick tick;
	bool has_tick;		    /* it is the event of the number in tick */
	struct bpf_link *tick_link; /* while it runs */
	void (*changed)(void *arg, pid_t tgid, uint64_t time_ns);
	void *changed_arg;
};

static inline struct wire_cpu *sampler_cpu(const struct sampler *s, unsigned slot)
{
	return &s->state[s->cpus.number[slot]];
}

#endif

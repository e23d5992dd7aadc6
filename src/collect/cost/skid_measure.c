/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The loops run one after the other while this process alone is sampled at a high rate on one CPU;
 * the program's tables say how often each address was hit. A loop's addresses are its own, so one
 * drain tells them all apart. Samples outside of the loops (interrupts, page faults) are left out.
 */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "collect/cost/clock_meter.h"
#include "collect/cost/governor.h"
#include "collect/events/sampler.h"
#include "collect/cost/skid.h"
#include "collect/cost/skid_cache.h"
#include "collect/cost/skid_loops.h"
#include "util/clock.h"

#define RATE_HZ	      8000.0
#define LOOP_NS	      100000000ull
#define SAMPLES_LEAST 60	 /* of a loop, to say anything of it */
#define RING_BYTES    (8u << 20) /* past any second cache */
#define LINE_BYTES    64
#define SHOWN_MAX     512 /* bytes of the longest loop */

struct meter {
	struct machine_skid skid;
	uint64_t samples[MACHINE_SKID_CASES][MACHINE_SKID_PLACES];
	uint64_t width[SHOWN_MAX]; /* samples of the width loop by its byte */
	pid_t self;
	void *ring;
};

bool skid_is_measurable(const struct event *e)
{
	return (event_is_clock(e) && !e->tick) ||
	       (e->attr.type == PERF_TYPE_HARDWARE &&
		(e->attr.config == PERF_COUNT_HW_CPU_CYCLES ||
		 e->attr.config == PERF_COUNT_HW_REF_CPU_CYCLES));
}

/* A ring of all lines of a buffer in an order that no prefetcher knows: Sattolo's algorithm makes
 * one cycle of them. */
static void *make_ring(void)
{
	size_t count = RING_BYTES / LINE_BYTES;
	char *ring =
		mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t x = 88172645463325252u;

	if (ring == MAP_FAILED)
		return NULL;
	for (size_t i = 0; i < count; i++)
		*(void **)(ring + i * LINE_BYTES) = ring + i * LINE_BYTES;
	for (size_t i = count - 1; i > 0; i--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		size_t k = x % i;
		void **a = (void **)(ring + i * LINE_BYTES), **b = (void **)(ring + k * LINE_BYTES);
		void *t = *a;
		*a = *b;
		*b = t;
	}
	return ring;
}

static bool is_place(const struct skid_loop *l, uintptr_t pc, unsigned place)
{
	return pc == (uintptr_t)l->places[0][place] ||
	       (l->places[1][place] && pc == (uintptr_t)l->places[1][place]);
}

static void take(void *arg, const struct sampler_entry *e)
{
	struct meter *m = arg;
	const struct skid_loop *l;
	uintptr_t pc = (uintptr_t)e->pc;

	if ((pid_t)e->tgid != m->self)
		return;
	for (unsigned i = 0; (l = skid_loop_at(i)); i++) {
		if (pc < (uintptr_t)l->begin || pc >= (uintptr_t)l->end)
			continue;
		unsigned place = 0;
		while (place + 1 < MACHINE_SKID_PLACES && !is_place(l, pc, place))
			place++;
		m->samples[l->kind][place] += e->count;
		if (l->kind == MACHINE_SKID_WIDTH && pc - (uintptr_t)l->begin < SHOWN_MAX)
			m->width[pc - (uintptr_t)l->begin] += e->count;
	}
}

static void run_loop(const struct skid_loop *l, void *ring)
{
	uint64_t end = clock_monotonic_ns() + LOOP_NS;

	while (clock_monotonic_ns() < end)
		l->run(l->kind == MACHINE_SKID_MEMORY ? 2000 : 20000, ring);
}

static int sample_loops(const struct event *e, struct meter *m, struct diag *diag)
{
	uint64_t period = governor_period("", e, RATE_HZ);
	struct sampler_config config = {.events = e,
					.periods = &period,
					.event_count = 1,
					.scoped = true,
					.randomize = true,
					.seed = clock_wall_ns()};
	struct sampler *s = NULL;
	const struct skid_loop *l;
	int r = sampler_new(&config, &s, diag);

	if (!r)
		r = sampler_scope_add(s, m->self, diag);
	if (!r)
		r = sampler_start(s, diag);
	for (unsigned i = 0; !r && (l = skid_loop_at(i)); i++)
		run_loop(l, m->ring);
	if (!r) {
		sampler_stop(s);
		r = sampler_flip(s, 0, sampler_cpus(s), diag);
	}
	if (!r)
		sampler_drain(s, 0, sampler_cpus(s), take, m);
	sampler_free(s);
	return r;
}

/* How far the samples of the width loop are from the same share for each of its operations. */
static double find_unevenness(const struct meter *m, const struct skid_loop *l, uint64_t total)
{
	size_t bytes = (size_t)(l->end - l->begin), operations = bytes > 5 ? bytes - 5 + 1 : 1;
	double sum = 0;

	/* One-byte operations, then dec and jnz (5 bytes in all) as one. */
	for (size_t i = 0; i < operations && i < SHOWN_MAX; i++)
		sum += fabs((double)m->width[i] / (double)total - 1 / (double)operations);
	return fmin(sum / 2, 1);
}

static int summarize(struct meter *m, struct diag *diag)
{
	const struct skid_loop *l;
	unsigned measured = 0;

	for (unsigned i = 0; (l = skid_loop_at(i)); i++) {
		uint64_t total = 0;

		for (unsigned p = 0; p < MACHINE_SKID_PLACES; p++)
			total += m->samples[l->kind][p];
		if (total < SAMPLES_LEAST)
			continue;
		measured++;
		m->skid.samples[l->kind] = (uint32_t)(total < UINT32_MAX ? total : UINT32_MAX);
		for (unsigned p = 0; p < MACHINE_SKID_PLACES; p++)
			m->skid.shares[l->kind][p] = (double)m->samples[l->kind][p] / (double)total;
		if (l->kind == MACHINE_SKID_WIDTH)
			m->skid.unevenness = find_unevenness(m, l, total);
	}
	return measured
		       ? 0
		       : diag_fail(diag, ENODATA, "%s: too few samples came to see where they land",
				   m->skid.event);
}

/* Keeps the thread on one CPU and the event to it; measures there. */
static int measure_pinned(const struct event *e, struct meter *m, double *ret_clock_hz,
			  struct diag *diag)
{
	char cpus[16];
	cpu_set_t before, one;
	int cpu = sched_getcpu();
	struct event here = *e;

	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(before), &before) ||
	    !event_runs_on(e, cpu))
		return diag_fail(diag, EOPNOTSUPP, "%s: not on this CPU", e->name);
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return diag_fail(diag, errno, "cannot stay on one CPU");
	snprintf(cpus, sizeof(cpus), "%d", cpu);
	here.cpus = cpus;
	int r = sample_loops(&here, m, diag);
	if (!r)
		*ret_clock_hz = clock_meter_read();
	sched_setaffinity(0, sizeof(before), &before);
	return r;
}

int skid_measure(const struct event *e, struct skid_facts *ret, struct diag *diag)
{
	struct skid_facts facts = {.skid = ""};

	if (!skid_is_measurable(e) || !skid_loop_at(0))
		return diag_fail(diag, EOPNOTSUPP, "%s: there is no loop to measure it with",
				 e->name);
	struct meter *m = calloc(1, sizeof(*m));
	if (!m)
		return diag_fail(diag, ENOMEM, "out of memory");
	m->self = getpid();
	m->ring = make_ring();
	snprintf(m->skid.event, sizeof(m->skid.event), "%.40s", e->name);
	int r = m->ring ? measure_pinned(e, m, &facts.clock_hz, diag)
			: diag_fail(diag, ENOMEM, "out of memory");
	if (!r)
		r = summarize(m, diag);
	if (!r) {
		machine_skid_format(&m->skid, facts.skid);
		skid_cache_write(NULL, e->name, &facts);
		*ret = facts;
	}
	if (m->ring)
		munmap(m->ring, RING_BYTES);
	free(m);
	return r;
}

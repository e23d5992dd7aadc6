/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/events/sampler.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/host/cpu_sums.h"
#include "collect/host/host.h"
#include "collect/events/sampler_state.h"
#include "util/clock.h"

_Static_assert(sizeof(struct wire_cpu) == 64, "one cache line");
_Static_assert(CPUS_MAX < WIRE_NO_SLOT, "every CPU has a slot");
_Static_assert(sizeof(struct wire_bucket) == 128, "two cache lines");
_Static_assert(sizeof(struct wire_table) % 4096 == 0, "tables share no page");

static struct wire_table *table_of(const struct sampler *s, unsigned slot, bool active)
{
	uint32_t index = __atomic_load_n(&sampler_cpu(s, slot)->active, __ATOMIC_RELAXED) & 1;

	return &s->tables[2 * slot + (active ? index : !index)];
}

double sampler_pressure(const struct sampler *s)
{
	uint32_t most = 0;

	for (unsigned slot = 0; slot < s->cpus.count; slot++) {
		uint32_t n =
			__atomic_load_n(&table_of(s, slot, true)->spill_count, __ATOMIC_RELAXED);

		most = n > most ? n : most;
	}
	return (double)most / WIRE_SPILL;
}

uint64_t sampler_busiest(struct sampler *s)
{
	uint64_t most = 0;

	for (unsigned slot = 0; slot < s->cpus.count; slot++) {
		uint64_t samples = *(volatile uint64_t *)&sampler_cpu(s, slot)->samples;
		uint64_t grew = samples - s->taken[slot];

		most = grew > most ? grew : most;
		s->taken[slot] = samples;
	}
	return most;
}

uint64_t sampler_oldest_ns(const struct sampler *s)
{
	uint64_t oldest = UINT64_MAX;

	for (unsigned slot = 0; slot < s->cpus.count; slot++) {
		uint64_t start = table_of(s, slot, true)->start_ns;

		oldest = start < oldest ? start : oldest;
	}
	return oldest;
}

/* Where membarrier is refused (nohz_full kernels): a handler that ran on a CPU is done once this
 * thread has run there. */
static int visit_cpus(const struct sampler *s, unsigned first, unsigned count, struct diag *diag)
{
	cpu_set_t before, *set;
	size_t size = CPU_ALLOC_SIZE(s->cpus.number[s->cpus.count - 1] + 1);
	int r = 0;

	set = CPU_ALLOC(s->cpus.number[s->cpus.count - 1] + 1);
	if (!set || sched_getaffinity(0, sizeof(before), &before)) {
		CPU_FREE(set);
		return diag_fail(diag, ENOMEM, "cannot wait for the sampling program");
	}
	for (unsigned slot = first; slot < first + count && !r; slot++) {
		unsigned cpu = s->cpus.number[slot];

		CPU_ZERO_S(size, set);
		CPU_SET_S(cpu, size, set);
		int err = sched_setaffinity(0, size, set) ? errno : 0;
		/* Nothing runs on one that has gone, and no thread may go there. */
		if (err && host_cpu_is_online("", (int)cpu))
			r = diag_fail(diag, err, "cannot run on CPU %u: %s", cpu, strerror(err));
	}
	sched_setaffinity(0, sizeof(before), &before);
	CPU_FREE(set);
	return r;
}

/* An RCU grace period, asleep. The handler runs in one RCU reader from end to end. */
static int wait_for_handlers(const struct sampler *s, unsigned first, unsigned count,
			     struct diag *diag)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0)
		return 0;
	return visit_cpus(s, first, count, diag);
}

int sampler_flip(struct sampler *s, unsigned first, unsigned count, struct diag *diag)
{
	for (unsigned slot = first; slot < first + count; slot++) {
		struct wire_cpu *cpu = sampler_cpu(s, slot);
		struct wire_table *next = table_of(s, slot, false);

		/* What is left in it since a wait failed counts its times from the former start. */
		if (!next->touched_count)
			next->start_ns = clock_monotonic_ns();
		__atomic_store_n(&cpu->active, !(cpu->active & 1), __ATOMIC_RELEASE);
	}
	return wait_for_handlers(s, first, count, diag);
}

int sampler_quiesce(struct sampler *s, struct diag *diag)
{
	return wait_for_handlers(s, 0, s->cpus.count, diag);
}

static void take_entry(const struct wire_table *t, const struct wire_entry *w, uint8_t name,
		       void (*take)(void *arg, const struct sampler_entry *e), void *arg)
{
	struct sampler_entry e = {
		.pc = (uint64_t)w->pc_high << 32 | w->pc_low,
		/* The latest that it can be: a sample never precedes what made it possible. */
		.first_ns = t->start_ns + ((uint64_t)w->first << 10 | 1023),
		.tgid = w->process & WIRE_TGID_MASK,
		.event = (w->tally >> WIRE_EVENT_SHIFT) - 1,
		.count = w->tally & WIRE_COUNT_MASK,
		.thread = t->name[name], /* number 0 is zero */
	};

	take(arg, &e);
}

/* A bucket was written by another core: its lines are on their way while others are read. */
static void prefetch_bucket(struct wire_table *t, uint32_t i)
{
	struct wire_bucket *b = &t->bucket[t->touched[i % WIRE_BUCKETS] & (WIRE_BUCKETS - 1)];

	__builtin_prefetch(b, 1);
	__builtin_prefetch((char *)b + sizeof(*b) / 2, 1);
}

static void drain_table(struct wire_table *t,
			void (*take)(void *arg, const struct sampler_entry *e), void *arg)
{
	for (uint32_t i = 0; i < t->touched_count && i < WIRE_BUCKETS; i++) {
		struct wire_bucket *b = &t->bucket[t->touched[i] & (WIRE_BUCKETS - 1)];

		prefetch_bucket(t, i + 4);
		for (int way = 0; way < WIRE_WAYS && b->way[way].tally; way++)
			take_entry(t, &b->way[way], (uint8_t)(b->names >> 8 * way), take, arg);
		memset(b, 0, sizeof(*b));
	}
	for (uint32_t i = 0; i < t->spill_count && i < WIRE_SPILL; i++)
		take_entry(t, &t->spill[i], t->spill_name[i], take, arg);
	if (t->name_count)
		memset(t->name, 0, sizeof(t->name));
	t->touched_count = t->spill_count = t->name_count = 0;
	t->names_refused = 0;
}

void sampler_drain(struct sampler *s, unsigned first, unsigned count,
		   void (*take)(void *arg, const struct sampler_entry *e), void *arg)
{
	for (unsigned slot = first; slot < first + count; slot++) {
		struct wire_table *t = table_of(s, slot, false);

		s->names_refused += t->names_refused;
		drain_table(t, take, arg);
	}
}

void sampler_read_counters(const struct sampler *s, struct sampler_counters *ret)
{
	struct sampler_counters c = {0};
	struct wire_programs programs;

	/* Also of CPUs without tables, where tracepoints are hit all the same. */
	for (size_t i = 0; i < s->state_bytes / sizeof(*s->state); i++) {
		const volatile struct wire_cpu *cpu = &s->state[i];

		c.samples += cpu->samples;
		c.hits += cpu->hits;
		c.evictions += cpu->evictions;
		c.lost_spill += cpu->lost_spill;
		c.outside += cpu->outside;
		c.idle += cpu->idle;
	}
	c.inserts = c.samples > c.hits ? c.samples - c.hits : 0;
	c.scope_refused = s->bpf->bss->scope_refused;
	c.notices_lost = s->bpf->bss->notices_lost;
	c.ticks_lost = s->bpf->bss->ticks_lost;
	c.names_refused = s->names_refused;
	c.missed_ns = s->missed_ns;
	c.missed_s = s->missed_ns / 1000000000;
	c.redraws = s->redraws;
	cpu_sums_read(bpf_map__fd(s->bpf->maps.programs), &programs, sizeof(programs));
	c.program_runs = programs.runs;
	c.program_ns = programs.ns;
	c.ticks = programs.ticks;
	c.tick_ns = programs.tick_ns;
	*ret = c;
}

int sampler_read_event(const struct sampler *s, size_t event, struct sampler_event_times *ret)
{
	struct sampler_event_times sum = {0};

	for (unsigned slot = 0; slot < s->cpus.count; slot++) {
		int fd = s->fds[slot * s->event_count + event];
		uint64_t v[3];
		ssize_t n;

		if (fd < 0)
			continue;
		n = read(fd, v, sizeof(v));
		if (n != sizeof(v))
			return n < 0 ? -errno : -EIO;
		sum.value += v[0];
		sum.enabled_ns += v[1];
		sum.running_ns += v[2];
	}
	*ret = sum;
	return 0;
}

/* Whether the events of a CPU that is online go on. One that never had any has none to miss. */
static bool counts(struct sampler *s, unsigned slot)
{
	for (size_t e = 0; e < s->event_count; e++) {
		int fd = s->fds[slot * s->event_count + e];
		uint64_t v[3], before = s->enabled_ns[slot];

		if (fd < 0 || read(fd, v, sizeof(v)) != sizeof(v))
			continue;
		s->enabled_ns[slot] = v[1];
		return v[1] != before;
	}
	return true;
}

unsigned sampler_watch_cpus(struct sampler *s, uint64_t now_ns)
{
	struct cpu_list *online = malloc(sizeof(*online));
	unsigned missed = 0, slot = 0;

	if (!online || cpus_read_online(online, NULL)) {
		free(online);
		return 0;
	}
	for (unsigned i = 0; i < online->count; i++) {
		while (slot < s->cpus.count && s->cpus.number[slot] < online->number[i])
			slot++;
		missed += slot == s->cpus.count || s->cpus.number[slot] != online->number[i] ||
			  !counts(s, slot);
	}
	free(online);
	if (s->watched_ns)
		s->missed_ns += missed * (now_ns - s->watched_ns);
	s->watched_ns = now_ns;
	return missed;
}

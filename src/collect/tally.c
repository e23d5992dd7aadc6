/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collect/host/host.h"
#include "config.h"
#include "db/key.h"
#include "machine/core.h"
#include "util/array.h"
#include "util/clock.h"

void tally_start(struct tally *t, const struct session_config *config, const struct rate *rate,
		 const struct skid_facts *skid, const struct core_facts *core,
		 const struct clock_meter *clock)
{
	*t = (struct tally){
		.config = config, .rate = rate, .skid = skid, .core = core, .clock = clock};
}

void tally_take(void *arg, const struct counter *c, uint64_t value)
{
	struct tally *t = arg;
	size_t i = t->next;

	if (!c->stored)
		return;
	t->next++;
	/* Without memory it is told with the next flush. */
	if (array_reserve_zeroed(&t->before, i + 1, &t->room, sizeof(*t->before), 256))
		return;
	if (value > t->before[i])
		db_batch_count(t->batch, t->event, c->stored, value - t->before[i]);
	t->before[i] = value;
}

static void flush_event(struct tally *t, const struct sampler *sampler,
			const struct resolver *resolver, size_t i)
{
	const struct counter_taker to = {tally_take, t};

	t->event = resolver_event(resolver, i);
	counters_walk(&counters_of_event, resolver_counters(resolver, i), &to);
	sampler_read_event(sampler, i, &t->times[i]);
	counters_walk(&counters_of_event_times, &t->times[i], &to);
}

static void fact_number(struct db_batch *batch, const char *name, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.6g", value);
	db_batch_fact(batch, name, text);
}

/* The processor's own name, "AMD EPYC 9R45" or the like. */
static void fact_cpu(struct db_batch *batch)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) || !colon)
			continue;
		colon[strcspn(colon, "\n")] = 0;
		db_batch_fact(batch, "cpu", colon[1] == ' ' ? colon + 2 : colon + 1);
		break;
	}
	if (f)
		fclose(f);
}

/* The clock while samples were taken, else as it was once, when the skid was measured; and what
 * interrupts took of the time that samples stand for. */
static void fact_clock(const struct tally *t, struct db_batch *batch)
{
	double deviation, hz = clock_meter_hz(t->clock, &deviation), interrupted;

	for (size_t i = 0; i < t->config->event_count && i < WIRE_EVENTS && hz <= 0; i++)
		hz = t->skid[i].clock_hz;
	if (hz > 0)
		fact_number(batch, "clock_hz", hz);
	if (deviation > 0)
		fact_number(batch, "clock_deviation", deviation);
	interrupted = clock_meter_interrupted(t->clock, clock_monotonic_ns(), host_interrupts(""),
					      (unsigned)sysconf(_SC_NPROCESSORS_ONLN),
					      t->rate->charge_ns);
	if (interrupted > 0)
		fact_number(batch, "interrupted", interrupted);
}

/* Which core it is, for the model of it, and where samples of each event land. */
static void fact_core(const struct tally *t, struct db_batch *batch)
{
	struct machine_cpu cpu;
	char text[MACHINE_CPU_TEXT], name[DB_NAME_MAX];
	bool first = true;

	if (machine_cpu_here(&cpu)) {
		machine_cpu_format(&cpu, text);
		db_batch_fact(batch, "cpu-id", text);
	}
	if (t->core->core[0])
		db_batch_fact(batch, "core", t->core->core);
	if (t->core->loops[0])
		db_batch_fact(batch, "core-loops", t->core->loops);
	for (size_t i = 0; i < t->config->event_count && i < WIRE_EVENTS; i++) {
		if (!t->skid[i].skid[0])
			continue;
		snprintf(name, sizeof(name), "skid.%s", t->config->events[i].name);
		db_batch_fact(batch, name, t->skid[i].skid);
		if (first)
			db_batch_fact(batch, "skid", t->skid[i].skid);
		first = false;
	}
}

static void flush_facts(const struct tally *t, struct db_batch *batch)
{
	struct utsname u;

	if (!uname(&u)) {
		db_batch_fact(batch, "kernel", u.release);
		db_batch_fact(batch, "hostname", u.nodename);
	}
	fact_cpu(batch);
	fact_core(t, batch);
	fact_clock(t, batch);
	fact_number(batch, "cpus", (double)sysconf(_SC_NPROCESSORS_ONLN));
	db_batch_fact(batch, "culprit", CULPRIT_VERSION);
	if (t->config->command)
		db_batch_fact(batch, "command", t->config->command);
	fact_number(batch, "rate_hz", t->rate->hz);
	if (t->rate->cost_ns > 0) {
		fact_number(batch, "budget_percent", t->config->budget_percent);
		fact_number(batch, "interrupt_ns", t->rate->cost_ns);
	}
}

void tally_flush(struct tally *t, struct db_batch *batch, const struct sampler *sampler,
		 const struct resolver *resolver)
{
	t->batch = batch;
	t->next = 0;
	for (size_t i = 0; i < t->config->event_count; i++)
		flush_event(t, sampler, resolver, i);
	t->event = DB_EVENT_NONE;
	flush_facts(t, batch);
}

void tally_free(struct tally *t)
{
	free(t->before);
	t->before = NULL;
}

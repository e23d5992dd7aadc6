/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "config.h"
#include "db/key.h"
#include "machine/core.h"

void tally_start(struct tally *t, const struct session_config *config, const struct rate *rate,
		 const struct skid_facts *skid)
{
	*t = (struct tally){.config = config, .rate = rate, .skid = skid};
}

/* Adds the growth of a counter since the last flush, and remembers it. */
static void add(struct db_batch *batch, uint32_t event, const char *name, uint64_t now,
		uint64_t *before)
{
	if (now > *before)
		db_batch_count(batch, event, name, now - *before);
	*before = now;
}

static void flush_event(struct tally *t, struct db_batch *batch, const struct sampler *sampler,
			const struct resolver *resolver, size_t i)
{
	const struct resolver_event_counters *now = resolver_counters(resolver, i);
	struct resolver_event_counters *before = &t->events[i];
	uint32_t event = resolver_event(resolver, i);
	struct sampler_event_times times;

	add(batch, event, "samples", now->samples, &before->samples);
	add(batch, event, "unknown.process", now->unknown_process, &before->unknown_process);
	add(batch, event, "unknown.mapping", now->unknown_mapping, &before->unknown_mapping);
	add(batch, event, "unknown.kernel", now->unknown_kernel, &before->unknown_kernel);
	add(batch, event, "lost.memory", now->lost_memory, &before->lost_memory);
	add(batch, event, "lost.storage", now->lost_storage, &before->lost_storage);
	if (sampler_read_event(sampler, i, &times))
		return;
	add(batch, event, "units", times.value, &t->times[i].value);
	add(batch, event, "enabled_ns", times.enabled_ns, &t->times[i].enabled_ns);
	add(batch, event, "running_ns", times.running_ns, &t->times[i].running_ns);
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
	for (size_t i = 0; i < t->config->event_count && i < WIRE_EVENTS; i++) {
		if (!t->skid[i].skid[0])
			continue;
		snprintf(name, sizeof(name), "skid.%s", t->config->events[i].name);
		db_batch_fact(batch, name, t->skid[i].skid);
		if (first)
			db_batch_fact(batch, "skid", t->skid[i].skid);
		if (first && t->skid[i].clock_hz > 0)
			fact_number(batch, "clock_hz", t->skid[i].clock_hz);
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

static void flush_refusals(struct tally *t, struct db_batch *batch,
			   const struct processes_counters *p, uint64_t names_refused,
			   const struct tally_sources *from)
{
	struct files_counters f;
	struct keeper_counters k;
	uint64_t by_name = 0;

	if (from->kernel)
		add(batch, DB_EVENT_NONE, "kernel.refused",
		    image_kernel_counts(from->kernel).regions_refused, &t->kernel_refused);
	files_read_counters(from->files, &f);
	keeper_read_counters(from->keeper, &k);
	add(batch, DB_EVENT_NONE, "processes.refused", p->processes_refused, &t->processes_refused);
	add(batch, DB_EVENT_NONE, "mappings.refused", p->mappings_refused, &t->mappings_refused);
	add(batch, DB_EVENT_NONE, "files.refused", f.refused, &t->files_refused);
	for (size_t i = 0; i < t->config->event_count; i++)
		by_name += resolver_counters(from->resolver, i)->by_name;
	add(batch, DB_EVENT_NONE, "named.late", by_name, &t->named_late);
	add(batch, DB_EVENT_NONE, "files.crowded", f.crowded, &t->files_crowded);
	add(batch, DB_EVENT_NONE, "symbols.refused", k.refused, &t->symbols_refused);
	add(batch, DB_EVENT_NONE, "code.refused", k.code_refused, &t->code_refused);
	add(batch, DB_EVENT_NONE, "lines.refused", k.lines_refused, &t->lines_refused);
	add(batch, DB_EVENT_NONE, "symbols.unwritten", k.unwritten, &t->symbols_unwritten);
	add(batch, DB_EVENT_NONE, "cgroups.refused", resolver_cgroups_refused(from->resolver),
	    &t->cgroups_refused);
	add(batch, DB_EVENT_NONE, "threads.refused",
	    resolver_threads_refused(from->resolver) + names_refused, &t->threads_refused);
}

void tally_flush(struct tally *t, struct db_batch *batch, const struct tally_sources *from)
{
	uint64_t malformed = sideband_malformed(from->sideband);
	struct sampler_counters s;
	struct processes_counters p;

	for (size_t i = 0; i < t->config->event_count; i++)
		flush_event(t, batch, from->sampler, from->resolver, i);
	sampler_read_counters(from->sampler, &s);
	processes_read_counters(from->processes, &p);
	add(batch, DB_EVENT_NONE, "lost.spill", s.lost_spill, &t->sampler.lost_spill);
	add(batch, DB_EVENT_NONE, "outside", s.outside, &t->sampler.outside);
	add(batch, DB_EVENT_NONE, "scope.refused", s.scope_refused, &t->sampler.scope_refused);
	add(batch, DB_EVENT_NONE, "notices.lost", s.notices_lost, &t->sampler.notices_lost);
	add(batch, DB_EVENT_NONE, "cpus.missed_s", s.missed_ns / 1000000000, &t->missed_s);
	add(batch, DB_EVENT_NONE, "scope.left_out", from->left_out, &t->left_out);
	add(batch, DB_EVENT_NONE, "records.lost", p.records_lost, &t->records_lost);
	add(batch, DB_EVENT_NONE, "records.cut", p.records_left_out, &t->records_left_out);
	add(batch, DB_EVENT_NONE, "records.malformed", malformed, &t->malformed);
	flush_refusals(t, batch, &p, s.names_refused, from);
	flush_facts(t, batch);
}

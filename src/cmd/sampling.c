/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/sampling.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/cost/tick_choice.h"
#include "unwind/unwind_walk.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/num.h"
#include "util/text.h"

#define BUDGET_DEFAULT	 1.0 /* percent */
#define RATE_MAX	 100000
#define STACK_MEMORY_MAX 4096 /* MB */

void sampling_init(struct sampling_options *o)
{
	*o = (struct sampling_options){.budget_percent = BUDGET_DEFAULT,
				       .stacks = SAMPLING_FOLLOW_IF_POSSIBLE};
}

void sampling_free(struct sampling_options *o)
{
	for (size_t i = 0; i < o->event_count; i++)
		event_free(&o->events[i]);
	o->event_count = 0;
}

static int add_event(struct sampling_options *o, const char *text, struct diag *diag)
{
	if (o->event_count == EVENTS_MAX)
		return diag_fail(diag, E2BIG, "more than %d events", EVENTS_MAX);
	int r = event_parse(text, &o->events[o->event_count], diag);
	if (r)
		return r;
	o->event_count++;
	/* Under one name each of its samples would count for as much as that of one event. */
	for (size_t i = 0; i + 1 < o->event_count; i++)
		if (!strcmp(o->events[i].name, o->events[o->event_count - 1].name) &&
		    o->events[i].period == o->events[o->event_count - 1].period)
			return diag_fail(diag, EINVAL, "event '%s' is named twice; leave one out",
					 text);
	return 0;
}

/* "-e a,b" as well as "-e a -e b"; a comma between slashes belongs to pmu/terms/. */
static int add_events(struct sampling_options *o, const char *list, struct diag *diag)
{
	char *copy = strdup(list), *start = copy;
	bool in_terms = false, last = false;
	int r = copy ? 0 : diag_fail(diag, ENOMEM, "out of memory");

	for (char *p = copy; !r && !last; p++) {
		last = *p == 0;
		in_terms ^= *p == '/';
		if (!last && (*p != ',' || in_terms))
			continue;
		*p = 0;
		r = add_event(o, start, diag);
		start = p + 1;
	}
	free(copy);
	return r;
}

static int parse_rate(struct sampling_options *o, const char *value, struct diag *diag)
{
	uint64_t hz;

	if (!strcmp(value, "max"))
		return diag_fail(
			diag, EINVAL,
			"'max' is not a rate; without -F it is the highest that keeps to --budget");
	if (num_parse_count(value, &hz) || hz == 0 || hz > RATE_MAX)
		return diag_fail(diag, EINVAL, "'%s' is not a rate from 1 to %d samples a second",
				 value, RATE_MAX);
	o->rate_hz = (double)hz;
	return 0;
}

static int parse_stack_rate(struct sampling_options *o, const char *value, struct diag *diag)
{
	uint64_t hz;

	o->stacks = SAMPLING_FOLLOW;
	if (!strcmp(value, "all")) {
		o->stack.hz = INFINITY;
		return 0;
	}
	if (num_parse_count(value, &hz) || hz == 0 || hz > RATE_MAX)
		return diag_fail(diag, EINVAL,
				 "'%s' is neither all nor from 1 to %d stacks a second", value,
				 RATE_MAX);
	o->stack.hz = (double)hz;
	return 0;
}

static int parse_memory(struct sampling_options *o, const char *value, struct diag *diag)
{
	uint64_t mb;

	if (num_parse_count(value, &mb) || mb == 0 || mb > STACK_MEMORY_MAX)
		return diag_fail(diag, EINVAL, "'%s' is not a size from 1 to %d megabytes", value,
				 STACK_MEMORY_MAX);
	o->stack.memory_bytes = mb << 20;
	return 0;
}

int sampling_parse_option(struct sampling_options *o, int option, const char *value,
			  struct diag *diag)
{
	switch (option) {
	case 'e':
		return add_events(o, value, diag);
	case 'F':
		return parse_rate(o, value, diag);
	case 'l':
		return cmd_take_label(value, o->labels, &o->label_count, SUBJECT_LABELS_MAX, diag);
	case SAMPLING_EDGES:
	case SAMPLING_NO_EDGES:
		o->edges = option == SAMPLING_EDGES ? SAMPLING_FOLLOW : SAMPLING_FOLLOW_NOT;
		o->edges_said = true;
		return 0;
	case SAMPLING_STACKS:
	case SAMPLING_NO_STACKS:
		o->stacks = option == SAMPLING_STACKS ? SAMPLING_FOLLOW : SAMPLING_FOLLOW_NOT;
		o->stack.hz = o->stacks ? o->stack.hz : 0;
		return 0;
	case SAMPLING_STACK_RATE:
		return parse_stack_rate(o, value, diag);
	case SAMPLING_STACK_MEMORY:
		return parse_memory(o, value, diag);
	default:
		return diag_fail(diag, EINVAL, "unknown option");
	}
}

/* Ticks are not random, and a program in step with them is told by samples that are. */
static int add_random(struct sampling_options *o, struct diag *diag)
{
	bool ticks = false;

	for (size_t i = 0; i < o->event_count; i++) {
		ticks |= o->events[i].tick;
		if (!strcmp(o->events[i].name, "cpu-clock"))
			return 0;
	}
	return ticks ? add_event(o, "cpu-clock", diag) : 0;
}

/* Ticks, and a few random samples beside them, instead of the timer that the first event is. */
static int choose_ticks(struct sampling_options *o, struct diag *diag)
{
	struct event tick;
	int r;

	if (!o->choose_ticks || o->rate_hz > 0 || o->fixed_periods ||
	    !tick_choice_make(&o->events[0], &o->no_ticks))
		return 0;
	r = event_parse("tick", &tick, diag);
	if (r)
		return r;
	o->events[1] = o->events[0];
	o->events[0] = tick;
	o->event_count = 2;
	o->most_hz = TICK_CHOICE_RANDOM_HZ;
	return 0;
}

int sampling_choose_events(struct sampling_options *o, struct diag *diag)
{
	if (o->event_count)
		return add_random(o, diag);
	int r = event_default(&o->events[0], &o->why, diag);
	if (r)
		return r;
	o->event_count = 1;
	return choose_ticks(o, diag);
}

static void ask_for(struct session_config *config, const struct follower_ops *ops,
		    const void *options, enum sampling_follow follow)
{
	if (follow)
		config->followers[config->follower_count++] = (struct follower_wish){
			.ops = ops, .options = options, .needed = follow == SAMPLING_FOLLOW};
}

void sampling_fill_config(const struct sampling_options *o, struct session_config *config)
{
	config->events = o->events;
	config->event_count = o->event_count;
	config->rate_hz = o->rate_hz;
	config->most_hz = o->most_hz;
	config->budget_percent = o->budget_percent;
	config->with_pid = o->per_process;
	config->fixed_periods = o->fixed_periods;
	config->labels = o->labels;
	config->follower_count = 0;
	ask_for(config, &edges_follower, &o->values, o->edges);
	ask_for(config, &stacks_follower, &o->stack, o->stacks);
}

static void announce_event(const struct event *e, uint64_t period, const char *why)
{
	const char *open = *why ? " (" : "", *close = *why ? ")" : "";

	if (event_is_clock(e))
		log_notice("%s every %.6g ms of each CPU%s%s%s", e->name, (double)period / 1e6,
			   open, why, close);
	else
		log_notice("%s, one of %llu%s%s%s", e->name, (unsigned long long)period, open, why,
			   close);
}

/* "measured now", or that what an earlier start measured is believed. */
static void describe_age(const struct session_status *s, char *ret, size_t room)
{
	uint64_t minutes = s->cost_age_s / 60;

	if (!s->cost_remembered)
		snprintf(ret, room, "measured now");
	else if (!minutes)
		snprintf(ret, room, "measured just before");
	else if (minutes < 120)
		snprintf(ret, room, "measured %u min ago", (unsigned)minutes);
	else
		snprintf(ret, room, "measured %u h ago", (unsigned)(minutes / 60));
}

/* Why ticks were chosen, and what is taken beside them. */
static void announce_choice(const struct session_status *s)
{
	log_notice("a timer's interrupt costs %.3g us here%s, so the scheduler's ticks are "
		   "sampled, and %.4g a "
		   "second at random beside them (-e cpu-clock: at random alone)",
		   s->cost_ns / 1e3, *s->cost_note ? ", it is assumed" : "", s->rate_hz);
}

static void announce_cost(const struct session_status *s, bool with_stacks)
{
	const char *with = with_stacks ? ", with their stacks," : "";
	const char *beside = s->cost_busy ? " beside other work" : "";
	char age[48];

	if (*s->cost_note) {
		log_notice("an interrupt is assumed to cost %.3g us (%s), so %.4g a second%s keep "
			   "to %.3g%% of a CPU",
			   s->cost_ns / 1e3, s->cost_note, s->rate_hz, with, s->interrupts_percent);
		return;
	}
	describe_age(s, age, sizeof(age));
	log_notice("an interrupt costs %.3g us here (+-%.2g, %s%s), so %.4g a second%s keep to "
		   "%.3g%% of "
		   "a CPU",
		   s->cost_ns / 1e3, s->cost_spread_ns / 1e3, age, beside, s->rate_hz, with,
		   s->interrupts_percent);
}

void sampling_announce(const struct sampling_options *o, const struct session *s)
{
	const char *no_edges, *no_stacks;
	struct session_status status;
	struct stacks_status stacks;
	struct edges_status edges;

	edges_read_status(session_follower(s, &edges_follower, &no_edges), &edges);
	stacks_read_status(session_follower(s, &stacks_follower, &no_stacks), &stacks);
	session_read_status(s, &status);
	for (size_t i = 0; i < o->event_count; i++)
		announce_event(&o->events[i], session_period(s, i), i == 0 && o->why ? o->why : "");
	if (*no_stacks)
		log_notice("no stacks are taken: %s", no_stacks);
	if (o->stack.hz > 0 && stacks.period == 1)
		log_notice("each sample has its stack");
	else if (o->stack.hz > 0 && stacks.period)
		log_notice("one in %u samples has its stack", (unsigned)stacks.period);
	if (*no_edges)
		log_notice("samples are not followed for edges: %s", no_edges);
	else if (edges.period == 1)
		log_notice("samples of a program's own code are followed for their branches");
	else if (edges.period)
		log_notice("one in %u samples of a program's own code is followed for its branches",
			   (unsigned)edges.period);
	if (*o->no_ticks.text)
		log_notice("no ticks are sampled: %s", o->no_ticks.text);
	if (o->most_hz > 0)
		announce_choice(&status);
	else if (status.cost_ns > 0)
		announce_cost(&status, o->stack.hz > 0);
}

/* How many samples were followed, what that gave and what it cost. */
static void summarize_edges(const struct edges_status *e, uint64_t lasted_ns, unsigned cpus)
{
	double windows = (double)e->windows;

	fprintf(stderr,
		"culprit: %llu %s, %.1f outcomes and %.2g us each (%.2g%% of the CPUs), %llu "
		"kept, %llu "
		"ended early (code not there yet %.0f%%, unknown value %.0f%%, not modelled "
		"%.0f%%)\n",
		TEXT_COUNT(e->windows, "window", "windows"), (double)e->outcomes / windows,
		(double)e->spent_ns / windows / 1e3,
		100.0 * (double)e->spent_ns / (double)lasted_ns / cpus,
		(unsigned long long)e->stored,
		(unsigned long long)(e->windows - e->ends[WIRE_END_FULL]),
		100.0 * (double)(e->ends[WIRE_END_COLD] + e->ends[WIRE_END_NO_FILE]) / windows,
		100.0 * (double)e->ends[WIRE_END_UNKNOWN] / windows,
		100.0 * (double)(e->ends[WIRE_END_INSTRUCTION] + e->ends[WIRE_END_STORES]) /
			windows);
}

/* How many stacks were taken, how good they are and what they cost. */
static void summarize_stacks(const struct stacks_status *s, uint64_t lasted_ns, unsigned cpus)
{
	double all = (double)s->stacks;
	const char *open = " (";

	fprintf(stderr, "culprit: %llu %s, %.4g%% of them to their thread's start",
		TEXT_COUNT(s->stacks, "stack", "stacks"), 100.0 * (double)s->complete / all);
	for (unsigned i = 0; i < WIRE_STACK_ENDS; i++)
		if (unwind_end_text(i) && s->ends[i]) {
			fprintf(stderr, "%s%s %llu", open, unwind_end_text(i),
				(unsigned long long)s->ends[i]);
			open = ", ";
		}
	fprintf(stderr, "%s; %.1f frames and %.2g us each (%.2g%% of the CPUs)\n",
		*open == ',' ? ")" : "", (double)s->frames / all, (double)s->spent_ns / all / 1e3,
		100.0 * (double)s->spent_ns / (double)lasted_ns / cpus);
	fprintf(stderr,
		"culprit: %llu unwind %s of %llu kB (%llu MB at most, %llu made room, %llu "
		"made before), %llu %s waited for one, %llu lost; %llu %s from code that "
		"has no table\n",
		TEXT_COUNT(s->tables, "table", "tables"),
		(unsigned long long)(s->table_bytes >> 10),
		(unsigned long long)(s->memory_bytes >> 20), (unsigned long long)s->evicted,
		(unsigned long long)s->kept_tables, TEXT_COUNT(s->finished, "stack", "stacks"),
		(unsigned long long)s->lost, TEXT_COUNT(s->derived_rows, "row", "rows"));
	if (s->late_tables)
		fprintf(stderr,
			"culprit: making a table took too long %llu %s, and was tried again: is "
			"the machine very busy?\n",
			TEXT_COUNT(s->late_tables, "time", "times"));
}

/* What most people want to know of them: whether there are some, what for, how good they are. */
static void summarize_briefly(const struct sampling_summary *s)
{
	const struct stacks_status *stacks = &s->stacks;

	if (stacks->stacks)
		fprintf(stderr, "culprit: %llu %s, %.4g%% of them to their thread's start",
			TEXT_COUNT(stacks->stacks, "stack", "stacks"),
			100.0 * (double)stacks->complete / (double)stacks->stacks);
	if (stacks->stacks && stacks->lost)
		fprintf(stderr, ", %llu lost", (unsigned long long)stacks->lost);
	if (stacks->stacks)
		fprintf(stderr, " (see culprit calls)\n");
	if (s->edges.stored)
		fprintf(stderr,
			"culprit: %llu %s followed for branches, which the counts "
			"of culprit calc rest on\n",
			TEXT_COUNT(s->edges.stored, "sample was", "samples were"));
}

void sampling_take_summary(const struct session *s, struct sampling_summary *ret)
{
	uint64_t now = clock_wall_ns();

	session_read_status(s, &ret->status);
	edges_read_status(session_follower(s, &edges_follower, NULL), &ret->edges);
	stacks_read_status(session_follower(s, &stacks_follower, NULL), &ret->stacks);
	ret->lasted_ns = now > ret->status.started_ns ? now - ret->status.started_ns : 1;
}

void sampling_summarize(const struct sampling_summary *s, const char *db)
{
	const struct session_status *status = &s->status;
	double all = status->samples ? (double)status->samples : 1;

	fprintf(stderr, "culprit: %llu %s, %llu lost (%.2g%%), %llu unknown (%.2g%%), in %s\n",
		TEXT_COUNT(status->samples, "sample", "samples"), (unsigned long long)status->lost,
		100.0 * (double)status->lost / all, (unsigned long long)status->unknown,
		100.0 * (double)status->unknown / all, db);
}

/* What all of it cost, by parts. */
static void summarize_budget(const struct session_status *s)
{
	static const char *const names[BUDGET_PARTS] = BUDGET_PART_NAMES;
	const char *comma = "";

	fprintf(stderr, "culprit: a slowdown of %.2g%%, with a budget of %.3g%%: ", s->budget.sum,
		s->budget_percent);
	for (enum budget_part p = 0; p < BUDGET_PARTS; p++)
		if (s->budget.percent[p] > 0) {
			fprintf(stderr, "%s%s %.2g%%", comma, names[p], s->budget.percent[p]);
			comma = ", ";
		}
	if (s->budget_windows)
		fprintf(stderr, "; %llu of %llu %s of %d s above it",
			(unsigned long long)s->budget_over,
			TEXT_COUNT(s->budget_windows, "window", "windows"),
			(int)(BUDGET_WINDOW_NS / 1000000000u));
	if (s->budget_step)
		fprintf(stderr, "; rates lowered to %.2g of what was planned",
			budget_factor(s->budget_step));
	fputc('\n', stderr);
}

void sampling_tell_quality(const struct sampling_summary *s, bool verbose)
{
	const struct session_status *status = &s->status;

	if (!verbose) {
		summarize_briefly(s);
		if (status->budget_over)
			fprintf(stderr,
				"culprit: in %llu of %llu intervals of 10 s collecting took more "
				"than %.3g%% of the CPUs, and rates were lowered where possible "
				"(-v)\n",
				(unsigned long long)status->budget_over,
				(unsigned long long)status->budget_windows, status->budget_percent);
		return;
	}
	if (s->stacks.stacks)
		summarize_stacks(&s->stacks, s->lasted_ns, status->cpus);
	if (s->edges.windows)
		summarize_edges(&s->edges, s->lasted_ns, status->cpus);
	summarize_budget(status);
}

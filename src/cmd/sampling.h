/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_SAMPLING_H
#define CULPRIT_CMD_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cmd/cmd.h"
#include "collect/edges/edges.h"
#include "collect/values/value_store.h"
#include "collect/events/event.h"
#include "collect/session.h"
#include "collect/process/subject.h"
#include "collect/stacks/stacks.h"
#include "util/diag.h"

/* Whether a follower of samples is asked for. */
enum sampling_follow { SAMPLING_FOLLOW_NOT, SAMPLING_FOLLOW_IF_POSSIBLE, SAMPLING_FOLLOW };

/* The options that say how to sample, which record and the daemon share. */
struct sampling_options {
	struct event events[EVENTS_MAX];
	size_t event_count;
	const char *why; /* why the default event is not the first choice; NULL or "" otherwise */
	double rate_hz, budget_percent;
	double most_hz;	      /* of random samples beside ticks that were chosen; 0: no limit */
	bool choose_ticks;    /* if nothing else was asked for and timers are dear */
	struct diag no_ticks; /* why they were not chosen; "": there was no choice */
	bool per_process, fixed_periods;
	enum sampling_follow stacks, edges;
	struct stacks_options stack;
	struct values_options values; /* by default none */
	bool edges_said;	      /* edges was asked for, or refused */
	const char *labels[SUBJECT_LABELS_MAX + 1];
	size_t label_count;
};

/* For the option list of a subcommand, whose own options begin with a struct sampling_options; its
 * long-only ones begin at SAMPLING_END. */
enum {
	SAMPLING_EDGES = CMD_LONG,
	SAMPLING_NO_EDGES,
	SAMPLING_STACKS,
	SAMPLING_NO_STACKS,
	SAMPLING_STACK_RATE,
	SAMPLING_STACK_MEMORY,
	SAMPLING_END
};
#define SAMPLING_OPTIONS                                                                          \
	{"event", 'e', "EVENT[:PERIOD]",                                                          \
	 "the event to sample, see culprit-events(7); may be repeated"},                          \
		{"freq", 'F', "HZ", "samples per second on each CPU, instead of a budget"},       \
		{"budget", 0, "PERCENT", "the slowdown allowed (default 1%)",                     \
		 CMD_AT(SOME_PERCENT, sampling_options, budget_percent)},                         \
		{"label", 'l', "KEY=VALUE", "labels the samples; may be repeated"},               \
		{"per-process", 0, NULL, "keeps processes apart",                                 \
		 CMD_AT(FLAG, sampling_options, per_process)},                                    \
		{"edges", SAMPLING_EDGES, NULL, "follows samples for branches, calls and jumps"}, \
		{"no-edges", SAMPLING_NO_EDGES, NULL, "does not follow samples"},                 \
		{"stacks", SAMPLING_STACKS, NULL,                                                 \
		 "takes stacks, or fails (default: where possible)"},                             \
		{"no-stacks", SAMPLING_NO_STACKS, NULL, "takes no stacks"},                       \
		{"stack-rate", SAMPLING_STACK_RATE, "HZ|all",                                     \
		 "stacks per second on each CPU (default 100, fewer to keep the budget)", "all"}, \
		{"stack-memory", SAMPLING_STACK_MEMORY, "MB",                                     \
		 "the most memory for unwind tables (default 64)"},                               \
	{                                                                                         \
		"fixed-periods", 0, NULL, "samples at fixed periods, not at random ones",         \
			CMD_AT(FLAG, sampling_options, fixed_periods)                             \
	}

void sampling_init(struct sampling_options *o);
void sampling_free(struct sampling_options *o); /* what it owns */
/* Takes one option of the above. -EINVAL and a sentence. */
int sampling_parse_option(struct sampling_options *o, int option, const char *value,
			  struct diag *diag);
/* After the options: the best clock when no event was asked for, ticks where choose_ticks was set
 * and they are to be had and better; random samples beside ticks. */
int sampling_choose_events(struct sampling_options *o, struct diag *diag);
/* o must outlive the session. */
void sampling_fill_config(const struct sampling_options *o, struct session_config *config);
/* To stderr: what is sampled, how often, and at what cost. */
void sampling_announce(const struct sampling_options *o, const struct session *s);

/* What there is to say of a session when it is over; only its numbers stay valid after its end. */
struct sampling_summary {
	struct session_status status;
	struct edges_status edges; /* all 0 without */
	struct stacks_status stacks;
	uint64_t lasted_ns;
};
void sampling_take_summary(const struct session *s, struct sampling_summary *ret);
/* To stderr: how many samples were taken, lost and unknown, and where they are. */
void sampling_summarize(const struct sampling_summary *s, const char *db);
/* To stderr: how many stacks are whole and how many samples were followed; verbose: why they are
 * not better, and what they cost. */
void sampling_tell_quality(const struct sampling_summary *s, bool verbose);

#endif

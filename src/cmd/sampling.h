/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_SAMPLING_H
#define CULPRIT_CMD_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cmd/cmd.h"
#include "collect/event.h"
#include "collect/session.h"
#include "collect/subject.h"
#include "util/diag.h"

/* The options that say how to sample, which record and the daemon share. */
struct sampling_options {
	struct event events[EVENTS_MAX];
	size_t event_count;
	const char *why; /* why the default event is not the first choice; NULL or "" otherwise */
	double rate_hz, budget_percent;
	bool per_process, fixed_periods, no_stacks, stacks_needed;
	double stack_hz;       /* as in struct session_config */
	uint64_t stack_memory; /* bytes; 0: the default */
	bool edges_said;       /* edges was asked for, or refused */
	enum session_edges edges;
	const char *labels[SUBJECT_LABELS_MAX + 1];
	size_t label_count;
};

/* For the option list of a subcommand; its own long-only options begin at SAMPLING_END. */
enum {
	SAMPLING_BUDGET = CMD_LONG,
	SAMPLING_PER_PROCESS,
	SAMPLING_FIXED,
	SAMPLING_EDGES,
	SAMPLING_NO_EDGES,
	SAMPLING_STACKS,
	SAMPLING_NO_STACKS,
	SAMPLING_STACK_RATE,
	SAMPLING_STACK_MEMORY,
	SAMPLING_END
};
#define SAMPLING_OPTIONS                                                                          \
	{"event", 'e', "EVENT[:PERIOD]",                                                          \
	 "what is sampled, see culprit-events(7); may be repeated"},                              \
		{"freq", 'F', "HZ", "samples a second on each CPU, instead of a budget"},         \
		{"budget", SAMPLING_BUDGET, "PERCENT", "slowdown to keep to (default 1%)"},       \
		{"label", 'l', "KEY=VALUE", "marks the samples; may be repeated"},                \
		{"per-process", SAMPLING_PER_PROCESS, NULL, "keeps processes apart"},             \
		{"edges", SAMPLING_EDGES, NULL, "follows samples for branches, calls and jumps"}, \
		{"no-edges", SAMPLING_NO_EDGES, NULL, "does not"},                                \
		{"stacks", SAMPLING_STACKS, NULL, "takes stacks, or fails (default: if it can)"}, \
		{"no-stacks", SAMPLING_NO_STACKS, NULL, "takes no stacks"},                       \
		{"stack-rate", SAMPLING_STACK_RATE, "HZ|all",                                     \
		 "stacks a second on each CPU (default 100, less by budget)", "all"},             \
		{"stack-memory", SAMPLING_STACK_MEMORY, "MB",                                     \
		 "memory for unwind tables, at most (default 64)"},                               \
	{                                                                                         \
		"fixed-periods", SAMPLING_FIXED, NULL, "does not randomise the periods"           \
	}

void sampling_init(struct sampling_options *o);
void sampling_free(struct sampling_options *o); /* what it owns */
/* Takes one option of the above. -EINVAL and a sentence. */
int sampling_parse_option(struct sampling_options *o, int option, const char *value,
			  struct diag *diag);
/* After the options: the best clock when no event was asked for. */
int sampling_choose_events(struct sampling_options *o, struct diag *diag);
/* o must outlive the session. */
void sampling_fill_config(const struct sampling_options *o, struct session_config *config);
/* To stderr: what is sampled, how often, and at what cost. */
void sampling_announce(const struct sampling_options *o, const struct session *s);

/* What there is to say of a session when it is over; the numbers alone are good after its end. */
struct sampling_summary {
	struct session_status status;
	uint64_t lasted_ns;
};
void sampling_take_summary(const struct session *s, struct sampling_summary *ret);
/* To stderr: how many samples were taken, lost and unknown, and where they are. */
void sampling_summarize(const struct sampling_summary *s, const char *db);
/* To stderr: how many stacks are whole and how many samples were followed; verbose: why they are
 * not better, and what they cost. */
void sampling_tell_quality(const struct sampling_summary *s, bool verbose);

#endif

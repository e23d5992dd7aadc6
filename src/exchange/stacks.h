/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_EXCHANGE_STACKS_H
#define CULPRIT_EXCHANGE_STACKS_H

#include <stddef.h>
#include <stdint.h>
#include "analyze/calls/stack_set.h"
#include "util/buf.h"
#include "util/diag.h"

/*
 * Stacks as other programs read them (doc/exchange.md). Every writer writes the whole set, and so
 * all samples that its stacks stand for; idle ones are in it only if it was made with them. Errors
 * are returned and kept in the buffer.
 */

/* The epochs that the set covers, for formats that tell when. */
struct stacks_about {
	const char *title;
	uint64_t start_ns, end_ns;
};

/* A line for each distinct stack of the first event: "command;outermost;...;innermost SAMPLES", as
 * flamegraph.pl and others read it. ";" in names becomes ":". */
int stacks_write_folded(const struct stack_set *s, struct buf *out);
/* speedscope's JSON: a profile for each event. Clocks are in nanoseconds. */
int stacks_write_speedscope(const struct stack_set *s, const struct stacks_about *about,
			    struct buf *out);
/* callgrind's profile format: cost by line, and for each call its inclusive cost. The costs are
 * pprof's values. Counts of calls are counts of samples: sampling knows no other. */
int stacks_write_callgrind(const struct stack_set *s, const struct stacks_about *about,
			   struct buf *out);
/*
 * pprof's, compressed. For each event two values: samples, and the units of the event
 * (nanoseconds, cycles, ...) that they stand for. Addresses are the images' own.
 */
int stacks_write_pprof(const struct stack_set *s, const struct stacks_about *about,
		       struct buf *out);

/* For the writers. */

/* A level of a stack: a function in it, as compiled code or inlined. */
struct stack_level {
	uint32_t place; /* index in the set's places */
	uint32_t frame; /* index in the set's frames */
};

/* The levels of the stack that ends at a node, the outermost first, and the group that it belongs
 * to (QUERY_NO_GROUP: none). All zero before the first use; free(list) in the end. */
struct stack_levels {
	struct stack_level *list;
	size_t count, room;
	uint32_t group;
};
int stack_levels_read(struct stack_levels *l, const struct stack_set *s,
		      uint32_t node); /* -ENOMEM */

static inline const struct stack_function *stack_level_function(const struct stack_set *s,
								const struct stack_level *l)
{
	return &s->functions[s->places[l->place].function];
}

/* True for events that tell time, in nanoseconds. */
bool stacks_is_clock(const struct query_event *e);
/* Units of an event that one sample stands for. */
double stacks_units(const struct stack_set *s, size_t event);
#define STACKS_NAME_MAX 1100
/* What an event's two values are called, by pprof's convention: "samples" and "cpu" of the first if
 * it tells time, else "samples.LABEL" and its label. */
void stacks_event_names(const struct stack_set *s, size_t event, char samples[STACKS_NAME_MAX],
			char units[STACKS_NAME_MAX]);
/* One line: how many samples the stacks stand for, and for how many the callers are not known. */
void stacks_describe(const struct stack_set *s, char *out, size_t room);
/* The indexes of the set's counts ordered by (node, event). To be freed; NULL: out of memory. */
uint32_t *stacks_order(const struct stack_set *s);

#endif

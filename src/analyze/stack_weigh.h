/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_STACK_WEIGH_H
#define CULPRIT_ANALYZE_STACK_WEIGH_H

#include "analyze/stack_reader.h"

/* What weighing stacks to samples goes through; an event at a time. */

#define WEIGH_NONE UINT32_MAX

/* Where samples are taken, as stacks and flat profile both tell it: a function of an image. */
struct weigh_class {
	const struct rank_row *row; /* of the flat profile; NULL: not in it */
	uint32_t image;		    /* number of the image; WEIGH_NONE: what no image explains */
	uint32_t function;	    /* of the set; WEIGH_NONE: not yet */
	uint32_t frame; /* of the set, for samples without a stack; WEIGH_NONE: not yet */
	/* Of the event at hand. */
	uint64_t samples;
	uint64_t stacks; /* that end there */
	uint64_t within; /* else: that go through it */
	uint64_t seen;	 /* of either, so far */
};

struct weigh {
	struct stack_set *set;
	const struct rank *rank;
	struct intern *images, *keys;
	struct weigh_class *classes;
	uint32_t sampled; /* classes from here on are not in the flat profile */
	uint32_t *row_class, *function_class;
	size_t functions; /* of the set, when it began */

	/* The set's nodes when it began, in the order of a walk through the tree: so roundings do
	 * not add up in any part of it. And the stacks, in that order of their ends. */
	uint32_t *order, *position;
	size_t nodes;
	struct stack_count *stacks;
	uint32_t *stack_class; /* of each: where its sample was taken */
	size_t stack_count;
	uint64_t *through; /* of each node: stacks of the event at hand */

	size_t event, count_room;
};

static inline const struct stack_frame *weigh_frame(const struct weigh *w, uint32_t node)
{
	return &w->set->frames[w->set->nodes[node].frame];
}

/* Of `whole` things that stand for so many samples, what the first `part` stand for. */
static inline uint64_t weigh_share(uint64_t part, uint64_t samples, uint64_t whole)
{
	return (uint64_t)((unsigned __int128)part * samples / whole);
}

/* Adds samples to the set's counts. */
int weigh_put(struct weigh *w, uint32_t node, uint32_t taken, uint64_t samples);
/* The one place of a frame that has none: in a function of the set. */
int weigh_place_frame(struct weigh *w, uint32_t frame, uint32_t function);
/* The frame for samples of a class that no stack has. */
int weigh_class_frame(struct weigh *w, struct weigh_class *c, uint32_t *ret);
/* The samples of the functions that no stack of the event ends in. */
int weigh_rest(struct weigh *w);

#endif

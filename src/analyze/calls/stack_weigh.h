/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CALLS_STACK_WEIGH_H
#define CULPRIT_ANALYZE_CALLS_STACK_WEIGH_H

#include "analyze/calls/stack_reader.h"

/* The state of weighing stacks to samples, one event at a time. */

#define WEIGH_NONE UINT32_MAX

/* Where samples are taken, as stacks and flat profile both tell it: a function of an image, in a
 * group of the query. */
struct weigh_class {
	const struct rank_row *row; /* of the flat profile; NULL: not in it */
	uint32_t key;		    /* of the function */
	uint32_t pool;		    /* of the image, in this group */
	uint32_t others;	    /* of what no image explains in the group */
	uint32_t frame; /* of the set, for samples without a stack; WEIGH_NONE: not yet */
	/* Of the current event. */
	uint64_t samples;
	uint64_t stacks; /* that end there */
	uint64_t within; /* else: that go through it */
	uint64_t seen;	 /* of either, so far */
};

struct weigh_pair {
	uint32_t what, group;
};

struct weigh {
	struct stack_set *set;
	const struct rank *rank;
	bool by_group;
	struct intern *images, *keys; /* keys: functions, whatever group */
	struct intern *pairs;	      /* of a key and a group: the classes */
	struct intern *pools;	      /* of an image (WEIGH_NONE: what none explains) and a group */
	struct weigh_class *classes;
	uint32_t sampled; /* keys from here on are not in the flat profile */
	uint32_t *row_class, *function_key;
	uint32_t *key_function; /* the function of the set; WEIGH_NONE: not yet */
	size_t functions;	/* of the set, at the beginning */

	/* The set's nodes at the beginning, in the order of a walk through the tree, so that
	 * rounding does not add up in any part of it. And the stacks, in that order of where they
	 * end. */
	uint32_t *order, *position;
	/* Of each: its class, WEIGH_NONE where no sample is taken; and `others` of its group. */
	uint32_t *node_class, *node_others;
	size_t nodes;
	struct stack_count *stacks;
	uint32_t *stack_class; /* of each: where its sample was taken */
	size_t stack_count;
	uint64_t *through; /* of each node: stacks of the current event */

	size_t event, count_room;
};

static inline const struct stack_frame *weigh_frame(const struct weigh *w, uint32_t node)
{
	return &w->set->frames[w->set->nodes[node].frame];
}

static inline const struct weigh_pair *weigh_pool(const struct weigh *w, uint32_t pool)
{
	return intern_get(w->pools, pool, NULL);
}

/* If `whole` things stand for so many samples, what the first `part` of them stand for. */
static inline uint64_t weigh_share(uint64_t part, uint64_t samples, uint64_t whole)
{
	return (uint64_t)((unsigned __int128)part * samples / whole);
}

/* Adds samples to the set's counts. */
int weigh_put(struct weigh *w, uint32_t node, uint32_t taken, uint64_t samples);
/* Gives a frame that has no place its one place: in a function of the set. */
int weigh_place_frame(struct weigh *w, uint32_t frame, uint32_t function);
/* The frame for samples of a class that no stack has. */
int weigh_class_frame(struct weigh *w, struct weigh_class *c, uint32_t *ret);
/* The samples of the functions that no stack of the event ends in. */
int weigh_rest(struct weigh *w);

#endif

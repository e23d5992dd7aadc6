/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CALLS_STACK_READER_H
#define CULPRIT_ANALYZE_CALLS_STACK_READER_H

#include "analyze/calls/stack_set.h"

/* What a set of stacks needs while it is read. */

struct stack_step {
	struct image_id image;
	uint64_t offset;
	uint32_t node;
};

/* A period of an event as it arrived. */
struct stack_event {
	const char *name;
	uint64_t period;
};

/* The end of a stack whose subject is not selected: only to tell idle from busy. */
struct stack_other {
	uint32_t frame, event;
	uint64_t count;
};

struct stack_reader {
	struct intern *images, *frames;
	struct map64 *children; /* parent << 32 | frame -> node */
	struct map64 *roots;	/* group -> node */
	struct map64 *counts;	/* node << 32 | event -> index */
	struct map64 *other_counts;
	struct stack_other *others;
	size_t other_count, other_room;
	size_t image_room, frame_room, node_room, count_room, function_room, place_room;
	struct stack_event events[QUERY_EVENTS_MAX];
	/* The previous stack: the next one often begins the same. */
	struct stack_step last[DB_STACK_MAX];
	uint32_t last_count, last_root;
};

/* Names the frames: functions, places, idle. */
int stack_set_name(struct stack_set *s, const struct stack_options *options,
		   const struct rank_source *source, struct diag *diag);
/* Weighs the stacks to the samples of the query; the query must have those of all images. */
int stack_set_weigh(struct stack_set *s, const struct stack_options *options,
		    const struct rank_source *source, struct diag *diag);
/* The number of a frame, a group's root, a frame's node below another: made if need be. */
int stack_set_frame(struct stack_set *s, const struct db_frame_item *f, uint32_t *ret);
int stack_set_root(struct stack_set *s, uint32_t group, uint32_t *ret);
int stack_set_node(struct stack_set *s, uint32_t parent, uint32_t frame, uint32_t *ret);
/* Appends one to the set's list. */
int stack_set_add_function(struct stack_set *s, const struct stack_function *f);
int stack_set_add_place(struct stack_set *s, const struct stack_place *place);

#endif

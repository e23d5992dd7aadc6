/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "util/array.h"
#include "util/num.h"
#include "util/text.h"

/* What the writers of stacks have in common. */

static int add_level(struct stack_levels *l, uint32_t place, uint32_t frame)
{
	if (array_grow(&l->list, l->count, &l->room, sizeof(*l->list), 256))
		return -ENOMEM;
	l->list[l->count++] = (struct stack_level){place, frame};
	return 0;
}

int stack_levels_read(struct stack_levels *l, const struct stack_set *s, uint32_t node)
{
	l->count = 0;
	l->group = QUERY_NO_GROUP;
	for (; node; node = s->nodes[node].parent) {
		const struct stack_node *n = &s->nodes[node];
		const struct stack_frame *f;

		if (n->frame == STACK_NO_FRAME) {
			l->group = n->group;
			continue;
		}
		f = &s->frames[n->frame];
		for (uint32_t i = f->place_count; i-- > 0;) {
			int r = add_level(l, f->first_place + i, n->frame);

			if (r)
				return r;
		}
	}
	for (size_t i = 0; i < l->count / 2; i++) {
		struct stack_level inner = l->list[i];

		l->list[i] = l->list[l->count - 1 - i];
		l->list[l->count - 1 - i] = inner;
	}
	return 0;
}

bool stacks_is_clock(const struct query_event *e)
{
	return !strncmp(e->name, "cpu-clock", 9) || !strncmp(e->name, "task-clock", 10);
}

double stacks_units(const struct stack_set *s, size_t event)
{
	const struct query_event *e = &s->query->events[event];

	return (double)e->period * query_event_scale(e);
}

void stacks_event_names(const struct stack_set *s, size_t event, char samples[STACKS_NAME_MAX],
			char units[STACKS_NAME_MAX])
{
	const struct query_event *e = &s->query->events[event];

	snprintf(samples, STACKS_NAME_MAX, "samples%s%s", event ? "." : "", event ? e->label : "");
	snprintf(units, STACKS_NAME_MAX, "%s", event || !stacks_is_clock(e) ? e->label : "cpu");
}

void stacks_describe(const struct stack_set *s, char *out, size_t room)
{
	uint64_t samples = 0, unplaced = 0;

	for (size_t i = 0; i < s->count_count; i++)
		samples = num_add_sat(samples, s->counts[i].count);
	for (size_t e = 0; e < s->query->event_count; e++)
		unplaced = num_add_sat(unplaced, s->unplaced[e]);
	snprintf(out, room,
		 "%" PRIu64 " %s for %" PRIu64
		 " %s: each for those of the function that it ends in; %.2f%% are in functions "
		 "that no stack ends in, below " STACK_CALLERS_UNKNOWN,
		 s->quality.stacks, text_plural(s->quality.stacks, "stack stands", "stacks stand"),
		 samples, text_plural(samples, "sample", "samples"),
		 samples ? 100 * (double)unplaced / (double)samples : 0);
}

static int compare_counts(const void *a, const void *b, void *arg)
{
	const struct stack_set *s = arg;
	const struct stack_count *x = &s->counts[*(const uint32_t *)a];
	const struct stack_count *y = &s->counts[*(const uint32_t *)b];

	return NUM_ORDER(x->node, y->node) ?: NUM_ORDER(x->event, y->event);
}

uint32_t *stacks_order(const struct stack_set *s)
{
	uint32_t *order = calloc(s->count_count + 1, sizeof(*order));

	for (size_t i = 0; i < s->count_count && order; i++)
		order[i] = (uint32_t)i;
	if (order)
		qsort_r(order, s->count_count, sizeof(*order), compare_counts, (void *)s);
	return order;
}

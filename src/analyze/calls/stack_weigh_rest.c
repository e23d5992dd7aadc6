/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/calls/stack_weigh.h"

#include <errno.h>
#include <stdlib.h>
#include "util/num.h"

/*
 * Functions that have samples of an event, but in which none of its stacks ends. What stacks tell
 * of their callers is used as far as it goes:
 *
 * - stacks that go through the function: it was called as there;
 * - stacks that end in other functions of its image: its callers are as theirs, but for the
 * function itself, which stands below a note. So functions further out have the totals that they
 * would have if every sample had a stack, on average, and no call is shown that nobody made;
 * - else nothing: it stands below a note where stacks begin.
 *
 * With options.by_group all of it within each group.
 */

/* Functions whose samples are shared among the same stacks. */
struct pool {
	uint64_t samples, stacks, seen;
	uint32_t first; /* class that is at hand; WEIGH_NONE: none is left */
	uint64_t left;	/* of its samples */
};

struct sharing {
	struct weigh *w;
	struct pool *pools; /* for each image; a group's `others` has what none of these takes */
	uint32_t *next;	    /* of each class, in its pool */
	uint32_t note;	    /* frame; WEIGH_NONE: not yet */
};

static bool has_callers(const struct weigh *w, uint32_t node)
{
	uint32_t class = w->node_class[node];

	return class != WEIGH_NONE && w->classes[class].samples && !w->classes[class].stacks;
}

static int place_within(struct weigh *w)
{
	int r = 0;

	for (size_t i = 0; i < w->nodes; i++)
		if (has_callers(w, w->order[i])) {
			struct weigh_class *c = &w->classes[w->node_class[w->order[i]]];

			c->within = num_add_sat(c->within, w->through[w->order[i]]);
		}
	for (size_t i = 0; i < w->nodes && !r; i++) {
		uint32_t node = w->order[i];
		struct weigh_class *c;
		uint64_t before;

		if (!has_callers(w, node) || !w->classes[w->node_class[node]].within)
			continue;
		c = &w->classes[w->node_class[node]];
		before = weigh_share(c->seen, c->samples, c->within);
		c->seen += w->through[node];
		r = weigh_put(w, node, w->set->nodes[node].frame,
			      weigh_share(c->seen, c->samples, c->within) - before);
	}
	return r;
}

/* The frame of the note. */
static int add_note(struct weigh *w, uint32_t *ret)
{
	static const char text[] = STACK_CALLERS_UNKNOWN;
	static const struct image_id id = {IMAGE_NOTE, 7, "callers"};
	const struct db_frame_item item = {.image = &id, .path = {text, sizeof(text) - 1}};
	struct stack_set *s = w->set;
	int r = stack_set_frame(s, &item, ret);

	if (r || s->frames[*ret].place_count)
		return r;
	r = stack_set_add_function(s, &(struct stack_function){.image = s->frames[*ret].image,
							       .kind = STACK_NOTE,
							       .name = text});
	return r ? r : weigh_place_frame(w, *ret, (uint32_t)s->function_count - 1);
}

static int put_below(struct sharing *h, uint32_t node, uint32_t class, uint64_t samples)
{
	struct weigh *w = h->w;
	uint32_t frame;
	int r = h->note == WEIGH_NONE ? add_note(w, &h->note) : 0;

	if (!r)
		r = weigh_class_frame(w, &w->classes[class], &frame);
	if (!r)
		r = stack_set_node(w->set, node, h->note, &node);
	if (!r)
		r = stack_set_node(w->set, node, frame, &node);
	if (r)
		return r;
	w->set->unplaced[w->event] = num_add_sat(w->set->unplaced[w->event], samples);
	return weigh_put(w, node, frame, samples);
}

/* The next samples of a pool, below a node. */
static int take(struct sharing *h, struct pool *p, uint32_t node, uint64_t samples)
{
	int r = 0;

	while (samples && p->first != WEIGH_NONE && !r) {
		uint64_t some = samples < p->left ? samples : p->left;

		r = put_below(h, node, p->first, some);
		samples -= some;
		p->left -= some;
		if (p->left)
			break;
		p->first = h->next[p->first];
		if (p->first != WEIGH_NONE)
			p->left = h->w->classes[p->first].samples;
	}
	return r;
}

static int share_out(struct sharing *h, struct pool *p, uint32_t node, uint64_t stacks)
{
	uint64_t before;

	if (!p->samples)
		return 0;
	before = weigh_share(p->seen, p->samples, p->stacks);
	p->seen += stacks;
	return take(h, p, node, weigh_share(p->seen, p->samples, p->stacks) - before);
}

/* Where another function of the image stands in place of the one that the stack ends in. A frame of
 * Python is not where its sample was taken, but what called that. */
static uint32_t callers_of(const struct weigh *w, size_t stack)
{
	uint32_t node = w->stacks[stack].node;

	return w->node_class[node] == w->stack_class[stack] ? w->set->nodes[node].parent : node;
}

static uint32_t root_of(const struct stack_set *s, uint32_t node)
{
	while (s->nodes[node].frame != STACK_NO_FRAME)
		node = s->nodes[node].parent;
	return node;
}

static uint32_t stack_pool(const struct sharing *h, size_t stack)
{
	uint32_t class = h->w->stack_class[stack];

	return class == WEIGH_NONE ? h->w->node_others[h->w->stacks[stack].node]
				   : h->w->classes[class].pool;
}

/* The stacks of each image's pool, and of the others': all of the group. */
static void count_pools(struct sharing *h)
{
	struct weigh *w = h->w;

	for (uint32_t i = 0; i < intern_count(w->pools); i++)
		h->pools[i] = (struct pool){.first = WEIGH_NONE};
	for (size_t i = 0; i < w->stack_count; i++) {
		uint32_t pool = stack_pool(h, i), others = w->node_others[w->stacks[i].node];

		if (w->stacks[i].event != w->event)
			continue;
		h->pools[others].stacks += w->stacks[i].count;
		if (pool != others)
			h->pools[pool].stacks += w->stacks[i].count;
	}
	for (uint32_t i = intern_count(w->pairs); i-- > 0;) {
		const struct weigh_class *c = &w->classes[i];
		struct pool *p = &h->pools[c->pool];

		if (!c->samples || c->stacks || c->within)
			continue;
		if (!p->stacks)
			p = &h->pools[c->others];
		h->next[i] = p->first;
		p->first = i;
		p->left = c->samples;
		p->samples = num_add_sat(p->samples, c->samples);
	}
}

/* Groups without any stack of the event. */
static int take_alone(struct sharing *h)
{
	struct weigh *w = h->w;
	uint32_t root;
	int r = 0;

	for (uint32_t i = 0; i < intern_count(w->pools) && !r; i++) {
		struct pool *p = &h->pools[i];

		if (p->stacks || !p->samples)
			continue;
		r = stack_set_root(w->set, weigh_pool(w, i)->group, &root);
		if (!r)
			r = take(h, p, root, p->samples);
	}
	return r;
}

static int share_all(struct sharing *h)
{
	struct weigh *w = h->w;
	int r = 0;

	count_pools(h);
	for (size_t i = 0; i < w->stack_count && !r; i++) {
		const struct stack_count *stack = &w->stacks[i];
		uint32_t pool = stack_pool(h, i), others = w->node_others[stack->node];

		if (stack->event != w->event)
			continue;
		if (pool != others)
			r = share_out(h, &h->pools[pool], callers_of(w, i), stack->count);
		if (!r)
			r = share_out(h, &h->pools[others], root_of(w->set, stack->node),
				      stack->count);
	}
	return r ? r : take_alone(h);
}

int weigh_rest(struct weigh *w)
{
	struct sharing h = {.w = w, .note = WEIGH_NONE};
	int r = place_within(w);

	if (r)
		return r;
	h.pools = calloc(intern_count(w->pools) + 1u, sizeof(*h.pools));
	h.next = calloc(intern_count(w->pairs) + 1u, sizeof(*h.next));
	r = h.pools && h.next ? share_all(&h) : -ENOMEM;
	free(h.pools);
	free(h.next);
	return r;
}

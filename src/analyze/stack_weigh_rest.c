/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/stack_weigh.h"

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
 */

/* Functions whose samples are shared among the same stacks. */
struct pool {
	uint64_t samples, stacks, seen;
	uint32_t first; /* class that is at hand; WEIGH_NONE: none is left */
	uint64_t left;	/* of its samples */
};

struct sharing {
	struct weigh *w;
	struct pool *pools; /* for each image; then one for what none of these takes */
	uint32_t *next;	    /* of each class, in its pool */
	uint32_t others;    /* that last one */
	uint32_t note;	    /* frame; WEIGH_NONE: not yet */
};

static uint32_t node_class(const struct weigh *w, uint32_t node)
{
	if (w->set->nodes[node].frame == STACK_NO_FRAME)
		return WEIGH_NONE;
	return w->function_class[w->set->places[weigh_frame(w, node)->first_place].function];
}

static bool has_callers(const struct weigh *w, uint32_t node)
{
	uint32_t class = node_class(w, node);

	return class != WEIGH_NONE && w->classes[class].samples && !w->classes[class].stacks;
}

static int place_within(struct weigh *w)
{
	int err = 0;

	for (size_t i = 0; i < w->nodes; i++)
		if (has_callers(w, w->order[i])) {
			struct weigh_class *c = &w->classes[node_class(w, w->order[i])];

			c->within = num_add_sat(c->within, w->through[w->order[i]]);
		}
	for (size_t i = 0; i < w->nodes && !err; i++) {
		uint32_t node = w->order[i];
		struct weigh_class *c;
		uint64_t before;

		if (!has_callers(w, node) || !w->classes[node_class(w, node)].within)
			continue;
		c = &w->classes[node_class(w, node)];
		before = weigh_share(c->seen, c->samples, c->within);
		c->seen += w->through[node];
		err = weigh_put(w, node, w->set->nodes[node].frame,
				weigh_share(c->seen, c->samples, c->within) - before);
	}
	return err;
}

/* The frame of the note. */
static int add_note(struct weigh *w, uint32_t *ret)
{
	static const char text[] = STACK_CALLERS_UNKNOWN;
	static const struct image_id id = {IMAGE_NOTE, 7, "callers"};
	const struct db_frame_item item = {.image = &id, .path = {text, sizeof(text) - 1}};
	struct stack_set *s = w->set;
	int err = stack_set_frame(s, &item, ret);

	if (err || s->frames[*ret].place_count)
		return err;
	err = stack_set_add_function(s, &(struct stack_function){.image = s->frames[*ret].image,
								 .kind = STACK_NOTE,
								 .name = text});
	return err ? err : weigh_place_frame(w, *ret, (uint32_t)s->function_count - 1);
}

static int put_below(struct sharing *h, uint32_t node, uint32_t class, uint64_t samples)
{
	struct weigh *w = h->w;
	uint32_t frame;
	int err = h->note == WEIGH_NONE ? add_note(w, &h->note) : 0;

	if (!err)
		err = weigh_class_frame(w, &w->classes[class], &frame);
	if (!err)
		err = stack_set_node(w->set, node, h->note, &node);
	if (!err)
		err = stack_set_node(w->set, node, frame, &node);
	if (err)
		return err;
	w->set->unplaced[w->event] = num_add_sat(w->set->unplaced[w->event], samples);
	return weigh_put(w, node, frame, samples);
}

/* The next samples of a pool, below a node. */
static int take(struct sharing *h, struct pool *p, uint32_t node, uint64_t samples)
{
	int err = 0;

	while (samples && p->first != WEIGH_NONE && !err) {
		uint64_t some = samples < p->left ? samples : p->left;

		err = put_below(h, node, p->first, some);
		samples -= some;
		p->left -= some;
		if (p->left)
			break;
		p->first = h->next[p->first];
		if (p->first != WEIGH_NONE)
			p->left = h->w->classes[p->first].samples;
	}
	return err;
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

	return node_class(w, node) == w->stack_class[stack] ? w->set->nodes[node].parent : node;
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

	return class == WEIGH_NONE || h->w->classes[class].image == WEIGH_NONE
		       ? h->others
		       : h->w->classes[class].image;
}

/* The stacks of each image's pool, and of the others': all. */
static void count_pools(struct sharing *h)
{
	struct weigh *w = h->w;

	for (uint32_t i = 0; i <= h->others; i++)
		h->pools[i] = (struct pool){.first = WEIGH_NONE};
	for (size_t i = 0; i < w->stack_count; i++) {
		uint32_t pool = stack_pool(h, i);

		if (w->stacks[i].event != w->event)
			continue;
		h->pools[h->others].stacks += w->stacks[i].count;
		if (pool != h->others)
			h->pools[pool].stacks += w->stacks[i].count;
	}
	for (uint32_t i = intern_count(w->keys); i-- > 0;) {
		const struct weigh_class *c = &w->classes[i];
		struct pool *p = &h->pools[c->image == WEIGH_NONE ? h->others : c->image];

		if (!c->samples || c->stacks || c->within)
			continue;
		if (!p->stacks)
			p = &h->pools[h->others];
		h->next[i] = p->first;
		p->first = i;
		p->left = c->samples;
		p->samples = num_add_sat(p->samples, c->samples);
	}
}

static int share_all(struct sharing *h)
{
	struct pool *others = &h->pools[h->others];
	struct weigh *w = h->w;
	int err = 0;

	count_pools(h);
	for (size_t i = 0; i < w->stack_count && !err; i++) {
		const struct stack_count *stack = &w->stacks[i];
		uint32_t pool = stack_pool(h, i);

		if (stack->event != w->event)
			continue;
		if (pool != h->others)
			err = share_out(h, &h->pools[pool], callers_of(w, i), stack->count);
		if (!err)
			err = share_out(h, others, root_of(w->set, stack->node), stack->count);
	}
	/* An event without any stack. */
	return err ? err : take(h, others, 0, others->samples);
}

int weigh_rest(struct weigh *w)
{
	struct sharing h = {.w = w, .others = intern_count(w->images), .note = WEIGH_NONE};
	int err = place_within(w);

	if (err)
		return err;
	h.pools = calloc(h.others + 1u, sizeof(*h.pools));
	h.next = calloc(intern_count(w->keys) + 1u, sizeof(*h.next));
	err = h.pools && h.next ? share_all(&h) : -ENOMEM;
	free(h.pools);
	free(h.next);
	return err;
}

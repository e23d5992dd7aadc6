/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/outline.h"

#include <errno.h>
#include <stdlib.h>
#include "util/array.h"

#define ROOT 0

static uint32_t depth_of(const struct outline *o, uint32_t node)
{
	uint32_t depth = 0;

	for (; node != ROOT; node = o->nodes[node].parent)
		depth++;
	return depth;
}

static bool has_children(const struct outline *o, uint32_t node)
{
	return o->nodes[node].child_count > 0;
}

/* Of a level that is taken away: neither shown nor closed. What has nothing inside stays. */
static bool is_hoisted(const struct outline *o, uint32_t node, uint32_t depth)
{
	return node == ROOT || (depth <= o->flat && has_children(o, node));
}

/* A way down the tree, level by level. */
struct level {
	uint32_t node, next;
};

struct walk {
	struct level *levels;
	size_t count, room;
};

static int push(struct walk *w, uint32_t node)
{
	if (array_grow(&w->levels, w->count, &w->room, sizeof(*w->levels), 64))
		return -ENOMEM;
	w->levels[w->count++] = (struct level){node, 0};
	return 0;
}

static int show(struct outline *o, uint32_t node, uint32_t depth)
{
	if (o->line_count >= OUTLINE_LINES_MAX) {
		o->refused++;
		return 0;
	}
	if (array_grow(&o->lines, o->line_count, &o->line_room, sizeof(*o->lines), 256))
		return -ENOMEM;
	o->lines[o->line_count++] = (struct outline_line){node, depth};
	return 0;
}

/* A child of the last level: shown, or stepped into. */
static int visit(struct outline *o, struct walk *w, uint32_t node)
{
	uint32_t depth = (uint32_t)w->count;
	bool hoisted = is_hoisted(o, node, depth);
	int r = hoisted ? 0 : show(o, node, depth > o->flat ? depth - o->flat - 1 : 0);

	if (!r && (hoisted || (o->open[node] && has_children(o, node))))
		r = push(w, node);
	return r;
}

static int build(struct outline *o)
{
	struct walk w = {0};
	int r = push(&w, ROOT);

	o->line_count = 0;
	o->refused = 0;
	while (!r && w.count) {
		struct level *level = &w.levels[w.count - 1];
		const struct outline_node *n = &o->nodes[level->node];

		if (level->next == n->child_count)
			w.count--;
		else
			r = visit(o, &w, o->children[n->first_child + level->next++]);
	}
	free(w.levels);
	return r;
}

static bool select_node(struct outline *o, uint32_t node)
{
	for (size_t i = 0; i < o->line_count; i++)
		if (o->lines[i].node == node) {
			o->selected = i;
			return true;
		}
	return false;
}

int outline_update(struct outline *o)
{
	uint32_t node = outline_node_at(o);
	int r = build(o);

	if (r)
		return r;
	while (node != ROOT && !select_node(o, node))
		node = o->nodes[node].parent;
	if (node == ROOT)
		o->selected = 0;
	return 0;
}

int outline_init(struct outline *o, const struct outline_node *nodes, const uint32_t *children,
		 size_t node_count)
{
	*o = (struct outline){.nodes = nodes, .children = children, .node_count = node_count};
	o->open = calloc(node_count + 1, sizeof(*o->open));
	return o->open ? outline_update(o) : -ENOMEM;
}

void outline_free(struct outline *o)
{
	free(o->open);
	free(o->lines);
	*o = (struct outline){0};
}

uint32_t outline_node_at(const struct outline *o)
{
	return o->selected < o->line_count ? o->lines[o->selected].node : ROOT;
}

int outline_set_open(struct outline *o, bool open)
{
	o->open[outline_node_at(o)] = open;
	return outline_update(o);
}

int outline_reveal(struct outline *o, uint32_t node)
{
	uint32_t depth = depth_of(o, node);

	while (o->flat && is_hoisted(o, node, depth))
		o->flat--;
	for (uint32_t at = o->nodes[node].parent; at != ROOT; at = o->nodes[at].parent)
		o->open[at] = true;
	int r = outline_update(o);
	if (!r)
		select_node(o, node);
	return r;
}

int outline_flatten(struct outline *o, bool more)
{
	bool deeper = false;

	for (size_t i = 0; i < o->line_count && more && !deeper; i++)
		deeper = o->lines[i].depth == 0 && has_children(o, o->lines[i].node);
	if (more)
		o->flat += deeper;
	else
		o->flat -= o->flat > 0;
	return outline_update(o);
}

int outline_close_all(struct outline *o)
{
	for (size_t i = 0; i < o->node_count; i++)
		o->open[i] = false;
	return outline_update(o);
}

void outline_move(struct outline *o, bool down, size_t lines)
{
	size_t last = o->line_count ? o->line_count - 1 : 0;

	if (down)
		o->selected = lines < last - o->selected ? o->selected + lines : last;
	else
		o->selected -= lines < o->selected ? lines : o->selected;
}

void outline_select_parent(struct outline *o)
{
	uint32_t node = outline_node_at(o);

	if (node != ROOT)
		select_node(o, o->nodes[node].parent);
}

int outline_find(const struct outline *o, bool (*matches)(void *arg, uint32_t node), void *arg,
		 uint32_t *ret_node)
{
	uint32_t from = outline_node_at(o), first = ROOT, next = ROOT;
	bool passed = from == ROOT;
	struct walk w = {0};
	int r = push(&w, ROOT);

	while (!r && w.count && next == ROOT) {
		struct level *level = &w.levels[w.count - 1];
		const struct outline_node *n = &o->nodes[level->node];
		uint32_t node;

		if (level->next == n->child_count) {
			w.count--;
			continue;
		}
		node = o->children[n->first_child + level->next++];
		if (matches(arg, node)) {
			first = first == ROOT ? node : first;
			next = passed ? node : ROOT;
		}
		passed |= node == from;
		r = push(&w, node);
	}
	free(w.levels);
	if (!r)
		*ret_node = next != ROOT ? next : first;
	return r;
}

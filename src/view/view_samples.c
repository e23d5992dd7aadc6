/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include "util/array.h"
#include "view/view_state.h"

/* The samples of a set: by address, without the kernel's idle functions, as prof has them; and by
 * stack, as calls has them. */

static int add_count(struct view_count **list, size_t *count, size_t *room,
		     const struct view_count *one)
{
	if (array_grow(list, *count, room, sizeof(**list), 4096))
		return -ENOMEM;
	(*list)[(*count)++] = *one;
	return 0;
}

static int add_row(struct view *v, const struct view_set *set, uint32_t image,
		   const struct query_row *row)
{
	struct view_count one = {.event = set->first_event + row->event, .count = row->count};
	int r = view_add_frame(v, image, row->offset, &one.at);

	return r ? r : add_count(&v->flat, &v->flat_count, &v->flat_room, &one);
}

static int add_part(struct view *v, const struct view_set *set, const struct query_part *part)
{
	const struct query_image *image = &set->session->query->images[part->image];
	const struct rank_source source = report_session_source(set->session);
	const struct image_symbols *symbols = NULL;
	const struct image_function *f;
	struct diag why;
	uint32_t number;
	int r = view_add_image(v, image, &number);

	if (!r && image_id_is_kernel(&image->id) &&
	    source.symbols(source.arg, &image->id, image->path, &symbols, &why))
		symbols = NULL;
	for (size_t i = 0; i < part->row_count && !r; i++) {
		f = symbols ? image_symbols_find(symbols, part->rows[i].offset) : NULL;
		if (!f || !rank_is_idle(&image->id, f->name))
			r = add_row(v, set, number, &part->rows[i]);
	}
	return r;
}

int view_add_samples(struct view *v, struct view_set *set)
{
	const struct query *q = set->session->query;
	int r = 0;

	for (size_t i = 0; i < q->part_count && !r; i++)
		if (q->parts[i].selected)
			r = add_part(v, set, &q->parts[i]);
	return r;
}

static int add_node(struct view *v, uint32_t parent, uint32_t frame)
{
	if (v->node_count == VIEW_NODES_MAX)
		return -ENOSPC;
	if (array_grow(&v->node_parents, v->node_count, &v->parent_room, sizeof(uint32_t), 4096) ||
	    array_grow(&v->node_frames, v->node_count, &v->node_room, sizeof(uint32_t), 4096))
		return -ENOMEM;
	v->node_parents[v->node_count] = parent;
	v->node_frames[v->node_count++] = frame;
	return 0;
}

static int add_nodes(struct view *v, const struct stack_set *s, uint32_t *images, uint32_t *nodes)
{
	uint32_t frame;
	int r = 0;

	for (size_t i = 0; i < s->image_count && !r; i++)
		r = view_add_image(v, &s->images[i], &images[i]);
	for (size_t i = 0; i < s->node_count && !r; i++) {
		const struct stack_node *n = &s->nodes[i];

		nodes[i] = VIEW_NONE;
		if (n->frame == STACK_NO_FRAME)
			continue;
		r = view_add_frame(v, images[s->frames[n->frame].image], s->frames[n->frame].offset,
				   &frame);
		if (!r)
			r = add_node(v, nodes[n->parent], frame);
		nodes[i] = (uint32_t)v->node_count - 1;
	}
	return r;
}

int view_add_stacks(struct view *v, struct view_set *set)
{
	const struct stack_set *s = set->stacks;
	uint32_t *images = calloc(s->image_count + 1, sizeof(*images));
	uint32_t *nodes = calloc(s->node_count + 1, sizeof(*nodes));
	int r = images && nodes ? add_nodes(v, s, images, nodes) : -ENOMEM;

	for (size_t i = 0; i < s->count_count && !r; i++) {
		const struct stack_count *c = &s->counts[i];
		struct view_count one = {nodes[c->node], set->first_event + c->event, c->count};

		if (one.at != VIEW_NONE && c->count)
			r = add_count(&v->stacked, &v->stacked_count, &v->stacked_room, &one);
	}
	free(images);
	free(nodes);
	return r;
}

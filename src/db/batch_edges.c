/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/batch_rows.h"
#include "util/num.h"

#define EDGES_MIN 256

static bool is_free(const struct db_batch_edge *slot)
{
	return !slot->count;
}

static uint64_t edge_hash(const struct db_batch_edge *e)
{
	uint64_t h = hash_u64(e->from ^ (uint64_t)e->image * 0x9e3779b97f4a7c15u ^ e->event);

	return hash_u64(h ^ e->to ^ (uint64_t)e->to_image << 40);
}

static struct db_batch_edge *edge_find(struct db_batch_edge *slots, size_t count,
				       const struct db_batch_edge *key)
{
	size_t at = (size_t)(((unsigned __int128)edge_hash(key) * count) >> 64);

	while (!is_free(&slots[at]) &&
	       (slots[at].from != key->from || slots[at].to != key->to ||
		slots[at].image != key->image || slots[at].to_image != key->to_image ||
		slots[at].event != key->event))
		at = at + 1 == count ? 0 : at + 1;
	return &slots[at];
}

/* Makes place for one more. */
static int edges_grow(struct db_batch *b)
{
	size_t max = b->max_rows / 4, most = max + max / 4 + 1, count = b->edge_room * 2;
	struct db_batch_edge *slots;

	if (b->edge_count >= max)
		return -ENOSPC;
	if (b->edge_count + b->edge_count / 4 + 2 <= b->edge_room)
		return 0;
	if (count < EDGES_MIN)
		count = EDGES_MIN;
	if (count > most)
		count = most;
	slots = calloc(count, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < b->edge_room; i++)
		if (!is_free(&b->edges[i]))
			*edge_find(slots, count, &b->edges[i]) = b->edges[i];
	free(b->edges);
	b->edges = slots;
	b->edge_room = count;
	return 0;
}

int db_batch_edge(struct db_batch *b, const struct db_edge *edge, uint64_t count, uint64_t windows)
{
	struct db_batch_edge key = {edge->image, edge->to_image, edge->event, .from = edge->from,
				    .to = edge->to},
			     *slot;
	bool is_special = edge->from == DB_EDGE_START || edge->to == DB_EDGE_END;
	int r;

	if (!db_batch_knows(b->images, edge->image) || !db_batch_knows(b->images, edge->to_image) ||
	    !db_batch_knows(b->events, edge->event) || !windows || windows > count ||
	    (is_special && (edge->image != edge->to_image || edge->from == edge->to)))
		return -EINVAL;
	slot = b->edge_room ? edge_find(b->edges, b->edge_room, &key) : NULL;
	if (!slot || is_free(slot)) {
		r = edges_grow(b);
		if (r < 0)
			return r;
		slot = edge_find(b->edges, b->edge_room, &key);
		b->edge_count++;
		*slot = key;
	}
	slot->count = num_add_sat(slot->count, count);
	slot->windows = num_add_sat(slot->windows, windows);
	return 0;
}

size_t db_batch_edges(const struct db_batch *b)
{
	return b->edge_count;
}

/* A slot as others see it. */
static struct db_edge_item edge_item(const struct db_batch *b, const struct db_batch_edge *e)
{
	const struct db_batch_path *path = &b->paths[e->image], *to_path = &b->paths[e->to_image];

	return (struct db_edge_item){
		.image = intern_get(b->images, e->image, NULL),
		.path = {path->data, path->size},
		.event = &b->event_list[e->event],
		.from = e->from,
		.to_image = intern_get(b->images, e->to_image, NULL),
		.to_path = {to_path->data, to_path->size},
		.to = e->to,
		.count = e->count,
		.windows = e->windows,
	};
}

static int compare_edges(const void *x, const void *y, void *arg)
{
	const struct db_batch *b = arg;
	struct db_edge_item p = edge_item(b, &b->edges[*(const uint32_t *)x]);
	struct db_edge_item q = edge_item(b, &b->edges[*(const uint32_t *)y]);

	return db_edge_compare(&p, &q);
}

int db_batch_each_edge(const struct db_batch *b, int (*f)(void *arg, const struct db_edge_item *e),
		       void *arg)
{
	uint32_t *order = malloc((b->edge_count + 1) * sizeof(*order)), count = 0;
	struct db_edge_item item;
	int r = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < b->edge_room; i++)
		if (!is_free(&b->edges[i]))
			order[count++] = (uint32_t)i;
	qsort_r(order, count, sizeof(*order), compare_edges, (void *)b);
	for (uint32_t i = 0; i < count && r == 0; i++) {
		item = edge_item(b, &b->edges[order[i]]);
		r = f(arg, &item);
	}
	free(order);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/merge.h"

#include <errno.h>
#include <stdlib.h>

/* Limit for the decoded dictionaries of one chunk. */
#define SOURCE_ARENA_MAX ((size_t)256 << 20)

/* An input and where it stands. */
struct source {
	const struct db_kind *kind;
	const struct merge_input *input;
	uint32_t next_entry;
	struct buf whole, raw;
	struct arena *arena;
	bool in_chunk;
	struct kind_chunk chunk; /* its item: where it stands */
};

/* A heap of the sources that have a row, the least at [0]; equal rows by order of input. */
struct heap {
	struct source **at;
	size_t count;
};

/* Opens the next good chunk of the kind. 1, or 0 when there is none. */
static int source_next_chunk(struct source *s)
{
	const struct catalog *c = &s->input->pack->catalog;
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	const struct catalog_entry *e;
	uint32_t i = s->next_entry;

	while (i < c->entry_count &&
	       (c->entries[i].chunk.type != s->kind->type || !s->input->good[i]))
		i++;
	if (i == c->entry_count)
		return 0;
	e = &c->entries[i];
	s->next_entry = i + 1;
	arena_free(s->arena);
	s->arena = arena_new(SOURCE_ARENA_MAX);
	if (!s->arena)
		return -ENOMEM;
	int r = pack_read_chunk(s->input->pack, e, &s->whole, NULL, NULL);
	if (r == 0)
		r = chunk_open(s->whole.data + CHUNK_HEADER_SIZE, e->chunk.payload_size, &s->raw,
			       streams);
	if (r == 0)
		r = kind_chunk_open(s->kind, streams, e->chunk.rows, s->arena, &s->chunk);
	buf_free(&s->whole); /* one copy of the chunk is enough to hold */
	if (r < 0)
		return r;
	s->in_chunk = true;
	return 1;
}

/* Steps to the next row. 1, or 0 at the end. */
static int source_next(struct source *s)
{
	int r;

	for (;;) {
		if (!s->in_chunk) {
			r = source_next_chunk(s);
			if (r <= 0)
				return r;
		}
		r = kind_chunk_next(&s->chunk);
		if (r)
			return r;
		s->in_chunk = false;
	}
}

static bool source_less(const struct source *a, const struct source *b)
{
	int order = a->kind->compare(a->chunk.item, b->chunk.item);

	return order ? order < 0 : a->input < b->input;
}

static void heap_sink(struct heap *h, size_t i)
{
	for (;;) {
		size_t least = i, left = 2 * i + 1, right = left + 1;
		struct source *moved = h->at[i];

		if (left < h->count && source_less(h->at[left], h->at[least]))
			least = left;
		if (right < h->count && source_less(h->at[right], h->at[least]))
			least = right;
		if (least == i)
			return;
		h->at[i] = h->at[least];
		h->at[least] = moved;
		i = least;
	}
}

/* Steps the source at [0] and puts the heap in order again. */
static int heap_step(struct heap *h)
{
	int r = source_next(h->at[0]);

	if (r < 0)
		return r;
	if (r == 0)
		h->at[0] = h->at[--h->count];
	if (h->count)
		heap_sink(h, 0);
	return 0;
}

/* Steps a source that is not in the heap and puts it there if it has a row. */
static int heap_push(struct heap *h, struct source *s)
{
	size_t i = h->count;
	int r = source_next(s);

	if (r <= 0)
		return r;
	h->count++;
	for (; i && source_less(s, h->at[(i - 1) / 2]); i = (i - 1) / 2)
		h->at[i] = h->at[(i - 1) / 2];
	h->at[i] = s;
	return 0;
}

/*
 * Hands on the least row with its equals added. Its source is out of the heap meanwhile, so that it
 * stands still.
 */
static int heap_merge(struct heap *h, int (*f)(void *arg, const void *item), void *arg)
{
	struct source *first = h->at[0];
	int r = 0;

	h->at[0] = h->at[--h->count];
	if (h->count)
		heap_sink(h, 0);
	while (h->count && r == 0 &&
	       first->kind->compare(h->at[0]->chunk.item, first->chunk.item) == 0) {
		kind_add(first->kind, first->chunk.item, h->at[0]->chunk.item);
		r = heap_step(h);
	}
	if (r == 0)
		r = f(arg, first->chunk.item);
	return r ? r : heap_push(h, first);
}

int merge_each(const struct db_kind *kind, const struct merge_input *inputs, size_t count,
	       int (*f)(void *arg, const void *item), void *arg)
{
	struct source *sources = calloc(count + 1, sizeof(*sources));
	struct heap h = {.at = calloc(count + 1, sizeof(*h.at))};
	int r = sources && h.at ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && r == 0; i++) {
		sources[i].kind = kind;
		sources[i].input = &inputs[i];
		buf_init(&sources[i].whole, CHUNK_HEADER_SIZE + CHUNK_PAYLOAD_MAX);
		buf_init(&sources[i].raw, CHUNK_RAW_MAX + 1);
		r = heap_push(&h, &sources[i]);
	}
	while (h.count && r == 0)
		r = heap_merge(&h, f, arg);
	for (size_t i = 0; i < count && sources; i++) {
		buf_free(&sources[i].whole);
		buf_free(&sources[i].raw);
		arena_free(sources[i].arena);
	}
	free(sources);
	free(h.at);
	return r;
}

int merge_packs(const struct merge_input *inputs, size_t count, struct pack_writer *out)
{
	int r = 0;

	for (size_t i = 0; i < db_kind_count && r == 0; i++) {
		r = pack_begin(out, db_kinds[i]);
		if (r == 0)
			r = merge_each(db_kinds[i], inputs, count, pack_add, out);
	}
	return r;
}

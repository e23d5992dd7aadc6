/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/merge.h"

#include <errno.h>
#include <stdlib.h>
#include "util/num.h"

/* Decoded dictionaries of one chunk. */
#define SOURCE_ARENA_MAX ((size_t)256 << 20)

struct source;

/* What is merged: rows, edges, stacks or raw records. */
struct merge_kind {
	enum chunk_type type;
	int (*open)(struct source *s, const struct db_bytes streams[CHUNK_STREAMS_MAX],
		    uint32_t row_count);
	int (*next)(struct source *s); /* 1, 0 at the chunk's end, -EBADMSG */
	int (*compare)(const struct source *a, const struct source *b);
	void (*add)(struct source *to, const struct source *equal);
	int (*put)(struct pack_writer *out, const struct source *s);
};

/* An input and where it stands. */
struct source {
	const struct merge_kind *kind;
	const struct merge_input *input;
	uint32_t next_entry;
	struct buf whole, raw;
	struct arena *arena;
	bool in_chunk;
	union {
		struct {
			struct rows_chunk chunk;
			struct rows_cursor cursor;
			struct db_row at; /* points into chunk */
		} rows;
		struct {
			struct edges_chunk chunk;
			struct edges_cursor cursor;
			struct db_edge_item at;
		} edges;
		struct {
			struct stacks_chunk chunk;
			struct stacks_cursor cursor;
			struct db_stack_item at; /* its frames are the cursor's */
		} stacks;
		struct {
			struct raws_chunk chunk;
			struct raws_cursor cursor;
			struct db_raw_item at;
		} raws;
	};
};

static int rows_open(struct source *s, const struct db_bytes streams[CHUNK_STREAMS_MAX],
		     uint32_t row_count)
{
	int r = rows_chunk_open(streams, row_count, s->arena, &s->rows.chunk);

	if (r == 0)
		rows_cursor_start(&s->rows.cursor, &s->rows.chunk);
	return r;
}

static int rows_next(struct source *s)
{
	return rows_cursor_next(&s->rows.cursor, &s->rows.at);
}

static int rows_compare(const struct source *a, const struct source *b)
{
	return db_row_compare(&a->rows.at, &b->rows.at);
}

static void rows_add(struct source *to, const struct source *equal)
{
	to->rows.at.count = num_add_sat(to->rows.at.count, equal->rows.at.count);
}

static int rows_put(struct pack_writer *out, const struct source *s)
{
	return pack_add_row(out, &s->rows.at);
}

static int edges_open(struct source *s, const struct db_bytes streams[CHUNK_STREAMS_MAX],
		      uint32_t row_count)
{
	int r = edges_chunk_open(streams, row_count, s->arena, &s->edges.chunk);

	if (r == 0)
		edges_cursor_start(&s->edges.cursor, &s->edges.chunk);
	return r;
}

static int edges_next(struct source *s)
{
	return edges_cursor_next(&s->edges.cursor, &s->edges.at);
}

static int edges_compare(const struct source *a, const struct source *b)
{
	return db_edge_compare(&a->edges.at, &b->edges.at);
}

static void edges_add(struct source *to, const struct source *equal)
{
	to->edges.at.count = num_add_sat(to->edges.at.count, equal->edges.at.count);
	to->edges.at.windows = num_add_sat(to->edges.at.windows, equal->edges.at.windows);
}

static int edges_put(struct pack_writer *out, const struct source *s)
{
	return pack_add_edge(out, &s->edges.at);
}

static int stacks_open(struct source *s, const struct db_bytes streams[CHUNK_STREAMS_MAX],
		       uint32_t row_count)
{
	int r = stacks_chunk_open(streams, row_count, s->arena, &s->stacks.chunk);

	if (r == 0)
		stacks_cursor_start(&s->stacks.cursor, &s->stacks.chunk);
	return r;
}

static int stacks_next(struct source *s)
{
	return stacks_cursor_next(&s->stacks.cursor, &s->stacks.at);
}

static int stacks_compare(const struct source *a, const struct source *b)
{
	return db_stack_compare(&a->stacks.at, &b->stacks.at);
}

static void stacks_add(struct source *to, const struct source *equal)
{
	to->stacks.at.count = num_add_sat(to->stacks.at.count, equal->stacks.at.count);
}

static int stacks_put(struct pack_writer *out, const struct source *s)
{
	return pack_add_stack(out, &s->stacks.at);
}

static int raws_open(struct source *s, const struct db_bytes streams[CHUNK_STREAMS_MAX],
		     uint32_t row_count)
{
	int r = raws_chunk_open(streams, row_count, s->arena, &s->raws.chunk);

	if (r == 0)
		raws_cursor_start(&s->raws.cursor, &s->raws.chunk);
	return r;
}

static int raws_next(struct source *s)
{
	return raws_cursor_next(&s->raws.cursor, &s->raws.at);
}

static int raws_compare(const struct source *a, const struct source *b)
{
	return db_raw_compare(&a->raws.at, &b->raws.at);
}

static void raws_add(struct source *to, const struct source *equal)
{
	to->raws.at.count = num_add_sat(to->raws.at.count, equal->raws.at.count);
}

static int raws_put(struct pack_writer *out, const struct source *s)
{
	return pack_add_raw(out, &s->raws.at);
}

/* In the order in which a pack has them. */
static const struct merge_kind kinds[] = {
	{CHUNK_ROWS, rows_open, rows_next, rows_compare, rows_add, rows_put},
	{CHUNK_EDGES, edges_open, edges_next, edges_compare, edges_add, edges_put},
	{CHUNK_STACKS, stacks_open, stacks_next, stacks_compare, stacks_add, stacks_put},
	{CHUNK_RAWS, raws_open, raws_next, raws_compare, raws_add, raws_put},
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
	int r;

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
	r = pack_read_chunk(s->input->pack, e, &s->whole, NULL, NULL);
	if (r == 0)
		r = chunk_open(s->whole.data + CHUNK_HEADER_SIZE, e->chunk.payload_size, &s->raw,
			       streams);
	if (r == 0)
		r = s->kind->open(s, streams, e->chunk.rows);
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
		r = s->kind->next(s);
		if (r)
			return r;
		s->in_chunk = false;
	}
}

static bool source_less(const struct source *a, const struct source *b)
{
	int order = a->kind->compare(a, b);

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
 * Writes the least row with its equals added. Its source is out of the heap meanwhile, so that it
 * stands still.
 */
static int heap_merge(struct heap *h, struct pack_writer *out)
{
	struct source *first = h->at[0];
	int r = 0;

	h->at[0] = h->at[--h->count];
	if (h->count)
		heap_sink(h, 0);
	while (h->count && r == 0 && first->kind->compare(h->at[0], first) == 0) {
		first->kind->add(first, h->at[0]);
		r = heap_step(h);
	}
	if (r == 0)
		r = first->kind->put(out, first);
	return r ? r : heap_push(h, first);
}

static int merge(const struct merge_kind *kind, const struct merge_input *inputs, size_t count,
		 struct pack_writer *out)
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
		r = heap_merge(&h, out);
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

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && r == 0; i++)
		r = merge(&kinds[i], inputs, count, out);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "fleet/push_state.h"

/*
 * The kinds that have no table of their own go as chunks, which is how a pack has them: so do those
 * that this version does not know. A kind is sent again when the epoch has more of it; its chunks
 * of the latest version are then all that count.
 */
struct chunks {
	struct push *push;
	const struct db_kind *kind;
	void *builder;
	uint64_t sum;
	uint32_t number;
};

static int put_chunk(struct push *p, uint32_t kind, uint32_t number, const void *chunk, size_t size)
{
	struct buf *b = fleet_row(&p->rows, FLEET_CHUNKS);

	fleet_put_u16(b, p->day);
	buf_append_u64(b, p->epoch);
	buf_append_u32(b, kind);
	buf_append_u32(b, number);
	buf_append_string(b, chunk, size);
	buf_append_u64(b, p->stream.epoch.last_segment);
	p->result->chunks++;
	return fleet_row_end(&p->rows, FLEET_CHUNKS, p->diag);
}

static int close_chunk(struct chunks *c)
{
	struct buf streams[CHUNK_STREAMS_MAX], out;
	struct chunk_header h = {.type = c->kind->type, .samples = c->sum};
	int r;

	if (!c->builder)
		return 0;
	h.rows = ((struct kind_builder *)c->builder)->count;
	buf_init(&out, CHUNK_HEADER_SIZE + CHUNK_PAYLOAD_MAX);
	chunk_streams_init(streams, c->kind->stream_count);
	r = c->kind->encode(c->builder, streams);
	if (!r)
		r = chunk_append(&out, &h, streams, c->kind->stream_count, PACK_LEVEL_SEGMENT);
	if (r)
		diag_fail(c->push->diag, -r, "cannot make a chunk: %s", strerror(-r));
	else
		r = put_chunk(c->push, c->kind->type, c->number++, out.data, out.size);
	chunk_streams_free(streams, c->kind->stream_count);
	buf_free(&out);
	kind_builder_free(c->kind, c->builder);
	c->builder = NULL;
	c->sum = 0;
	return r;
}

static int add(void *arg, const void *item)
{
	struct chunks *c = arg;
	int r = 0;

	if (c->builder && !kind_builder_takes(c->kind, c->builder, item))
		r = close_chunk(c);
	if (!r && !c->builder) {
		c->builder = kind_builder_new(c->kind);
		r = c->builder ? 0 : diag_fail(c->push->diag, ENOMEM, "out of memory");
	}
	if (!r)
		r = c->kind->add(c->builder, item);
	if (r == 1)
		return 0; /* dropped on purpose */
	if (!r)
		c->sum += kind_count(c->kind, item);
	return r;
}

/* What an unknown kind's chunks hold cannot be added up: all of them, as they are. */
static int carry(struct push *p, const struct merge_input *input, uint32_t *number)
{
	const struct catalog *t = &input->pack->catalog;
	struct buf whole;
	int r = 0;

	buf_init(&whole, CHUNK_HEADER_SIZE + CHUNK_PAYLOAD_MAX);
	for (uint32_t i = 0; i < t->entry_count && !r; i++) {
		if (!kind_is_unknown(t->entries[i].chunk.type) || !input->good[i])
			continue;
		r = pack_read_chunk(input->pack, &t->entries[i], &whole, NULL, NULL);
		if (r)
			r = diag_fail(p->diag, -r, "cannot read a chunk: %s", strerror(-r));
		else
			r = put_chunk(p, t->entries[i].chunk.type, (*number)++, whole.data,
				      whole.size);
	}
	buf_free(&whole);
	return r;
}

static int found_one(void *arg, const void *item)
{
	(void)item;
	*(bool *)arg = true;
	return 1;
}

static int push_kind(struct push *p, const struct db_kind *kind)
{
	bool since = db_stream_has_since(&p->stream, p->pushed), more = false;
	struct chunks c = {.push = p, .kind = kind};
	int r = db_stream_each(&p->stream, kind, since ? p->pushed : 0, found_one, &more);

	if (r < 0 || !more)
		return r < 0 ? r : 0;
	r = db_stream_each(&p->stream, kind, 0, add, &c);
	if (!r)
		r = close_chunk(&c);
	if (c.builder)
		kind_builder_free(kind, c.builder);
	return r;
}

int push_chunks(struct push *p)
{
	uint32_t number = 0;
	int r = 0;

	for (size_t i = 0; i < db_kind_count && !r; i++)
		if (db_kinds[i] != &kind_rows && db_kinds[i] != &kind_stacks &&
		    db_kinds[i] != &kind_edges)
			r = push_kind(p, db_kinds[i]);
	for (size_t i = 0; i < p->stream.epoch.pack_count && !r; i++)
		r = carry(p, &p->stream.inputs[i], &number);
	return r;
}

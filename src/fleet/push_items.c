/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "fleet/push_state.h"

/* Stacks, by a hash of their frames, which go once; and edges. */

static int name_stack(struct push *p, const uint64_t *images, const uint64_t *offsets,
		      uint32_t count, const uint8_t stack[FLEET_STACK_ID])
{
	uint64_t key, seen;
	struct buf *b;
	int r;

	memcpy(&key, stack, sizeof(key));
	key = key == UINT64_MAX ? 0 : key;
	if (!p->seen_stacks)
		p->seen_stacks = map64_new(PUSH_NAMES_MAX);
	if (p->seen_stacks && !map64_get(p->seen_stacks, key, &seen))
		return 0;
	r = p->seen_stacks ? map64_put(p->seen_stacks, key, 1) : -ENOMEM;
	if (r)
		return diag_fail(p->diag, -r, "cannot hold the stacks of an epoch: %s",
				 strerror(-r));
	b = fleet_row(&p->rows, FLEET_FRAMES);
	buf_append(b, stack, FLEET_STACK_ID);
	buf_append_varint(b, count);
	for (uint32_t i = 0; i < count; i++)
		buf_append_u64(b, images[i]);
	buf_append_varint(b, count);
	for (uint32_t i = 0; i < count; i++)
		buf_append_u64(b, offsets[i]);
	fleet_put_u16(b, p->day);
	return fleet_row_end(&p->rows, FLEET_FRAMES, p->diag);
}

static int put_stack(void *arg, const void *item)
{
	struct push *p = arg;
	const struct db_stack_item *s = item;
	uint64_t images[DB_STACK_MAX], offsets[DB_STACK_MAX], event, subject;
	uint8_t stack[FLEET_STACK_ID];
	struct push_image *image;
	struct buf *b;
	int r = 0;

	if (!push_wants(p, push_key_stack(s)))
		return 0;
	for (uint32_t i = 0; i < s->frame_count && !r; i++) {
		r = push_image(p, s->frames[i].image, &s->frames[i].path, &image);
		images[i] = r ? 0 : image->number;
		offsets[i] = s->frames[i].offset;
	}
	if (!r)
		r = push_event(p, s->event, &event);
	if (!r)
		r = push_subject(p, &s->subject, &subject);
	if (r)
		return r;
	fleet_id_stack(images, offsets, s->frame_count, stack);
	r = name_stack(p, images, offsets, s->frame_count, stack);
	if (r)
		return r;
	b = fleet_row(&p->rows, FLEET_STACKS);
	fleet_put_u16(b, p->day);
	buf_append_u64(b, event);
	buf_append_u64(b, p->epoch);
	buf_append_u64(b, subject);
	buf_append(b, stack, FLEET_STACK_ID);
	buf_append_u64(b, s->count);
	buf_append_u64(b, p->stream.epoch.last_segment);
	p->result->stacks++;
	return fleet_row_end(&p->rows, FLEET_STACKS, p->diag);
}

static int put_edge(void *arg, const void *item)
{
	struct push *p = arg;
	const struct db_edge_item *e = item;
	struct push_image *from, *to;
	uint64_t event;
	struct buf *b;
	int r;

	if (!push_wants(p, push_key_edge(e)))
		return 0;
	r = push_image(p, e->image, &e->path, &from);
	if (!r)
		r = push_image(p, e->to_image, &e->to_path, &to);
	if (!r)
		r = push_event(p, e->event, &event);
	if (r)
		return r;
	b = fleet_row(&p->rows, FLEET_EDGES);
	fleet_put_u16(b, p->day);
	buf_append_u64(b, from->number);
	buf_append_u64(b, event);
	buf_append_u64(b, p->epoch);
	buf_append_u8(b, (uint8_t)e->evidence);
	buf_append_u64(b, e->from);
	buf_append_u64(b, to->number);
	buf_append_u64(b, e->to);
	buf_append_u64(b, e->count);
	buf_append_u64(b, e->windows);
	buf_append_u64(b, p->stream.epoch.last_segment);
	p->result->edges++;
	return fleet_row_end(&p->rows, FLEET_EDGES, p->diag);
}

static int push_kind(struct push *p, const struct db_kind *kind, uint64_t (*key)(const void *),
		     int (*put)(void *arg, const void *item))
{
	int r = push_note_changed(p, kind, key);

	if (r)
		return diag_fail(p->diag, -r, "cannot hold what changed: %s", strerror(-r));
	return db_stream_each(&p->stream, kind, 0, put, p);
}

int push_stacks(struct push *p)
{
	return push_kind(p, &kind_stacks, push_key_stack, put_stack);
}

int push_edges(struct push *p)
{
	return push_kind(p, &kind_edges, push_key_edge, put_edge);
}

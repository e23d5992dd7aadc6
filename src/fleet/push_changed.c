/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <xxhash.h>
#include "fleet/push_state.h"

/*
 * Which items of an epoch changed since the last push. Flushes after that one are in packs of their
 * own, unless they were compacted: the keys of their items are what changed, and of the sums over
 * the whole epoch only those of these keys are sent. Two keys of one hash cost a row that was not
 * needed.
 */
#define CHANGED_MAX (8u << 20)

struct note {
	struct push *push;
	uint64_t (*key)(const void *item);
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	return hash_u64(a * 0x9e3779b97f4a7c15u + b);
}

static uint64_t mix_image(uint64_t h, const struct image_id *id)
{
	return mix(h, XXH3_64bits(id, sizeof(*id)));
}

static uint64_t mix_event(uint64_t h, const struct db_event *event)
{
	return mix(h, fleet_id_event(event));
}

static uint64_t mix_bytes(uint64_t h, const struct db_bytes *b)
{
	return mix(h, XXH3_64bits(b->data, b->size));
}

/* A map64 takes all but the largest. */
static uint64_t end(uint64_t h)
{
	return h == UINT64_MAX ? 0 : h;
}

uint64_t push_key_row(const void *item)
{
	const struct db_row *row = item;

	return end(mix(mix_bytes(mix_event(mix_image(1, row->image), row->event), &row->subject),
		       row->offset));
}

uint64_t push_key_edge(const void *item)
{
	const struct db_edge_item *e = item;
	uint64_t h = mix_image(mix_event(mix_image(2, e->image), e->event), e->to_image);

	return end(mix(mix(mix(h, e->evidence), e->from), e->to));
}

uint64_t push_key_stack(const void *item)
{
	const struct db_stack_item *s = item;
	uint64_t h = mix_bytes(mix_event(3, s->event), &s->subject);

	for (uint32_t i = 0; i < s->frame_count; i++)
		h = mix(mix_image(h, s->frames[i].image), s->frames[i].offset);
	return end(h);
}

static int note(void *arg, const void *item)
{
	struct note *n = arg;

	return map64_put(n->push->changed, n->key(item), 1);
}

int push_note_changed(struct push *p, const struct db_kind *kind, uint64_t (*key)(const void *item))
{
	int r;

	map64_free(p->changed);
	p->changed = NULL;
	p->partly = p->pushed && db_stream_has_since(&p->stream, p->pushed);
	if (!p->partly)
		return 0;
	p->changed = map64_new(CHANGED_MAX);
	r = p->changed ? db_stream_each(&p->stream, kind, p->pushed, note, &(struct note){p, key})
		       : -ENOMEM;
	if (r == -ENOSPC) {
		/* More than is worth telling apart. */
		p->partly = false;
		r = 0;
	}
	return r;
}

bool push_wants(const struct push *p, uint64_t key)
{
	uint64_t value;

	return !p->partly || !map64_get(p->changed, key, &value);
}

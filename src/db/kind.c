/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/kind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/batch_rows.h"
#include "util/num.h"

const struct db_kind *kind_of(uint32_t type)
{
	for (size_t i = 0; i < db_kind_count; i++)
		if (db_kinds[i]->type == type)
			return db_kinds[i];
	return NULL;
}

bool kind_is_unknown(uint32_t type)
{
	return type != CHUNK_HEAD && type != CHUNK_INDEX && !kind_of(type);
}

static void add_at(void *to, const void *equal, size_t at)
{
	uint64_t *sum = (uint64_t *)((char *)to + at);

	*sum = num_add_sat(*sum, *(const uint64_t *)((const char *)equal + at));
}

uint64_t kind_count(const struct db_kind *kind, const void *item)
{
	return *(const uint64_t *)((const char *)item + kind->count_at);
}

void kind_add(const struct db_kind *kind, void *to, const void *equal)
{
	add_at(to, equal, kind->count_at);
	for (size_t i = 0; i < DB_KIND_MORE; i++)
		if (kind->more_at[i])
			add_at(to, equal, kind->more_at[i]);
	if (kind->merge)
		kind->merge(to, equal);
}

/* The argument of comparisons while keys are sorted: the kind, and room for two items. */
struct sorter {
	const struct db_kind *kind;
	const struct db_batch *b;
	void *rooms[2];
};

static int compare_made(const void *x, const void *y, void *arg)
{
	const struct sorter *s = arg;

	s->kind->make(s->b, *(const uint32_t *)x, s->rooms[0]);
	s->kind->make(s->b, *(const uint32_t *)y, s->rooms[1]);
	return s->kind->compare(s->rooms[0], s->rooms[1]);
}

static int each_sorted(struct sorter *s, uint32_t *order, uint32_t count,
		       int (*f)(void *arg, const void *item), void *arg)
{
	const struct db_kind *kind = s->kind;
	int r = 0;

	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	if (kind->compare_keys)
		qsort_r(order, count, sizeof(*order), kind->compare_keys, (void *)s->b);
	else
		qsort_r(order, count, sizeof(*order), compare_made, s);
	for (uint32_t i = 0; i < count && !r; i++) {
		kind->make(s->b, order[i], s->rooms[0]);
		r = f(arg, s->rooms[0]);
	}
	return r;
}

int kind_each(const struct db_kind *kind, const struct db_batch *b,
	      int (*f)(void *arg, const void *item), void *arg)
{
	uint32_t count = (uint32_t)db_batch_counted_size(&b->counted[kind->type]), *order;
	struct sorter s = {kind, b, {NULL, NULL}};
	int r = -ENOMEM;

	if (kind->each)
		return kind->each(b, f, arg);
	s.rooms[0] = malloc(kind->room_size);
	s.rooms[1] = malloc(kind->room_size);
	order = malloc((count + 1) * sizeof(*order));
	if (s.rooms[0] && s.rooms[1] && order)
		r = each_sorted(&s, order, count, f, arg);
	free(s.rooms[0]);
	free(s.rooms[1]);
	free(order);
	return r;
}

void *kind_builder_new(const struct db_kind *kind)
{
	struct kind_builder *b = calloc(1, kind->builder_size);

	if (!b)
		return NULL;
	int r = dict_builder_init(&b->names, kind->name_target, kind->dict_target);
	if (!r && kind->builder_start)
		r = kind->builder_start(b);
	if (r < 0) {
		kind_builder_free(kind, b);
		return NULL;
	}
	return b;
}

void kind_builder_free(const struct db_kind *kind, void *builder)
{
	struct kind_builder *b = builder;

	if (kind->builder_end)
		kind->builder_end(b);
	dict_builder_free(&b->names);
	free(b);
}

bool kind_builder_has_room(const struct db_kind *kind, const struct kind_builder *b,
			   const void *item)
{
	return b->count < kind->chunk_target && b->names.bytes <= kind->dict_target &&
	       (!b->count || !b->last || kind->compare(b->last, item) < 0);
}

bool kind_builder_takes(const struct db_kind *kind, const void *builder, const void *item)
{
	return kind->takes ? kind->takes(builder, item)
			   : kind_builder_has_room(kind, builder, item);
}

static int names_decode(const struct db_kind *kind, struct arena *a, struct kind_cursor *ret)
{
	struct cursor c = cursor_over(ret->streams[0].data, ret->streams[0].size);

	dict_images_decode(&c, a, &ret->images);
	if (kind->has_events)
		ret->events = dict_events_decode(&c, a, &ret->event_count);
	if (kind->has_subjects)
		ret->subjects = dict_subjects_decode(&c, a, &ret->subject_count);
	return c.error ? c.error : cursor_left(&c) ? -EBADMSG : 0;
}

int kind_chunk_open(const struct db_kind *kind, const struct db_bytes streams[CHUNK_STREAMS_MAX],
		    uint32_t count, struct arena *a, struct kind_chunk *ret)
{
	struct kind_cursor *c;
	void *item;

	/* A count takes half a byte at least, which bounds all that is allocated for items. */
	if (count > kind->chunk_max ||
	    (kind->counts_stream && streams[kind->counts_stream].size != (count + 1) / 2))
		return -EBADMSG;
	c = arena_alloc(a, kind->cursor_size);
	item = arena_alloc(a, kind->item_size);
	if (!c || !item)
		return -ENOMEM;
	c->count = count;
	memcpy(c->streams, streams, sizeof(c->streams));
	for (unsigned i = 0; i < CHUNK_STREAMS_MAX; i++)
		if (kind->stepped >> i & 1)
			c->at[i] = cursor_over(streams[i].data, streams[i].size);
	int r = names_decode(kind, a, c);
	if (!r && kind->open)
		r = kind->open(c, a);
	if (!r)
		*ret = (struct kind_chunk){kind, c, item};
	return r;
}

int kind_cursor_end(const struct kind_cursor *c)
{
	size_t left = 0;

	for (unsigned i = 0; i < CHUNK_STREAMS_MAX; i++)
		left += cursor_left(&c->at[i]);
	return left || kind_cursor_failed(c, CHUNK_STREAMS_MAX) ? -EBADMSG : 0;
}

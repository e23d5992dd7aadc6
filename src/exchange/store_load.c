/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/store.h"

#include <errno.h>
#include <string.h>

#define MEMORY_MAX ((size_t)16 << 30)
#define NAME_MAX_  1024
#define PATH_MAX_  4096
#define STRING_MAX 16384

static int refuse(struct diag *diag)
{
	return diag_fail(diag, EBADMSG, "the process that reads the file gave an invalid answer");
}

/* Room for a list that the bytes can hold: an entry takes least of them. */
static void *take_list(struct store *s, struct cursor *c, size_t least, size_t each, size_t *ret)
{
	uint64_t count = cursor_varint(c);
	void *list;

	if (count > cursor_left(c) / least + 1) {
		c->error = -EBADMSG;
		count = 0;
	}
	list = arena_alloc(s->memory, (size_t)count * each + 1);
	if (!list)
		c->error = -ENOMEM;
	*ret = c->error ? 0 : (size_t)count;
	return list;
}

static struct store_text take_text(struct cursor *c, size_t max)
{
	struct store_text t;

	t.at = cursor_string(c, max, &t.size);
	if (!t.at)
		t = (struct store_text){"", 0};
	return t;
}

/* A number of something that there is. */
static uint32_t take_index(struct cursor *c, size_t count)
{
	uint64_t v = cursor_varint(c);

	if (v >= count && !c->error)
		c->error = -EBADMSG;
	return c->error ? 0 : (uint32_t)v;
}

/* Terminated. */
static const char *take_name(struct store *s, struct cursor *c)
{
	uint32_t number = take_index(c, s->string_count);
	struct store_text t = c->error ? (struct store_text){"", 0} : s->strings[number];
	char *copy = arena_strndup(s->memory, t.at, t.size);

	if (!copy)
		c->error = -ENOMEM;
	return copy ? copy : "";
}

static void take_names(struct store *s, struct cursor *c)
{
	s->strings = take_list(s, c, 1, sizeof(*s->strings), &s->string_count);
	for (size_t i = 0; i < s->string_count; i++)
		s->strings[i] = take_text(c, STRING_MAX);
	s->events = take_list(s, c, 3, sizeof(*s->events), &s->event_count);
	for (size_t i = 0; i < s->event_count; i++) {
		s->events[i].name = take_text(c, NAME_MAX_);
		s->events[i].period = cursor_varint(c);
		s->events[i].flags = cursor_varint(c);
	}
	s->subjects = take_list(s, c, 1, sizeof(*s->subjects), &s->subject_count);
	for (size_t i = 0; i < s->subject_count; i++)
		s->subjects[i] = take_text(c, SUBJECT_MAX_BYTES);
	s->counters = take_list(s, c, 3, sizeof(*s->counters), &s->counter_count);
	for (size_t i = 0; i < s->counter_count; i++) {
		s->counters[i].event = take_index(c, s->event_count + 1) - 1;
		s->counters[i].name = take_name(s, c);
		s->counters[i].value = cursor_varint(c);
	}
	s->facts = take_list(s, c, 2, sizeof(*s->facts), &s->fact_count);
	for (size_t i = 0; i < s->fact_count; i++) {
		s->facts[i].name = take_name(s, c);
		s->facts[i].value = take_name(s, c);
	}
}

static void take_images(struct store *s, struct cursor *c)
{
	s->images = take_list(s, c, 5, sizeof(*s->images), &s->image_count);
	for (size_t i = 0; i < s->image_count; i++) {
		struct store_image *image = &s->images[i];

		image->kind = cursor_u8(c);
		if (image->kind < HARVEST_FILE || image->kind > HARVEST_KNOWN)
			c->error = c->error ? c->error : -EBADMSG;
		image->inode = cursor_varint(c);
		image->key = cursor_varint(c);
		image->build_id = take_text(c, IMAGE_ID_MAX);
		image->path = take_text(c, PATH_MAX_ - 1);
		if (image->kind == HARVEST_KNOWN &&
		    (image->key < IMAGE_BUILD_ID || image->key > IMAGE_SCRIPT))
			c->error = c->error ? c->error : -EBADMSG;
	}
	s->symbols = take_list(s, c, 2, sizeof(*s->symbols), &s->symbol_count);
	for (size_t i = 0; i < s->symbol_count; i++) {
		s->symbols[i].image = take_index(c, s->image_count);
		s->symbols[i].name = take_index(c, s->string_count);
	}
}

/* Whether a chain is of triples, and of names that there are. */
static bool is_chain(const struct store *s, struct store_text chain)
{
	struct cursor c = cursor_over(chain.at, chain.size);
	size_t count = 0;

	for (; cursor_left(&c) && !c.error; count++) {
		uint64_t function = cursor_varint(&c), file = cursor_varint(&c);

		if (function > s->string_count || file > s->string_count ||
		    cursor_varint(&c) > UINT32_MAX)
			return false;
	}
	return !c.error && count <= HARVEST_LINES_MAX;
}

static void take_lines(struct store *s, struct cursor *c)
{
	size_t count;
	struct store_text *chains = take_list(s, c, 1, sizeof(*chains), &count);

	for (size_t i = 0; i < count && !c->error; i++) {
		chains[i] = take_text(c, 64u << 10);
		if (!is_chain(s, chains[i]) && !c->error)
			c->error = -EBADMSG;
	}
	s->lines = take_list(s, c, 2, sizeof(*s->lines), &s->line_count);
	for (size_t i = 0; i < s->line_count; i++) {
		uint32_t chain;

		s->lines[i].place = take_index(c, s->place_count);
		chain = take_index(c, count);
		if (!c->error)
			s->lines[i].chain = chains[chain];
	}
}

static void take_places(struct store *s, struct cursor *c)
{
	s->places = take_list(s, c, 2, sizeof(*s->places), &s->place_count);
	for (size_t i = 0; i < s->place_count; i++) {
		s->places[i].image = take_index(c, s->image_count);
		s->places[i].offset = cursor_varint(c);
		if (!c->error)
			s->images[s->places[i].image].used = true;
	}
}

static void take_frames(struct store *s, struct cursor *c)
{
	s->frames = take_list(s, c, 2, sizeof(*s->frames), &s->frame_count);
	for (size_t i = 0; i < s->frame_count; i++) {
		uint64_t parent = cursor_varint(c);

		/* A caller comes before whom it calls, so that there are no circles. */
		if (parent != HARVEST_NONE && parent >= i && !c->error)
			c->error = -EBADMSG;
		s->frames[i].parent = (uint32_t)parent;
		s->frames[i].place = take_index(c, s->place_count);
	}
}

/* Pairs of (event, subject) and a number below count. */
static void take_counts(struct store *s, struct cursor *c, size_t count, struct store_list *ret)
{
	ret->at = take_list(s, c, 3, sizeof(*ret->at), &ret->count);
	for (size_t i = 0; i < ret->count && !c->error; i++) {
		uint64_t both = cursor_varint(c);

		ret->at[i].event = (uint32_t)(both >> 32);
		ret->at[i].second = (uint32_t)both;
		ret->at[i].third = take_index(c, count);
		ret->at[i].count = cursor_varint(c);
		if (ret->at[i].event >= s->event_count || ret->at[i].second >= s->subject_count)
			c->error = c->error ? c->error : -EBADMSG;
	}
}

static bool is_place_or_none(const struct store *s, uint32_t place)
{
	return place == HARVEST_NONE || place < s->place_count;
}

static void take_edges(struct store *s, struct cursor *c)
{
	struct store_list *e = &s->edges;

	e->at = take_list(s, c, 3, sizeof(*e->at), &e->count);
	for (size_t i = 0; i < e->count && !c->error; i++) {
		uint64_t both;

		e->at[i].event = take_index(c, s->event_count);
		both = cursor_varint(c);
		e->at[i].second = (uint32_t)(both >> 32);
		e->at[i].third = (uint32_t)both;
		e->at[i].count = cursor_varint(c);
		if (!is_place_or_none(s, e->at[i].second) || !is_place_or_none(s, e->at[i].third) ||
		    both == UINT64_MAX)
			c->error = c->error ? c->error : -EBADMSG;
	}
}

/* A number of 32 bits. */
static uint32_t take_u32(struct cursor *c)
{
	return take_index(c, (size_t)UINT32_MAX + 1);
}

static void take_raws(struct store *s, struct cursor *c)
{
	s->raws = take_list(s, c, 7, sizeof(*s->raws), &s->raw_count);
	for (size_t i = 0; i < s->raw_count && !c->error; i++) {
		struct harvest_raw *r = &s->raws[i];

		r->event = take_index(c, s->event_count);
		r->subject = take_index(c, s->subject_count);
		r->place = take_index(c, s->place_count);
		r->target = take_index(c, s->place_count + 1) - 1;
		r->form.kind = take_u32(c);
		r->form.caps = take_u32(c);
		r->form.mask = take_u32(c);
		if (db_raw_values(&r->form) > DB_RAW_VALUES_MAX) {
			c->error = -EBADMSG;
			return;
		}
		for (unsigned k = 0; k < db_raw_values(&r->form); k++)
			r->values[k] = cursor_varint(c);
	}
}

/* Looked at now and read again when they are stored: as structures they would take gigabytes. */
static void take_insts(struct store *s, struct cursor *c)
{
	uint64_t count = cursor_varint(c);
	struct harvest_inst inst;

	if (count > cursor_left(c))
		c->error = -EBADMSG;
	s->insts = *c;
	for (uint64_t i = 0; i < count && !c->error; i++) {
		harvest_take_inst(c, &inst);
		if (!c->error &&
		    (inst.event >= s->event_count || inst.subject >= s->subject_count ||
		     inst.place >= s->place_count ||
		     (inst.other_place != HARVEST_NONE && inst.other_place >= s->place_count)))
			c->error = -EBADMSG;
	}
	s->inst_count = c->error ? 0 : (size_t)count;
}

int store_load(struct store *s, const void *data, size_t size, struct diag *diag)
{
	struct cursor c = cursor_over(data, size);

	s->memory = arena_new(MEMORY_MAX);
	if (!s->memory)
		return diag_fail(diag, ENOMEM, "out of memory");
	s->start_ns = cursor_varint(&c);
	s->end_ns = cursor_varint(&c);
	s->duration_ns = cursor_varint(&c);
	take_names(s, &c);
	take_images(s, &c);
	take_places(s, &c);
	take_lines(s, &c);
	take_frames(s, &c);
	take_counts(s, &c, s->place_count, &s->samples);
	take_counts(s, &c, s->frame_count, &s->stacks);
	take_edges(s, &c);
	take_raws(s, &c);
	take_insts(s, &c);
	if (c.error == -ENOMEM)
		return diag_fail(diag, ENOMEM, "out of memory");
	return c.error || cursor_left(&c) ? refuse(diag) : 0;
}

const char *store_fact(const struct store *s, const char *name)
{
	for (size_t i = 0; i < s->fact_count; i++)
		if (!strcmp(s->facts[i].name, name))
			return s->facts[i].value;
	return NULL;
}

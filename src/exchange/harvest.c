/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/harvest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/query/event_mode.h"
#include "exchange/tuples.h"
#include "util/hash.h"
#include "util/text.h"

#define EVENTS_MAX     4096
#define IMAGES_MAX     (1u << 18)
#define SUBJECTS_MAX   (1u << 18)
#define NAMES_MAX      (1u << 21)
#define PLACES_MAX     (1u << 27)
#define NAME_MAX_      1024
#define PATH_MAX_      4096
#define RAW_BYTES_MAX  ((size_t)HARVEST_RAWS_MAX * 128) /* seven numbers and eight registers */
#define INST_BYTES_MAX ((size_t)HARVEST_INSTS_MAX * 112)
#define NAME_BYTES_MAX 16384 /* of a function; DB names are no longer */

struct event {
	uint64_t period;
	uint32_t flags;
};

struct harvest {
	struct intern *events, *images, *subjects, *names, *chains;
	struct event event[EVENTS_MAX];
	struct tuples *places;	 /* image, offset */
	struct tuples *frames;	 /* parent, place */
	struct tuples *samples;	 /* event << 32 | subject, place */
	struct tuples *stacks;	 /* event << 32 | subject, frame */
	struct tuples *edges;	 /* event, from << 32 | to */
	struct tuples *symbols;	 /* image, name */
	struct tuples *lines;	 /* place, chain */
	struct map64 *lined;	 /* places that have lines */
	struct tuples *counts;	 /* event, name; count */
	struct tuples *fact_set; /* name, text */
	struct buf raws;	 /* as they are saved */
	uint32_t raw_count;
	struct buf insts; /* the same */
	uint32_t inst_count;
	uint64_t start_ns, end_ns, duration_ns;
	int error; /* of a count or a fact, told by harvest_save */
};

/* As it is interned: the fixed part, then the path. */
struct image_key {
	uint64_t inode, key;
	uint8_t kind, build_id_size, build_id[IMAGE_ID_MAX];
	char path[PATH_MAX_];
};

struct harvest *harvest_new(void)
{
	struct harvest *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->events = intern_new(EVENTS_MAX);
	h->images = intern_new(IMAGES_MAX);
	h->subjects = intern_new(SUBJECTS_MAX);
	h->names = intern_new(NAMES_MAX);
	h->chains = intern_new(NAMES_MAX);
	h->places = tuples_new(PLACES_MAX);
	h->frames = tuples_new(PLACES_MAX);
	h->samples = tuples_new(PLACES_MAX);
	h->stacks = tuples_new(PLACES_MAX);
	h->edges = tuples_new(PLACES_MAX);
	h->symbols = tuples_new(NAMES_MAX);
	h->lines = tuples_new(PLACES_MAX);
	h->lined = map64_new(PLACES_MAX);
	h->counts = tuples_new(NAMES_MAX);
	h->fact_set = tuples_new(EVENTS_MAX);
	buf_init(&h->raws, RAW_BYTES_MAX);
	buf_init(&h->insts, INST_BYTES_MAX);
	if (h->events && h->images && h->subjects && h->names && h->chains && h->places &&
	    h->frames && h->samples && h->stacks && h->edges && h->symbols && h->lines &&
	    h->lined && h->counts && h->fact_set)
		return h;
	harvest_free(h);
	return NULL;
}

void harvest_free(struct harvest *h)
{
	if (!h)
		return;
	intern_free(h->events);
	intern_free(h->images);
	intern_free(h->subjects);
	intern_free(h->names);
	intern_free(h->chains);
	tuples_free(h->places);
	tuples_free(h->frames);
	tuples_free(h->samples);
	tuples_free(h->stacks);
	tuples_free(h->edges);
	tuples_free(h->symbols);
	tuples_free(h->lines);
	map64_free(h->lined);
	tuples_free(h->counts);
	tuples_free(h->fact_set);
	buf_free(&h->raws);
	buf_free(&h->insts);
	free(h);
}

int harvest_image(struct harvest *h, const struct harvest_image *image, uint32_t *ret)
{
	struct image_key key;
	size_t path_size = text_undeleted_size(image->path, image->path_size);

	if (path_size > sizeof(key.path) || image->build_id_size > IMAGE_ID_MAX)
		return -EINVAL;
	memset(&key, 0, offsetof(struct image_key, path));
	key.inode = image->inode;
	key.key = image->key;
	key.kind = (uint8_t)image->kind;
	key.build_id_size = image->build_id_size;
	if (image->build_id_size)
		memcpy(key.build_id, image->build_id, image->build_id_size);
	if (path_size)
		memcpy(key.path, image->path, path_size);
	return intern_add(h->images, &key, offsetof(struct image_key, path) + path_size, ret);
}

void harvest_image_get(const struct harvest *h, uint32_t number, struct harvest_image *ret)
{
	size_t size;
	const struct image_key *key = intern_get(h->images, number, &size);

	*ret = (struct harvest_image){
		.kind = key->kind,
		.inode = key->inode,
		.key = key->key,
		.build_id_size = key->build_id_size,
		.path = key->path,
		.path_size = size - offsetof(struct image_key, path),
	};
	memcpy(ret->build_id, key->build_id, key->build_id_size);
}

int harvest_event(struct harvest *h, const char *name, size_t size, uint32_t *ret)
{
	size = event_mode_clock_size(name, size);
	return size > NAME_MAX_ ? -EINVAL : intern_add(h->events, name, size, ret);
}

void harvest_event_set(struct harvest *h, uint32_t event, uint64_t period, uint32_t flags)
{
	h->event[event] = (struct event){period, flags};
}

int harvest_subject(struct harvest *h, const void *subject, size_t size, uint32_t *ret)
{
	return size > SUBJECT_MAX_BYTES ? -EINVAL : intern_add(h->subjects, subject, size, ret);
}

int harvest_place(struct harvest *h, uint32_t image, uint64_t offset, uint32_t *ret)
{
	return tuples_add(h->places, image, offset, 0, ret);
}

int harvest_frame(struct harvest *h, uint32_t parent, uint32_t place, uint32_t *ret)
{
	return tuples_add(h->frames, parent, place, 0, ret);
}

uint64_t harvest_symbol_start(const char *name, size_t size)
{
	uint64_t start = hash_bytes(name, size) >> 1 & ~(uint64_t)(HARVEST_SYMBOL_STEP - 1);

	return start ? start : HARVEST_SYMBOL_STEP;
}

int harvest_symbol(struct harvest *h, uint32_t image, const char *name, size_t size)
{
	uint32_t text;
	int r = size > NAME_BYTES_MAX ? -EINVAL : intern_add(h->names, name, size, &text);

	return r ? r : tuples_add(h->symbols, image, text, 0, NULL);
}

/* Numbers of names as they are saved: 0 is none. */
static int chain_name(struct harvest *h, const char *name, size_t size, struct buf *chain)
{
	uint32_t text = UINT32_MAX;
	int r = size ? intern_add(h->names, name, size < NAME_BYTES_MAX ? size : NAME_BYTES_MAX,
				  &text)
		     : 0;

	return r ? r : buf_append_varint(chain, (uint32_t)(text + 1));
}

int harvest_lines(struct harvest *h, uint32_t place, const struct harvest_line *lines, size_t count)
{
	struct buf chain;
	uint64_t known;
	uint32_t number;
	int r = 0;

	if (!map64_get(h->lined, place, &known))
		return 0;
	/* Of more, those around the others. */
	if (count > HARVEST_LINES_MAX) {
		lines += count - HARVEST_LINES_MAX;
		count = HARVEST_LINES_MAX;
	}
	buf_init(&chain, 64u << 10);
	for (size_t i = 0; i < count && !r; i++) {
		r = chain_name(h, lines[i].function, lines[i].function_size, &chain);
		if (!r)
			r = chain_name(h, lines[i].file, lines[i].file_size, &chain);
		buf_append_varint(&chain, lines[i].line);
	}
	if (!r)
		r = chain.error;
	if (!r)
		r = intern_add(h->chains, chain.data, chain.size, &number);
	if (!r)
		r = tuples_add(h->lines, place, number, 0, NULL);
	if (!r)
		r = map64_put(h->lined, place, 1);
	buf_free(&chain);
	return r;
}

static uint64_t pack(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

int harvest_sample(struct harvest *h, uint32_t event, uint32_t subject, uint32_t place,
		   uint64_t count)
{
	return tuples_add(h->samples, pack(event, subject), place, count, NULL);
}

int harvest_stack(struct harvest *h, uint32_t event, uint32_t subject, uint32_t frame,
		  uint64_t count)
{
	return tuples_add(h->stacks, pack(event, subject), frame, count, NULL);
}

int harvest_edge(struct harvest *h, uint32_t event, uint32_t from, uint32_t to, uint64_t count)
{
	return tuples_add(h->edges, event, pack(from, to), count, NULL);
}

/* They are nearly all different, so nothing is added up here. */
int harvest_raw(struct harvest *h, const struct harvest_raw *raw)
{
	struct buf *b = &h->raws;

	if (h->raw_count == HARVEST_RAWS_MAX)
		return -E2BIG;
	buf_append_varint(b, raw->event);
	buf_append_varint(b, raw->subject);
	buf_append_varint(b, raw->place);
	buf_append_varint(b, (uint32_t)(raw->target + 1));
	buf_append_varint(b, raw->form.kind);
	buf_append_varint(b, raw->form.caps);
	buf_append_varint(b, raw->form.mask);
	for (unsigned i = 0; i < db_raw_values(&raw->form); i++)
		buf_append_varint(b, raw->values[i]);
	h->raw_count += !b->error;
	return b->error;
}

static void append_record(struct buf *b, const struct inst_record *r)
{
	buf_append_varint(b, r->source);
	buf_append_varint(b, r->known);
	buf_append_varint(b, r->fields);
	buf_append_varint(b, r->events);
	for (uint32_t left = r->fields & ~1u; left; left &= left - 1)
		buf_append_varint(b, r->values[__builtin_ctz(left)]);
}

/* Neither are these: each is different in its time, and the batch adds up what is equal. */
int harvest_inst(struct harvest *h, const struct harvest_inst *inst)
{
	struct buf *b = &h->insts;

	if (h->inst_count == HARVEST_INSTS_MAX)
		return -E2BIG;
	buf_append_varint(b, inst->event);
	buf_append_varint(b, inst->subject);
	buf_append_varint(b, inst->place);
	append_record(b, &inst->record);
	buf_append_varint(b, inst->other_place);
	if (inst->other_place != HARVEST_NONE) {
		buf_append_varint(b, inst->distance);
		buf_append_varint(b, inst->cycles);
		append_record(b, &inst->other);
	}
	h->inst_count += !b->error;
	return b->error;
}

static uint32_t take_u32(struct cursor *c)
{
	uint64_t v = cursor_varint(c);

	if (v > UINT32_MAX)
		c->error = -EBADMSG;
	return (uint32_t)v;
}

static void take_record(struct cursor *c, struct inst_record *r)
{
	r->source = (uint8_t)take_u32(c);
	r->known = take_u32(c);
	r->fields = take_u32(c);
	r->events = take_u32(c);
	if (r->fields >> INST_FIELD_COUNT || !(r->fields & 1u << INST_EVENTS))
		c->error = -EBADMSG;
	for (uint32_t left = r->fields & ~1u; left && !c->error; left &= left - 1)
		r->values[__builtin_ctz(left)] = take_u32(c);
}

void harvest_take_inst(struct cursor *c, struct harvest_inst *ret)
{
	ret->event = take_u32(c);
	ret->subject = take_u32(c);
	ret->place = take_u32(c);
	take_record(c, &ret->record);
	ret->other_place = take_u32(c);
	if (c->error || ret->other_place == HARVEST_NONE)
		return;
	ret->distance = take_u32(c);
	ret->cycles = take_u32(c);
	take_record(c, &ret->other);
}

void harvest_count(struct harvest *h, uint32_t event, const char *name, uint64_t value)
{
	uint32_t text;
	int r = value ? intern_add(h->names, name, strlen(name), &text) : 0;

	if (!r && value)
		r = tuples_add(h->counts, event, text, value, NULL);
	h->error = h->error ? h->error : r;
}

void harvest_fact(struct harvest *h, const char *name, const char *value, size_t size)
{
	uint32_t text, said;
	int r = intern_add(h->names, name, strlen(name), &text);

	if (!r)
		r = intern_add(h->names, value, size < PATH_MAX_ ? size : PATH_MAX_, &said);
	if (!r)
		r = tuples_add(h->fact_set, text, said, 0, NULL);
	h->error = h->error ? h->error : r;
}

void harvest_interval(struct harvest *h, uint64_t start_ns, uint64_t end_ns)
{
	h->start_ns = start_ns;
	h->end_ns = end_ns;
}

void harvest_duration(struct harvest *h, uint64_t duration_ns)
{
	h->duration_ns = duration_ns;
}

static void save_string(struct buf *out, const struct intern *t, uint32_t number)
{
	size_t size;
	const char *s = intern_get(t, number, &size);

	buf_append_string(out, s, size);
}

static void save_names(const struct harvest *h, struct buf *out)
{
	buf_append_varint(out, intern_count(h->names));
	for (uint32_t i = 0; i < intern_count(h->names) && !out->error; i++)
		save_string(out, h->names, i);
	buf_append_varint(out, intern_count(h->events));
	for (uint32_t i = 0; i < intern_count(h->events); i++) {
		save_string(out, h->events, i);
		buf_append_varint(out, h->event[i].period);
		buf_append_varint(out, h->event[i].flags);
	}
	buf_append_varint(out, intern_count(h->subjects));
	for (uint32_t i = 0; i < intern_count(h->subjects); i++)
		save_string(out, h->subjects, i);
	buf_append_varint(out, tuples_count(h->counts));
	for (uint32_t i = 0; i < tuples_count(h->counts); i++) {
		const struct tuple *t = tuples_at(h->counts, i);

		buf_append_varint(out, t->a == HARVEST_NONE ? 0 : t->a + 1);
		buf_append_varint(out, t->b);
		buf_append_varint(out, t->count);
	}
}

static void save_images(const struct harvest *h, struct buf *out)
{
	buf_append_varint(out, intern_count(h->images));
	for (uint32_t i = 0; i < intern_count(h->images); i++) {
		size_t size, fixed = offsetof(struct image_key, path);
		const struct image_key *key = intern_get(h->images, i, &size);

		buf_append_u8(out, key->kind);
		buf_append_varint(out, key->inode);
		buf_append_varint(out, key->key);
		buf_append_string(out, (const char *)key->build_id, key->build_id_size);
		buf_append_string(out, key->path, size - fixed);
	}
}

/* The count too where there is one. */
static void save_tuples(const struct tuples *list, bool counted, struct buf *out)
{
	buf_append_varint(out, tuples_count(list));
	for (uint32_t i = 0; i < tuples_count(list) && !out->error; i++) {
		const struct tuple *t = tuples_at(list, i);

		buf_append_varint(out, t->a);
		buf_append_varint(out, t->b);
		if (counted)
			buf_append_varint(out, t->count);
	}
}

void harvest_save(const struct harvest *h, struct buf *out)
{
	buf_append_varint(out, h->start_ns);
	buf_append_varint(out, h->end_ns);
	buf_append_varint(out, h->duration_ns);
	save_names(h, out);
	save_tuples(h->fact_set, false, out);
	save_images(h, out);
	save_tuples(h->symbols, false, out);
	save_tuples(h->places, false, out);
	buf_append_varint(out, intern_count(h->chains));
	for (uint32_t i = 0; i < intern_count(h->chains) && !out->error; i++)
		save_string(out, h->chains, i);
	save_tuples(h->lines, false, out);
	save_tuples(h->frames, false, out);
	save_tuples(h->samples, true, out);
	save_tuples(h->stacks, true, out);
	save_tuples(h->edges, true, out);
	buf_append_varint(out, h->raw_count);
	buf_append(out, h->raws.data, h->raws.size);
	buf_append_varint(out, h->inst_count);
	buf_append(out, h->insts.data, h->insts.size);
	out->error = out->error ? out->error : h->error;
}

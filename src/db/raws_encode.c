/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/raws.h"

#include <stdlib.h>
#include <string.h>
#include "db/dict_build.h"
#include "util/num.h"

#define NO_IMAGE UINT32_MAX

struct build_raw {
	uint32_t image, event, subject, target_image; /* numbers of names; or NO_IMAGE */
	struct db_raw_form form;
	unsigned value_count;
	uint64_t offset, target, values[DB_RAW_VALUES_MAX], count;
};

struct raws_builder {
	struct build_raw *raws; /* room for RAWS_CHUNK_TARGET */
	uint32_t raw_count;
	uint64_t samples;
	struct db_raw_item last; /* points into names and last_event */
	struct dict_event last_event;
	struct dict_builder names;
};

static int builder_empty(struct raws_builder *b)
{
	b->raw_count = 0;
	b->samples = 0;
	/* Each may bring two images. */
	return dict_builder_empty(&b->names, 2 * RAWS_CHUNK_TARGET);
}

struct raws_builder *raws_builder_new(void)
{
	struct raws_builder *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	dict_builder_init(&b->names, RAWS_DICT_TARGET);
	b->raws = malloc(RAWS_CHUNK_TARGET * sizeof(*b->raws));
	if (builder_empty(b) < 0 || !b->raws) {
		raws_builder_free(b);
		return NULL;
	}
	return b;
}

void raws_builder_free(struct raws_builder *b)
{
	if (!b)
		return;
	dict_builder_free(&b->names);
	free(b->raws);
	free(b);
}

uint32_t raws_builder_count(const struct raws_builder *b)
{
	return b->raw_count;
}

bool raws_builder_takes(const struct raws_builder *b, const struct db_raw_item *r)
{
	if (b->raw_count == RAWS_CHUNK_TARGET || b->names.bytes > RAWS_DICT_TARGET)
		return false;
	return !b->raw_count || db_raw_compare(&b->last, r) < 0;
}

static int names_add(struct raws_builder *b, const struct db_raw_item *r, struct build_raw *ret)
{
	int error = dict_builder_image(&b->names, r->image, &r->path, &ret->image);

	ret->target_image = NO_IMAGE;
	if (!error && r->target_image)
		error = dict_builder_image(&b->names, r->target_image, &r->target_path,
					   &ret->target_image);
	if (!error)
		error = dict_builder_event(&b->names, r->event, &ret->event);
	if (!error)
		error = dict_builder_add(&b->names, b->names.subjects, r->subject.data,
					 r->subject.size, &ret->subject);
	return error;
}

/* The record itself goes when this returns: what it is compared by is the builder's. */
static void last_keep(struct raws_builder *b, const struct db_raw_item *r,
		      const struct build_raw *at)
{
	b->last = *r;
	b->last.image = intern_get(b->names.images, at->image, NULL);
	if (r->target_image)
		b->last.target_image = intern_get(b->names.images, at->target_image, NULL);
	b->last.subject.data = intern_get(b->names.subjects, at->subject, NULL);
	if (!b->raw_count || at->event != at[-1].event)
		dict_event_keep(&b->last_event, r->event);
	b->last.event = &b->last_event.event;
}

int raws_builder_add(struct raws_builder *b, const struct db_raw_item *r)
{
	struct build_raw *at = &b->raws[b->raw_count];
	int error = names_add(b, r, at);

	if (error)
		return error;
	at->form = r->form;
	at->value_count = db_raw_values(&r->form);
	at->offset = r->offset;
	at->target = r->target;
	at->count = r->count;
	memcpy(at->values, r->values, sizeof(at->values));
	last_keep(b, r, at);
	b->raw_count++;
	b->samples = num_add_sat(b->samples, r->count);
	return 0;
}

static bool begins_group(const struct build_raw *r)
{
	const struct build_raw *last = r - 1;

	return r->image != last->image || r->event != last->event ||
	       db_raw_form_compare(&r->form, &last->form) != 0;
}

static uint32_t group_end(const struct raws_builder *b, uint32_t first)
{
	uint32_t end = first + 1;

	while (end < b->raw_count && !begins_group(&b->raws[end]))
		end++;
	return end;
}

static void groups_encode(const struct raws_builder *b, struct buf *out)
{
	uint32_t groups = 0;

	for (uint32_t i = 0; i < b->raw_count; i = group_end(b, i))
		groups++;
	buf_append_varint(out, groups);
	for (uint32_t i = 0, end; i < b->raw_count; i = end) {
		const struct build_raw *r = &b->raws[i];

		end = group_end(b, i);
		buf_append_varint(out, r->image);
		buf_append_varint(out, r->event);
		buf_append_varint(out, r->form.kind);
		buf_append_varint(out, r->form.caps);
		buf_append_varint(out, r->form.mask);
		buf_append_varint(out, end - i);
	}
}

static void target_encode(const struct build_raw *r, struct buf *streams)
{
	bool is_own = r->target_image == r->image;
	uint64_t code = r->target_image == NO_IMAGE ? 0
			: is_own		    ? 1
						    : (uint64_t)r->target_image + 2;

	buf_append_varint(&streams[RAWS_TARGET_IMAGES], code);
	if (code)
		buf_append_varint(&streams[RAWS_TARGETS],
				  is_own ? num_zigzag(r->target - r->offset) : r->target);
}

static void places_encode(const struct raws_builder *b, struct buf *streams)
{
	struct dict_packed counts = {&streams[RAWS_COUNTS], .bits = 4};

	for (uint32_t i = 0; i < b->raw_count; i++) {
		const struct build_raw *r = &b->raws[i];
		uint64_t before = i && !begins_group(r) ? r[-1].offset : 0;

		buf_append_varint(&streams[RAWS_OFFSETS], r->offset - before);
		buf_append_varint(&streams[RAWS_SUBJECTS], r->subject);
		target_encode(r, streams);
		dict_packed_append(&counts, RAWS_COUNT_ESCAPE, &streams[RAWS_COUNTS_MORE],
				   r->count - 1);
	}
}

/* The registers that stand at a place of their records, a byte of all of them after the other. */
static void values_encode(const struct raws_builder *b, unsigned place, struct buf *out)
{
	uint8_t *to = buf_reserve(out, (size_t)b->raw_count * 8);

	for (unsigned byte = 0; to && byte < 8; byte++)
		for (uint32_t i = 0; i < b->raw_count; i++)
			if (place < b->raws[i].value_count)
				*to++ = (uint8_t)(b->raws[i].values[place] >> 8 * byte);
	if (to)
		out->size = (size_t)(to - out->data);
}

int raws_builder_finish(struct raws_builder *b, int zstd_level, struct buf *out,
			struct chunk_header *ret)
{
	struct chunk_header h = {CHUNK_RAWS, .rows = b->raw_count, .samples = b->samples};
	struct buf streams[RAWS_STREAMS];
	int r, emptied;

	chunk_streams_init(streams, RAWS_STREAMS);
	dict_builder_encode_images(&b->names, &streams[RAWS_DICT]);
	dict_encode(&streams[RAWS_DICT], b->names.events);
	dict_strings_encode(&streams[RAWS_DICT], b->names.subjects);
	groups_encode(b, &streams[RAWS_GROUPS]);
	places_encode(b, streams);
	for (unsigned i = 0; i < DB_RAW_VALUES_MAX; i++)
		values_encode(b, i, &streams[RAWS_VALUES + i]);
	r = chunk_append(out, &h, streams, RAWS_STREAMS, zstd_level);
	chunk_streams_free(streams, RAWS_STREAMS);
	emptied = builder_empty(b);
	if (r < 0 || emptied < 0)
		return r < 0 ? r : emptied;
	*ret = h;
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "db/instsamples.h"
#include "db/kind.h"
#include "db/paths.h"
#include "db/touches.h"
#include "fleet/fetch_state.h"

/* The kinds that have no table of their own: chunks as a pack has them, whose items are added up
 * here. They name their images, events and subjects themselves. */
#define DECODE_MAX ((size_t)256 << 20)

static int batch_image(struct fetch *f, const struct image_id *id, const struct db_bytes *path,
		       uint32_t *ret)
{
	/* Its code and lines are needed too. */
	int r = fleet_names_want(&f->names, FLEET_NAME_IMAGE, fleet_id_image(id), 0);

	return r ? r : db_batch_image(f->batch, id, path->data, path->size, ret);
}

static int add_touch(struct fetch *f, const void *item)
{
	const struct db_touch_item *t = item;
	uint32_t image;
	int r = batch_image(f, t->image, &t->path, &image);

	return r ? r : db_batch_touch(f->batch, image, t->load, t->place, t->count);
}

static int add_raw(struct fetch *f, const void *item)
{
	const struct db_raw_item *t = item;
	struct db_raw raw = {.form = t->form,
			     .offset = t->offset,
			     .target = t->target,
			     .target_image = DB_RAW_NO_TARGET};
	int r = batch_image(f, t->image, &t->path, &raw.image);

	if (!r && t->target_image)
		r = batch_image(f, t->target_image, &t->target_path, &raw.target_image);
	if (!r)
		r = db_batch_event(f->batch, t->event, &raw.event);
	if (!r)
		r = db_batch_subject(f->batch, t->subject.data, t->subject.size, &raw.subject);
	memcpy(raw.values, t->values, sizeof(raw.values));
	return r ? r : db_batch_raw(f->batch, &raw, t->count);
}

static int add_inst(struct fetch *f, const void *item)
{
	const struct db_inst_item *t = item;
	struct db_inst inst = {.form = t->form,
			       .offset = t->offset,
			       .other = t->other,
			       .other_image = DB_INST_NO_OTHER};
	int r = batch_image(f, t->image, &t->path, &inst.image);

	if (!r && t->other_image)
		r = batch_image(f, t->other_image, &t->other_path, &inst.other_image);
	if (!r)
		r = db_batch_event(f->batch, t->event, &inst.event);
	if (!r)
		r = db_batch_subject(f->batch, t->subject.data, t->subject.size, &inst.subject);
	memcpy(inst.values, t->values, sizeof(inst.values));
	return r ? r : db_batch_inst(f->batch, &inst, t->count);
}

static int add_path(struct fetch *f, const void *item)
{
	const struct db_path_item *t = item;
	struct db_path path = {.function = t->function,
			       .blocks = t->blocks,
			       .block_count = t->block_count,
			       .end = t->end,
			       .to = t->to};
	struct db_path_sums sums = {t->count, t->timed, t->time_ns};
	int r = batch_image(f, t->image, &t->image_path, &path.image);

	if (!r)
		r = db_batch_event(f->batch, t->event, &path.event);
	return r ? r : db_batch_path(f->batch, &path, &sums);
}

static const struct {
	const struct db_kind *kind;
	int (*add)(struct fetch *f, const void *item);
} adders[] = {
	{&kind_touches, add_touch},
	{&kind_raws, add_raw},
	{&kind_instsamples, add_inst},
	{&kind_paths, add_path},
};

/* Adds the items of a chunk up to the first that is not sound: -EBADMSG. */
static int add_items(struct fetch *f, struct kind_chunk *chunk,
		     int (*add)(struct fetch *f, const void *item))
{
	int r;

	while ((r = kind_chunk_next(chunk)) == 1) {
		r = add(f, chunk->item);
		if (r == -ENOSPC) {
			r = fetch_flush(f);
			if (!r)
				r = add(f, chunk->item);
		}
		if (r)
			return r == -EINVAL ? -EBADMSG : r;
	}
	return r;
}

static int decode(struct fetch *f, const uint8_t *bytes, size_t size)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	struct chunk_header h;
	struct kind_chunk chunk;
	struct arena *arena;
	struct buf raw;
	int r = -ENOTSUP;

	if (size < CHUNK_HEADER_SIZE || chunk_header_decode(bytes, &h) ||
	    h.payload_size != size - CHUNK_HEADER_SIZE ||
	    chunk_sum(bytes + CHUNK_HEADER_SIZE, h.payload_size) != h.payload_sum)
		return -EBADMSG;
	arena = arena_new(DECODE_MAX);
	if (!arena)
		return -ENOMEM;
	buf_init(&raw, CHUNK_RAW_MAX + 1);
	for (size_t i = 0; i < sizeof(adders) / sizeof(adders[0]); i++) {
		if (adders[i].kind->type != h.type)
			continue;
		r = chunk_open(bytes + CHUNK_HEADER_SIZE, h.payload_size, &raw, streams);
		if (!r)
			r = kind_chunk_open(adders[i].kind, streams, h.rows, arena, &chunk);
		if (!r)
			r = add_items(f, &chunk, adders[i].add);
	}
	buf_free(&raw);
	arena_free(arena);
	return r;
}

static int take(struct fetch *f, struct cursor *c)
{
	size_t size = 0;
	const char *bytes = cursor_string(c, CHUNK_HEADER_SIZE + CHUNK_PAYLOAD_MAX, &size);
	int r;

	if (c->error)
		return fetch_fail_row(f);
	r = decode(f, (const uint8_t *)bytes, size);
	if (r == -EBADMSG || r == -ENOTSUP) {
		f->result->chunks_refused++;
		return 0;
	}
	return fetch_added(f, r);
}

int fetch_chunks(struct fetch *f)
{
	struct buf where, answer;
	struct cursor c;
	int r;

	buf_init(&where, 3 * f->scope.where.size + 256);
	buf_init(&answer, FETCH_ANSWER_MAX);
	buf_append(&where, f->scope.where.data, f->scope.where.size);
	buf_printf(&where,
		   " AND (epoch, kind, ver) GLOBAL IN (SELECT epoch, kind, max(ver) FROM chunks "
		   "WHERE");
	buf_append(&where, f->scope.where.data, f->scope.where.size);
	r = where.error ? diag_fail(f->diag, ENOMEM, "out of memory")
			: fetch_ask(f, "SELECT chunk FROM chunks FINAL WHERE", &where,
				    " GROUP BY epoch, kind) FORMAT RowBinary", &answer);
	for (c = cursor_over(answer.data, answer.size); !r && cursor_left(&c);)
		r = take(f, &c);
	/* Of images that are in chunks alone. */
	if (!r)
		r = fleet_names_ask(&f->names, f->server, f->diag);
	buf_free(&where);
	buf_free(&answer);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "image/lines_new.h"
#include "util/array.h"
#include "util/hash.h"

#define LINES_MAGIC 0x324e4c43u /* "CLN2" */

struct lines_span {
	uint32_t at, count; /* in raw and frames */
};

struct image_lines {
	struct lines_span *spans; /* one an address */
	size_t count;
	struct lines_frame *raw; /* with numbers of strings; the form that is saved */
	size_t frame_count, room;
	struct image_frame *frames; /* with pointers; made by image_lines_finish */
	struct intern *strings;
};

int image_lines_new(size_t count, struct image_lines **ret)
{
	struct image_lines *l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->count = count;
	l->spans = calloc(count + 1, sizeof(*l->spans));
	l->strings = intern_new(LINES_STRINGS_MAX);
	uint32_t none;
	if (!l->spans || !l->strings || intern_add(l->strings, "", 0, &none) < 0) {
		image_lines_free(l);
		return -ENOMEM;
	}
	*ret = l;
	return 0;
}

void image_lines_free(struct image_lines *l)
{
	if (!l)
		return;
	free(l->spans);
	free(l->raw);
	free(l->frames);
	intern_free(l->strings);
	free(l);
}

uint32_t image_lines_string(struct image_lines *l, const char *s)
{
	uint32_t index;
	size_t size = s ? strnlen(s, LINES_STRING_MAX + 1) : 0;
	if (size == 0 || size > LINES_STRING_MAX || intern_add(l->strings, s, size, &index) < 0)
		return 0;
	return index;
}

int image_lines_set(struct image_lines *l, size_t i, const struct lines_frame *frames, size_t n)
{
	if (n > LINES_FRAMES_MAX)
		n = LINES_FRAMES_MAX;
	if (l->frame_count > UINT32_MAX / 2)
		return -EFBIG;
	while (l->room < l->frame_count + n)
		if (array_grow(&l->raw, l->room, &l->room, sizeof(*l->raw), 64))
			return -ENOMEM;
	l->spans[i] = (struct lines_span){(uint32_t)l->frame_count, (uint32_t)n};
	if (n)
		memcpy(l->raw + l->frame_count, frames, n * sizeof(*frames));
	l->frame_count += n;
	return 0;
}

int image_lines_finish(struct image_lines *l)
{
	l->frames = calloc(l->frame_count + 1, sizeof(*l->frames));
	if (!l->frames)
		return -ENOMEM;
	for (size_t i = 0; i < l->frame_count; i++) {
		const struct lines_frame *raw = &l->raw[i];
		size_t size;
		if (raw->function)
			l->frames[i].function = intern_get(l->strings, raw->function, &size);
		if (raw->file)
			l->frames[i].file = intern_get(l->strings, raw->file, &size);
		if (raw->linkage)
			l->frames[i].linkage = intern_get(l->strings, raw->linkage, &size);
		l->frames[i].line = raw->line;
		l->frames[i].start_line = raw->start_line;
		l->frames[i].discriminator = raw->discriminator;
	}
	return 0;
}

size_t image_lines_frames(const struct image_lines *l, size_t i, const struct image_frame **ret)
{
	if (i >= l->count)
		return 0;
	*ret = l->frames + l->spans[i].at;
	return l->spans[i].count;
}

/* magic; strings; for each address its number of frames, and each one's strings and numbers. */
int image_lines_save(const struct image_lines *l, struct buf *out)
{
	buf_append_u32(out, LINES_MAGIC);
	buf_append_varint(out, l->count);
	uint32_t strings = intern_count(l->strings);
	buf_append_varint(out, strings - 1);
	for (uint32_t i = 1; i < strings && !out->error; i++) {
		size_t size;
		const void *s = intern_get(l->strings, i, &size);
		buf_append_string(out, s, size);
	}
	for (size_t i = 0; i < l->count && !out->error; i++) {
		const struct lines_span *span = &l->spans[i];
		buf_append_varint(out, span->count);
		for (uint32_t k = span->at; k < span->at + span->count; k++) {
			const struct lines_frame *f = &l->raw[k];
			buf_append_varint(out, f->function);
			buf_append_varint(out, f->file);
			buf_append_varint(out, f->linkage);
			buf_append_varint(out, f->line);
			buf_append_varint(out, f->start_line);
			buf_append_varint(out, f->discriminator);
		}
	}
	return out->error;
}

/* Names as numbers of those loaded: a hostile sender may repeat one, so numbers may differ. */
static int load_strings(struct image_lines *l, struct cursor *c, uint32_t *map, size_t count)
{
	for (size_t i = 1; i <= count; i++) {
		size_t size;
		const char *s = cursor_string(c, LINES_STRING_MAX, &size);
		if (!s || size == 0 || memchr(s, 0, size))
			return -EBADMSG;
		int err = intern_add(l->strings, s, size, &map[i]);
		if (err < 0)
			return err;
	}
	return 0;
}

static int load_frame(struct cursor *c, const uint32_t *map, size_t strings,
		      struct lines_frame *ret)
{
	uint64_t v[6];
	for (size_t i = 0; i < 6; i++) {
		v[i] = cursor_varint(c);
		if (c->error || v[i] > (i < 3 ? strings : UINT32_MAX))
			return -EBADMSG;
	}
	*ret = (struct lines_frame){.function = map[v[0]],
				    .file = map[v[1]],
				    .linkage = map[v[2]],
				    .line = (uint32_t)v[3],
				    .start_line = (uint32_t)v[4],
				    .discriminator = (uint32_t)v[5]};
	return 0;
}

static int load_frames(struct image_lines *l, struct cursor *c, const uint32_t *map, size_t strings)
{
	struct lines_frame frames[LINES_FRAMES_MAX];
	int err = 0;
	for (size_t i = 0; i < l->count && !err; i++) {
		uint64_t n = cursor_varint(c);
		if (c->error || n > LINES_FRAMES_MAX)
			return -EBADMSG;
		for (uint64_t k = 0; k < n && !err; k++)
			err = load_frame(c, map, strings, &frames[k]);
		if (err)
			return err;
		err = image_lines_set(l, i, frames, n);
	}
	if (!err && cursor_left(c))
		return -EBADMSG;
	return err;
}

int image_lines_load(const void *data, size_t size, struct image_lines **ret, struct diag *diag)
{
	struct cursor c = cursor_over(data, size);
	struct image_lines *l = NULL;
	uint32_t *map = NULL;
	int err = -EBADMSG;
	uint32_t magic = cursor_u32(&c);
	uint64_t count = cursor_varint(&c), strings = cursor_varint(&c);
	if (c.error || magic != LINES_MAGIC || count > cursor_left(&c) ||
	    strings > cursor_left(&c) / 2 || strings >= LINES_STRINGS_MAX)
		goto out;
	map = calloc(strings + 1, sizeof(*map));
	err = map ? image_lines_new(count, &l) : -ENOMEM;
	if (!err)
		err = load_strings(l, &c, map, strings);
	if (!err)
		err = load_frames(l, &c, map, strings);
	if (!err)
		err = image_lines_finish(l);
out:
	free(map);
	if (!err) {
		*ret = l;
		return 0;
	}
	image_lines_free(l);
	if (err == -ENOMEM)
		return diag_fail(diag, ENOMEM, "out of memory while loading line numbers");
	return diag_fail(diag, EBADMSG, "damaged line numbers");
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "image/lines_new.h"
#include "util/array.h"
#include "util/hash.h"

#define LINES_MAGIC 0x334e4c43u /* "CLN3" */

/* What a frame consists of, of which the first are strings. */
#define FRAME_NUMBERS (sizeof(struct lines_frame) / sizeof(uint32_t))
#define FRAME_STRINGS 3

struct lines_span {
	uint32_t at, count; /* in raw and frames */
};

/* Of what text a file is, by the number of its path. */
struct lines_text {
	bool known, several;
	uint8_t md5[IMAGE_LINES_MD5_BYTES];
};

struct image_lines {
	struct lines_span *spans; /* one an address */
	size_t count;
	struct lines_frame *raw; /* with numbers of strings; the form that is saved */
	size_t frame_count, room;
	struct image_frame *frames; /* with pointers; made by image_lines_finish */
	struct intern *strings;
	struct lines_text *texts;
	size_t text_count, text_room;
	uint64_t built_ns;
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
	free(l->texts);
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

static int add_text(struct image_lines *l, uint32_t file, const uint8_t *md5)
{
	while (l->text_count <= file) {
		if (array_grow(&l->texts, l->text_count, &l->text_room, sizeof(*l->texts), 64))
			return -ENOMEM;
		l->texts[l->text_count++] = (struct lines_text){0};
	}
	struct lines_text *text = &l->texts[file];
	text->several |= text->known && memcmp(text->md5, md5, sizeof(text->md5)) != 0;
	text->known = true;
	memcpy(text->md5, md5, sizeof(text->md5));
	return 0;
}

uint32_t image_lines_file(struct image_lines *l, const char *path,
			  const uint8_t md5[IMAGE_LINES_MD5_BYTES])
{
	uint32_t file = image_lines_string(l, path);

	return !file || !md5 || add_text(l, file, md5) == 0 ? file : 0;
}

static const uint8_t *md5_of(const struct image_lines *l, uint32_t file)
{
	bool known = file < l->text_count && l->texts[file].known && !l->texts[file].several;

	return known ? l->texts[file].md5 : NULL;
}

void image_lines_set_built(struct image_lines *l, uint64_t built_ns)
{
	l->built_ns = built_ns;
	for (size_t i = 0; l->frames && i < l->frame_count; i++)
		l->frames[i].built_ns = built_ns;
}

uint64_t image_lines_built(const struct image_lines *l)
{
	return l->built_ns;
}

size_t image_lines_count(const struct image_lines *l)
{
	return l->count;
}

bool image_lines_knows(const struct image_lines *l, size_t i)
{
	return l->spans[i].count != 0;
}

size_t image_lines_all_frames(const struct image_lines *l)
{
	return l->frame_count;
}

void image_lines_cut(struct image_lines *l, size_t count)
{
	l->count = count;
}

static const char *string_of(const struct image_lines *l, uint32_t number)
{
	size_t size;

	return number ? intern_get(l->strings, number, &size) : NULL;
}

int image_lines_copy(struct image_lines *l, size_t i, const struct image_lines *from, size_t k)
{
	struct lines_frame frames[LINES_FRAMES_MAX];
	const struct lines_span *span = &from->spans[k];

	for (uint32_t n = 0; n < span->count; n++) {
		const struct lines_frame *f = &from->raw[span->at + n];

		frames[n] = *f;
		frames[n].function = image_lines_string(l, string_of(from, f->function));
		frames[n].linkage = image_lines_string(l, string_of(from, f->linkage));
		frames[n].file =
			image_lines_file(l, string_of(from, f->file), md5_of(from, f->file));
	}
	return image_lines_set(l, i, frames, span->count);
}

static bool same_string(const struct image_lines *l, uint32_t a, const struct image_lines *from,
			uint32_t b)
{
	const char *x = string_of(l, a), *y = string_of(from, b);

	return x && y ? strcmp(x, y) == 0 : x == y;
}

bool image_lines_same(const struct image_lines *l, size_t i, const struct image_lines *from,
		      size_t k)
{
	const struct lines_span *a = &l->spans[i], *b = &from->spans[k];
	bool same = a->count == b->count;

	for (uint32_t n = 0; n < a->count && same; n++) {
		const struct lines_frame *x = &l->raw[a->at + n], *y = &from->raw[b->at + n];

		same = x->line == y->line && x->start_line == y->start_line &&
		       x->discriminator == y->discriminator &&
		       same_string(l, x->function, from, y->function) &&
		       same_string(l, x->file, from, y->file) &&
		       same_string(l, x->linkage, from, y->linkage);
	}
	return same;
}

int image_lines_set(struct image_lines *l, size_t i, const struct lines_frame *frames, size_t n)
{
	if (n > LINES_FRAMES_MAX)
		n = LINES_FRAMES_MAX;
	if (l->frame_count > LINES_ALL_FRAMES_MAX)
		return -EFBIG;
	if (array_reserve(&l->raw, l->frame_count + n, &l->room, sizeof(*l->raw), 64))
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

		l->frames[i] = (struct image_frame){.function = string_of(l, raw->function),
						    .file = string_of(l, raw->file),
						    .linkage = string_of(l, raw->linkage),
						    .line = raw->line,
						    .start_line = raw->start_line,
						    .discriminator = raw->discriminator,
						    .file_md5 = md5_of(l, raw->file),
						    .built_ns = l->built_ns};
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

/* Outer frames are those of the address before more often than not. */
static uint32_t shared_frames(const struct image_lines *l, const struct lines_span *a,
			      const struct lines_span *b)
{
	uint32_t n = 0;

	while (n < a->count && n < b->count &&
	       memcmp(&l->raw[a->at + a->count - n - 1], &l->raw[b->at + b->count - n - 1],
		      sizeof(*l->raw)) == 0)
		n++;
	return n;
}

static void save_texts(const struct image_lines *l, struct buf *out)
{
	size_t count = 0;

	for (uint32_t i = 0; i < l->text_count; i++)
		count += md5_of(l, i) != NULL;
	buf_append_varint(out, count);
	for (uint32_t i = 0; i < l->text_count; i++) {
		if (!md5_of(l, i))
			continue;
		buf_append_varint(out, i);
		buf_append(out, md5_of(l, i), IMAGE_LINES_MD5_BYTES);
	}
}

/* magic; strings; texts; for each address its number of frames, those at the end that the address
 * before has too, and of each other its strings and numbers. */
int image_lines_save(const struct image_lines *l, struct buf *out)
{
	const struct lines_span none = {0}, *before = &none;

	buf_append_u32(out, LINES_MAGIC);
	buf_append_varint(out, l->count);
	buf_append_varint(out, l->built_ns);
	uint32_t strings = intern_count(l->strings);
	buf_append_varint(out, strings - 1);
	for (uint32_t i = 1; i < strings && !out->error; i++) {
		size_t size;
		const void *s = intern_get(l->strings, i, &size);

		buf_append_string(out, s, size);
	}
	save_texts(l, out);
	for (size_t i = 0; i < l->count && !out->error; i++) {
		const struct lines_span *span = &l->spans[i];
		uint32_t shared = shared_frames(l, before, span);

		before = span;
		buf_append_varint(out, span->count);
		buf_append_varint(out, shared);
		for (uint32_t k = span->at; k < span->at + span->count - shared; k++) {
			uint32_t numbers[FRAME_NUMBERS];

			memcpy(numbers, &l->raw[k], sizeof(numbers));
			for (size_t n = 0; n < FRAME_NUMBERS; n++)
				buf_append_varint(out, numbers[n]);
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
		int r = intern_add(l->strings, s, size, &map[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int load_texts(struct image_lines *l, struct cursor *c, const uint32_t *map, size_t strings)
{
	uint64_t count = cursor_varint(c);

	for (uint64_t i = 0; i < count; i++) {
		uint64_t file = cursor_varint(c);
		const uint8_t *md5 = cursor_bytes(c, IMAGE_LINES_MD5_BYTES);

		if (!md5 || file == 0 || file > strings)
			return -EBADMSG;
		int r = add_text(l, map[file], md5);
		if (r < 0)
			return r;
	}
	return c->error;
}

static int load_frame(struct cursor *c, const uint32_t *map, size_t strings,
		      struct lines_frame *ret)
{
	uint32_t numbers[FRAME_NUMBERS];

	for (size_t i = 0; i < FRAME_NUMBERS; i++) {
		uint64_t v = cursor_varint(c);

		if (c->error || v > (i < FRAME_STRINGS ? strings : UINT32_MAX))
			return -EBADMSG;
		numbers[i] = i < FRAME_STRINGS ? map[v] : (uint32_t)v;
	}
	memcpy(ret, numbers, sizeof(numbers));
	return 0;
}

static int load_frames(struct image_lines *l, struct cursor *c, const uint32_t *map, size_t strings)
{
	struct lines_frame rooms[2][LINES_FRAMES_MAX];
	uint64_t before = 0;
	int r = 0;

	for (size_t i = 0; i < l->count && !r; i++) {
		struct lines_frame *frames = rooms[i % 2], *last = rooms[1 - i % 2];
		uint64_t n = cursor_varint(c), shared = cursor_varint(c);

		if (c->error || n > LINES_FRAMES_MAX || shared > n || shared > before)
			return -EBADMSG;
		for (uint64_t k = 0; k < n - shared && !r; k++)
			r = load_frame(c, map, strings, &frames[k]);
		if (r)
			return r;
		if (shared)
			memcpy(frames + n - shared, last + before - shared,
			       shared * sizeof(*frames));
		before = n;
		r = image_lines_set(l, i, frames, n);
	}
	if (!r && cursor_left(c))
		return -EBADMSG;
	return r;
}

int image_lines_load_unfinished(const void *data, size_t size, struct image_lines **ret)
{
	struct cursor c = cursor_over(data, size);
	struct image_lines *l = NULL;
	uint32_t *map = NULL;
	int r = -EBADMSG;
	uint32_t magic = cursor_u32(&c);
	uint64_t count = cursor_varint(&c), built_ns = cursor_varint(&c);
	uint64_t strings = cursor_varint(&c);

	if (c.error || magic != LINES_MAGIC || count > cursor_left(&c) / 2 ||
	    strings > cursor_left(&c) / 2 || strings >= LINES_STRINGS_MAX)
		goto out;
	map = calloc(strings + 1, sizeof(*map));
	r = map ? image_lines_new(count, &l) : -ENOMEM;
	if (!r)
		r = load_strings(l, &c, map, strings);
	if (!r)
		r = load_texts(l, &c, map, strings);
	if (!r)
		r = load_frames(l, &c, map, strings);
	if (!r)
		l->built_ns = built_ns;
out:
	free(map);
	if (!r) {
		*ret = l;
		return 0;
	}
	image_lines_free(l);
	return r == -ENOMEM ? r : -EBADMSG;
}

int image_lines_load(const void *data, size_t size, struct image_lines **ret, struct diag *diag)
{
	struct image_lines *l = NULL;
	int r = image_lines_load_unfinished(data, size, &l);

	if (!r)
		r = image_lines_finish(l);
	if (!r) {
		*ret = l;
		return 0;
	}
	image_lines_free(l);
	if (r == -ENOMEM)
		return diag_fail(diag, ENOMEM, "out of memory while loading line numbers");
	return diag_fail(diag, EBADMSG, "damaged line numbers");
}

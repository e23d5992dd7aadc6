/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/dict.h"

#include <string.h>
#include "db/catalog.h"
#include "util/id_hash.h"

uint32_t dict_count_decode(struct cursor *c, uint64_t max)
{
	uint64_t count = cursor_varint(c);

	if (!c->error && (count > max || count > cursor_left(c)))
		c->error = -EBADMSG;
	return c->error ? 0 : (uint32_t)count;
}

void *dict_list_new(struct cursor *c, struct arena *a, uint32_t count, size_t size)
{
	void *list = c->error ? NULL : arena_alloc(a, (size_t)count * size + 1);

	if (!list && !c->error)
		c->error = -ENOMEM;
	return list;
}

void dict_images_decode(struct cursor *c, struct arena *a, struct dict_images *ret)
{
	const char *bytes;
	size_t size;

	ret->count = dict_count_decode(c, DICT_MAX);
	ret->ids = dict_list_new(c, a, ret->count, sizeof(*ret->ids));
	ret->paths = dict_list_new(c, a, ret->count, sizeof(*ret->paths));
	for (uint32_t i = 0; i < ret->count && !c->error; i++) {
		ret->ids[i].kind = cursor_u8(c);
		bytes = cursor_string(c, IMAGE_ID_MAX, &size);
		if (!bytes)
			return;
		ret->ids[i].size = (uint8_t)size;
		memcpy(ret->ids[i].bytes, bytes, size);
		ret->paths[i].data = cursor_string(c, DB_PATH_MAX, &ret->paths[i].size);
		if (!size && ret->ids[i].kind == IMAGE_SCRIPT && !c->error)
			ret->ids[i] =
				image_id_hash(IMAGE_SCRIPT, ret->paths[i].data, ret->paths[i].size);
	}
}

bool dict_images_rise(const struct dict_images *images)
{
	for (uint32_t i = 1; i < images->count; i++)
		if (memcmp(&images->ids[i - 1], &images->ids[i], sizeof(*images->ids)) >= 0)
			return false;
	return true;
}

struct db_event *dict_events_decode(struct cursor *c, struct arena *a, uint32_t *ret_count)
{
	uint32_t count = dict_count_decode(c, DICT_MAX);
	struct db_event *events = dict_list_new(c, a, count, sizeof(*events));

	for (uint32_t i = 0; i < count && !c->error; i++)
		event_decode(c, a, &events[i]);
	*ret_count = count;
	return events;
}

struct db_bytes *dict_subjects_decode(struct cursor *c, struct arena *a, uint32_t *ret_count)
{
	uint32_t count = dict_count_decode(c, DICT_MAX);
	struct db_bytes *subjects = dict_list_new(c, a, count, sizeof(*subjects));

	for (uint32_t i = 0; i < count && !c->error; i++)
		subjects[i].data = cursor_string(c, SUBJECT_MAX_BYTES, &subjects[i].size);
	*ret_count = count;
	return subjects;
}

void dict_image_encode(struct buf *out, const struct image_id *id, const struct db_bytes *path)
{
	struct image_id of_path;
	uint8_t size = id->size;

	if (id->kind == IMAGE_SCRIPT) {
		of_path = image_id_hash(IMAGE_SCRIPT, path->data, path->size);
		if (memcmp(&of_path, id, sizeof(of_path)) == 0)
			size = 0;
	}
	buf_append_u8(out, id->kind);
	buf_append_string(out, (const char *)id->bytes, size);
	buf_append_string(out, path->data, path->size);
}

void dict_encode(struct buf *out, const struct intern *entries)
{
	const void *entry;
	size_t size;

	buf_append_varint(out, intern_count(entries));
	for (uint32_t i = 0; i < intern_count(entries); i++) {
		entry = intern_get(entries, i, &size);
		buf_append(out, entry, size);
	}
}

void dict_strings_encode(struct buf *out, const struct intern *entries)
{
	const char *entry;
	size_t size;

	buf_append_varint(out, intern_count(entries));
	for (uint32_t i = 0; i < intern_count(entries); i++) {
		entry = intern_get(entries, i, &size);
		buf_append_string(out, entry, size);
	}
}

void dict_packed_append(struct dict_packed *p, unsigned escape, struct buf *more, uint64_t value)
{
	unsigned low = value < escape ? (unsigned)value : escape;

	if (!p->filled)
		buf_append_u8(p->out, 0);
	if (p->out->error)
		return;
	p->out->data[p->out->size - 1] |= (uint8_t)(low << p->filled);
	p->filled = (p->filled + p->bits) % 8;
	if (value >= escape)
		buf_append_varint(more, value - escape);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/dict_build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/catalog.h"
#include "util/array.h"

int dict_builder_init(struct dict_builder *d, uint32_t max, size_t entry_max)
{
	*d = (struct dict_builder){
		.images = intern_new(max), .events = intern_new(max), .subjects = intern_new(max)};
	buf_init(&d->entry, entry_max);
	return d->images && d->events && d->subjects ? 0 : -ENOMEM;
}

void dict_builder_free(struct dict_builder *d)
{
	for (uint32_t i = 0; d->paths && i < intern_count(d->images); i++)
		free((void *)d->paths[i].data);
	free(d->paths);
	intern_free(d->images);
	intern_free(d->events);
	intern_free(d->subjects);
	buf_free(&d->entry);
}

int dict_builder_image(struct dict_builder *d, const struct image_id *id,
		       const struct db_bytes *path, uint32_t *ret)
{
	uint32_t count = intern_count(d->images);
	void *copy;

	if (intern_find(d->images, id, sizeof(*id), ret) == 0)
		return 0;
	if (array_grow(&d->paths, count, &d->path_room, sizeof(*d->paths), 64))
		return -ENOMEM;
	copy = malloc(path->size + 1);
	int r = copy ? intern_add(d->images, id, sizeof(*id), ret) : -ENOMEM;
	if (r < 0) {
		free(copy);
		return r;
	}
	if (path->size)
		memcpy(copy, path->data, path->size);
	d->paths[count] = (struct db_bytes){copy, path->size};
	d->bytes += sizeof(*id) + path->size;
	return 0;
}

int dict_builder_event(struct dict_builder *d, const struct db_event *event, uint32_t *ret)
{
	buf_clear(&d->entry);
	event_encode(&d->entry, event);
	if (d->entry.error)
		return d->entry.error;
	return dict_builder_add(d, d->events, d->entry.data, d->entry.size, ret);
}

int dict_builder_add(struct dict_builder *d, struct intern *list, const void *data, size_t size,
		     uint32_t *ret)
{
	uint32_t before = intern_count(list);
	int r = intern_add(list, data, size, ret);

	if (intern_count(list) > before)
		d->bytes += size;
	return r;
}

int dict_builder_compare_images(const void *x, const void *y, void *builder)
{
	const struct dict_builder *d = builder;

	return memcmp(intern_get(d->images, *(const uint32_t *)x, NULL),
		      intern_get(d->images, *(const uint32_t *)y, NULL), sizeof(struct image_id));
}

void dict_builder_encode_image(const struct dict_builder *d, uint32_t image, struct buf *out)
{
	dict_image_encode(out, intern_get(d->images, image, NULL), &d->paths[image]);
}

void dict_builder_encode_images(const struct dict_builder *d, struct buf *out)
{
	buf_append_varint(out, intern_count(d->images));
	for (uint32_t i = 0; i < intern_count(d->images); i++)
		dict_builder_encode_image(d, i, out);
}

void dict_event_keep(struct dict_event *to, const struct db_event *event)
{
	snprintf(to->name, sizeof(to->name), "%s", event->name);
	to->event = (struct db_event){to->name, event->period, event->flags};
}

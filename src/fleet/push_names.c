/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fleet/push_state.h"
#include "util/array.h"

/* Things are named before the first row that has their number can arrive: names go first, or, where
 * a push is cut off between, are sent again with the epoch. */
static int put_seen(struct push *p, struct map64 **map, uint64_t key, uint64_t value)
{
	int r;

	if (!*map)
		*map = map64_new(PUSH_NAMES_MAX);
	r = *map ? map64_put(*map, key, value) : -ENOMEM;
	return r ? diag_fail(p->diag, -r, "cannot hold the names of an epoch: %s", strerror(-r))
		 : 0;
}

static bool is_seen(const struct map64 *map, uint64_t key, uint64_t *ret)
{
	return map && !map64_get(map, key, ret);
}

int push_image(struct push *p, const struct image_id *id, const struct db_bytes *path,
	       struct push_image **ret)
{
	char text[IMAGE_ID_TEXT_MAX];
	uint64_t number, at;
	struct push_image *image;
	struct buf *b;
	int r;

	if (p->last_image_entry && !memcmp(&p->last_image_entry->id, id, sizeof(*id))) {
		*ret = p->last_image_entry;
		return 0;
	}
	number = fleet_id_image(id);
	if (!is_seen(p->seen_images, number, &at)) {
		at = p->image_count;
		if (array_grow(&p->images, p->image_count, &p->image_room, sizeof(*p->images), 64))
			return diag_fail(p->diag, ENOMEM, "out of memory");
		p->last_image_entry = NULL;
		r = put_seen(p, &p->seen_images, number, at);
		if (r)
			return r;
		image = malloc(sizeof(*image));
		if (!image)
			return diag_fail(p->diag, ENOMEM, "out of memory");
		p->images[p->image_count++] = image;
		*image = (struct push_image){*id, number, push_symbols(p, id)};
		image_id_format(id, text);
		b = fleet_row(&p->rows, FLEET_IMAGES);
		buf_append_u64(b, number);
		buf_append_string(b, text, strlen(text));
		buf_append_string(b, path->data, path->size);
		fleet_put_u16(b, p->day);
		r = fleet_row_end(&p->rows, FLEET_IMAGES, p->diag);
		if (r)
			return r;
	}
	p->last_image_entry = *ret = p->images[at];
	return 0;
}

int push_event(struct push *p, const struct db_event *event, uint64_t *ret)
{
	uint64_t number = fleet_id_event(event), at;
	struct buf *b;
	int r;

	*ret = number;
	if (is_seen(p->seen_events, number, &at))
		return 0;
	r = put_seen(p, &p->seen_events, number, 0);
	if (r)
		return r;
	b = fleet_row(&p->rows, FLEET_EVENTS);
	buf_append_u64(b, number);
	buf_append_string(b, event->name, strlen(event->name));
	buf_append_u64(b, event->period);
	buf_append_u32(b, event->flags);
	fleet_put_u16(b, p->day);
	return fleet_row_end(&p->rows, FLEET_EVENTS, p->diag);
}

int push_subject(struct push *p, const struct db_bytes *subject, uint64_t *ret)
{
	uint64_t number = fleet_id_subject(subject->data, subject->size), at;
	struct buf *b;
	int r;

	*ret = number;
	if (is_seen(p->seen_subjects, number, &at))
		return 0;
	r = put_seen(p, &p->seen_subjects, number, 0);
	if (r)
		return r;
	b = fleet_row(&p->rows, FLEET_SUBJECTS);
	buf_append_u64(b, number);
	buf_append_string(b, subject->data, subject->size);
	fleet_put_u16(b, p->day);
	return fleet_row_end(&p->rows, FLEET_SUBJECTS, p->diag);
}

void push_names_forget(struct push *p)
{
	struct map64 **maps[] = {&p->seen_images, &p->seen_events, &p->seen_subjects,
				 &p->seen_stacks, &p->changed,	   &p->functions};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		map64_free(*maps[i]);
		*maps[i] = NULL;
	}
	for (size_t i = 0; i < p->image_count; i++) {
		image_symbols_free(p->images[i]->symbols);
		free(p->images[i]);
	}
	free(p->images);
	p->images = NULL;
	p->image_count = p->image_room = 0;
	p->last_image_entry = NULL;
}

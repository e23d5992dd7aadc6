/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/key.h"

#include <string.h>

int db_bytes_compare(const struct db_bytes *a, const struct db_bytes *b)
{
	size_t common = a->size < b->size ? a->size : b->size;
	int order = common ? memcmp(a->data, b->data, common) : 0;

	return order ? order : (a->size > b->size) - (a->size < b->size);
}

int db_event_compare(const struct db_event *a, const struct db_event *b)
{
	int order = strcmp(a->name, b->name);

	if (order)
		return order;
	if (a->period != b->period)
		return a->period < b->period ? -1 : 1;
	return (a->flags > b->flags) - (a->flags < b->flags);
}

int db_row_compare_group(const struct db_row *a, const struct db_row *b)
{
	int order = memcmp(a->image, b->image, sizeof(*a->image));

	return order ? order : db_event_compare(a->event, b->event);
}

int db_row_compare(const struct db_row *a, const struct db_row *b)
{
	int order = db_row_compare_group(a, b);

	if (order)
		return order;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return db_bytes_compare(&a->subject, &b->subject);
}

int db_edge_compare(const struct db_edge_item *a, const struct db_edge_item *b)
{
	int order = memcmp(a->image, b->image, sizeof(*a->image));

	if (order == 0)
		order = db_event_compare(a->event, b->event);
	if (order == 0 && a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (order == 0)
		order = memcmp(a->to_image, b->to_image, sizeof(*a->to_image));
	if (order == 0)
		order = (a->to > b->to) - (a->to < b->to);
	return order;
}

int db_frame_compare(const struct db_frame_item *a, const struct db_frame_item *b)
{
	int order = a->image == b->image ? 0 : memcmp(a->image, b->image, sizeof(*a->image));

	return order ? order : (a->offset > b->offset) - (a->offset < b->offset);
}

int db_stack_compare(const struct db_stack_item *a, const struct db_stack_item *b)
{
	uint32_t common = a->frame_count < b->frame_count ? a->frame_count : b->frame_count;
	int order = db_event_compare(a->event, b->event);

	if (order == 0)
		order = db_bytes_compare(&a->subject, &b->subject);
	for (uint32_t i = 0; i < common && order == 0; i++)
		order = db_frame_compare(&a->frames[i], &b->frames[i]);
	if (order == 0)
		order = (a->frame_count > b->frame_count) - (a->frame_count < b->frame_count);
	return order;
}

int db_values_compare(const uint64_t *a, const uint64_t *b, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

int db_raw_form_compare(const struct db_raw_form *a, const struct db_raw_form *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->caps != b->caps)
		return a->caps < b->caps ? -1 : 1;
	return (a->mask > b->mask) - (a->mask < b->mask);
}

static int target_compare(const struct db_raw_item *a, const struct db_raw_item *b)
{
	int order = (a->target_image != NULL) - (b->target_image != NULL);

	if (order == 0 && a->target_image)
		order = memcmp(a->target_image, b->target_image, sizeof(*a->target_image));
	if (order == 0 && a->target_image)
		order = (a->target > b->target) - (a->target < b->target);
	return order;
}

int db_raw_compare(const struct db_raw_item *a, const struct db_raw_item *b)
{
	int order = memcmp(a->image, b->image, sizeof(*a->image));

	if (order == 0)
		order = db_event_compare(a->event, b->event);
	if (order == 0)
		order = db_raw_form_compare(&a->form, &b->form);
	if (order == 0 && a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	if (order == 0)
		order = db_bytes_compare(&a->subject, &b->subject);
	if (order == 0)
		order = target_compare(a, b);
	return order ? order : db_values_compare(a->values, b->values, db_raw_values(&a->form));
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/key.h"

#include <string.h>
#include "util/num.h"

int db_bytes_compare(const struct db_bytes *a, const struct db_bytes *b)
{
	size_t common = a->size < b->size ? a->size : b->size;
	int order = common ? memcmp(a->data, b->data, common) : 0;

	return order ? order : NUM_ORDER(a->size, b->size);
}

int db_event_compare(const struct db_event *a, const struct db_event *b)
{
	int order = strcmp(a->name, b->name);

	if (order)
		return order;
	return NUM_ORDER(a->period, b->period) ?: NUM_ORDER(a->flags, b->flags);
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
	return NUM_ORDER(a->offset, b->offset) ?: db_bytes_compare(&a->subject, &b->subject);
}

int db_edge_compare(const struct db_edge_item *a, const struct db_edge_item *b)
{
	int order = memcmp(a->image, b->image, sizeof(*a->image));

	if (order == 0)
		order = db_event_compare(a->event, b->event);
	if (order == 0 && a->evidence != b->evidence)
		return a->evidence < b->evidence ? -1 : 1;
	if (order == 0 && a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (order == 0)
		order = memcmp(a->to_image, b->to_image, sizeof(*a->to_image));
	if (order == 0)
		order = NUM_ORDER(a->to, b->to);
	return order;
}

int db_frame_compare(const struct db_frame_item *a, const struct db_frame_item *b)
{
	int order = a->image == b->image ? 0 : memcmp(a->image, b->image, sizeof(*a->image));

	return order ? order : NUM_ORDER(a->offset, b->offset);
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
		order = NUM_ORDER(a->frame_count, b->frame_count);
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
	int order = NUM_ORDER(a->kind, b->kind) ?: NUM_ORDER(a->caps, b->caps);

	return order ?: NUM_ORDER(a->mask, b->mask);
}

static int target_compare(const struct db_raw_item *a, const struct db_raw_item *b)
{
	int order = (a->target_image != NULL) - (b->target_image != NULL);

	if (order == 0 && a->target_image)
		order = memcmp(a->target_image, b->target_image, sizeof(*a->target_image));
	if (order == 0 && a->target_image)
		order = NUM_ORDER(a->target, b->target);
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

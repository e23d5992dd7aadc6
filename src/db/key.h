/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_KEY_H
#define CULPRIT_DB_KEY_H

#include <stdint.h>
#include "db/batch.h"
#include "util/identity.h"

/* The items of packs, and the order in which they stand in every pack. */

#define DB_PATH_MAX	  4096 /* bytes */
#define DB_NAME_MAX	  1024 /* bytes; of an event, a counter, a fact */
#define DB_FACT_VALUE_MAX 4096

struct db_bytes {
	const void *data;
	size_t size;
};

struct db_row {
	const struct image_id *image;
	struct db_bytes path;
	const struct db_event *event;
	struct db_bytes subject;
	uint64_t offset, count;
};

/* An edge: see struct db_edge of batch.h. */
struct db_edge_item {
	const struct image_id *image, *to_image;
	struct db_bytes path, to_path; /* of image and to_image */
	const struct db_event *event;
	enum db_evidence evidence;
	uint64_t from, to, count, windows;
};

/* A stack, with its frames from the outermost on: see db_batch_stack of batch.h. */
struct db_frame_item {
	const struct image_id *image;
	struct db_bytes path;
	uint64_t offset;
};

struct db_stack_item {
	const struct db_event *event;
	struct db_bytes subject;
	const struct db_frame_item *frames;
	uint32_t frame_count;
	uint64_t count;
};

/* A raw record: see struct db_raw of batch.h. */
struct db_raw_item {
	const struct image_id *image, *target_image; /* target_image NULL: no target */
	struct db_bytes path, target_path, subject;
	const struct db_event *event;
	struct db_raw_form form;
	uint64_t offset, target, values[DB_RAW_VALUES_MAX], count;
};

struct db_counter {
	uint32_t event; /* index in the list of events beside it, or DB_EVENT_NONE */
	const char *name;
	uint64_t value;
};

struct db_fact {
	const char *name, *value;
};

/* By memcmp(3) over the shorter size; then the shorter one first. */
int db_bytes_compare(const struct db_bytes *a, const struct db_bytes *b);
int db_event_compare(const struct db_event *a, const struct db_event *b);
/* By (image, event). */
int db_row_compare_group(const struct db_row *a, const struct db_row *b);
/* By (image, event, offset, subject). */
int db_row_compare(const struct db_row *a, const struct db_row *b);
/* By (image, event, evidence, from, image of to, to). */
int db_edge_compare(const struct db_edge_item *a, const struct db_edge_item *b);

/* By (image, offset). */
int db_frame_compare(const struct db_frame_item *a, const struct db_frame_item *b);
/* By (event, subject, frames); a stack stands before those that it is a prefix of. */
int db_stack_compare(const struct db_stack_item *a, const struct db_stack_item *b);

int db_raw_form_compare(const struct db_raw_form *a, const struct db_raw_form *b);
/* By (image, event, form, offset, subject, target, values); records without a target first. */
int db_raw_compare(const struct db_raw_item *a, const struct db_raw_item *b);
/* By the first of count values that differs. */
int db_values_compare(const uint64_t *a, const uint64_t *b, unsigned count);

#endif

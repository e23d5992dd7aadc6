/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_KEY_H
#define CULPRIT_DB_KEY_H

#include <stdint.h>
#include "db/batch.h"
#include "util/identity.h"

/* What a row of a pack is made of, and the one order in which rows stand in every pack. */

#define DB_PATH_MAX	  4096 /* bytes */
#define DB_NAME_MAX	  1024 /* of an event, a counter, a fact */
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

/* An edge by itself: see struct db_edge of batch.h. */
struct db_edge_item {
	const struct image_id *image, *to_image;
	struct db_bytes path, to_path; /* of these */
	const struct db_event *event;
	enum db_evidence evidence;
	uint64_t from, to, count, windows;
};

/* A stack: see db_batch_stack of batch.h. Frames from the outermost in. */
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
	const struct image_id *image, *target_image; /* the latter NULL: there is no target */
	struct db_bytes path, target_path, subject;
	const struct db_event *event;
	struct db_raw_form form;
	uint64_t offset, target, values[DB_RAW_VALUES_MAX], count;
};

struct db_counter {
	uint32_t event; /* index among the events beside it, or DB_EVENT_NONE */
	const char *name;
	uint64_t value;
};

struct db_fact {
	const char *name, *value;
};

/* memcmp, and then the shorter first. */
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
/* By (event, subject, frames), a stack before those that go on from it. */
int db_stack_compare(const struct db_stack_item *a, const struct db_stack_item *b);

int db_raw_form_compare(const struct db_raw_form *a, const struct db_raw_form *b);
/* By (image, event, form, offset, subject, target, values); without a target first. */
int db_raw_compare(const struct db_raw_item *a, const struct db_raw_item *b);
/* Of so many values, the first that differ. */
int db_values_compare(const uint64_t *a, const uint64_t *b, unsigned count);

#endif

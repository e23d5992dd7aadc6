/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_VALUES_VALUE_TALLY_H
#define CULPRIT_ANALYZE_VALUES_VALUE_TALLY_H

#include <stddef.h>
#include <stdint.h>
#include "db/values.h"
#include "util/arena.h"
#include "util/hash.h"
#include "util/identity.h"

/* Summaries of values, merged by place, kind and call over files and epochs. */
#define VALUE_TALLY_ROWS_MAX (1u << 18)

struct value_row {
	uint32_t image;	     /* number in the tally */
	uint32_t site_image; /* the same, of the call; DB_VALUE_NO_SITE: none is told */
	uint64_t offset, site;
	enum value_kind kind;
	struct value_summary *of; /* the tally's */
};

struct value_image {
	struct image_id id;
	const char *path;
};

struct value_tally {
	/* To be set before summaries come. */
	const struct image_id *image; /* only of this image... */
	uint64_t start, size;	      /* ...and there; NULL: all */

	struct value_row *rows;
	struct value_image *images;
	size_t row_count, image_count;
	uint64_t refused; /* samples of rows past VALUE_TALLY_ROWS_MAX */

	/* Private. */
	struct arena *memory;
	struct intern *row_keys, *image_keys;
	size_t row_room, image_room;
};

int value_tally_init(struct value_tally *t);  /* of zeros but for what is to be set. 0 or -ENOMEM */
void value_tally_free(struct value_tally *t); /* what it owns */

/* For query.value: adds a summary. arg: a struct value_tally *. 0 or -ENOMEM. */
int value_tally_add(void *arg, const char *epoch, const struct db_value_item *item);
/* By image, address, kind and call. To be called when all have been added. */
void value_tally_sort(struct value_tally *t);

#endif

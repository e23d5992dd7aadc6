/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_DICT_BUILD_H
#define CULPRIT_DB_DICT_BUILD_H

#include "db/dict.h"

/* The names that a chunk in the making has met so far, each under a number. */
struct dict_builder {
	/* Images by id alone: that an image was met under two paths does not make it two. */
	struct intern *images, *events, *subjects; /* events as they are written */
	struct db_bytes *paths;			   /* of each image, as it was met first */
	size_t path_room;
	size_t bytes;	  /* of all names */
	struct buf entry; /* in the making */
};

/* An event with its name. */
struct dict_event {
	struct db_event event;
	char name[DB_NAME_MAX + 1];
};

/* No names yet; max: of each kind, entry_max: bytes of one as it is written. 0 or -ENOMEM (it is to
 * be freed then too). */
int dict_builder_init(struct dict_builder *d, uint32_t max, size_t entry_max);
void dict_builder_free(struct dict_builder *d);

/* The number of a name, new or old; everything is copied. 0 or a negative errno. */
int dict_builder_image(struct dict_builder *d, const struct image_id *id,
		       const struct db_bytes *path, uint32_t *ret);
int dict_builder_event(struct dict_builder *d, const struct db_event *event, uint32_t *ret);
/* ... in one of its lists. */
int dict_builder_add(struct dict_builder *d, struct intern *list, const void *data, size_t size,
		     uint32_t *ret);

/* For qsort_r of numbers of images, with the builder: by id. */
int dict_builder_compare_images(const void *x, const void *y, void *builder);
/* An image as it is written. */
void dict_builder_encode_image(const struct dict_builder *d, uint32_t image, struct buf *out);
/* All of them as they were met, after their number. */
void dict_builder_encode_images(const struct dict_builder *d, struct buf *out);

void dict_event_keep(struct dict_event *to, const struct db_event *event);

#endif

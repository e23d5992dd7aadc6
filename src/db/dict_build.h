/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_DICT_BUILD_H
#define CULPRIT_DB_DICT_BUILD_H

#include "db/dict.h"

/* The names used so far by a chunk under construction, each with a number. */
struct dict_builder {
	/* Images are identified by id alone: one that has two paths is still one image. */
	struct intern *images, *events, *subjects; /* events in their encoded form */
	struct db_bytes *paths;			   /* of each image, the one given first */
	size_t path_room;
	size_t bytes;	  /* of all names */
	struct buf entry; /* scratch: an event being encoded */
};

/* An event with storage for its name. */
struct dict_event {
	struct db_event event;
	char name[DB_NAME_MAX + 1];
};

/* Initialises a builder without names. max limits the number of each kind of names, entry_max the
 * bytes of an encoded event. 0 or -ENOMEM; it must be freed in either case. */
int dict_builder_init(struct dict_builder *d, uint32_t max, size_t entry_max);
void dict_builder_free(struct dict_builder *d);

/* Gives the number of a name, which is copied if it is new. 0 or a negative errno. */
int dict_builder_image(struct dict_builder *d, const struct image_id *id,
		       const struct db_bytes *path, uint32_t *ret);
int dict_builder_event(struct dict_builder *d, const struct db_event *event, uint32_t *ret);
/* The same for bytes in one of the builder's lists. */
int dict_builder_add(struct dict_builder *d, struct intern *list, const void *data, size_t size,
		     uint32_t *ret);

/* For qsort_r(3) of numbers of images, with the builder as the argument: by id. */
int dict_builder_compare_images(const void *x, const void *y, void *builder);
/* Appends an image in its encoded form. */
void dict_builder_encode_image(const struct dict_builder *d, uint32_t image, struct buf *out);
/* Appends the number of images and then all of them, in the order in which they were added. */
void dict_builder_encode_images(const struct dict_builder *d, struct buf *out);

void dict_event_keep(struct dict_event *to, const struct db_event *event);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_DICT_H
#define CULPRIT_DB_DICT_H

#include <errno.h>
#include "db/key.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/hash.h"

/* What the payloads of all chunks of counts are made of: lists, names, streams of small numbers. */

#define DICT_MAX (1u << 18) /* entries of a list that a reader takes */

/* A list's length, refused before memory is taken when the bytes available cannot hold it. */
uint32_t dict_count_decode(struct cursor *c, uint64_t max);
/* Memory for a list of so many; NULL on error, which is then in c. */
void *dict_list_new(struct cursor *c, struct arena *a, uint32_t count, size_t size);

struct dict_images {
	struct image_id *ids;
	struct db_bytes *paths; /* point into the stream */
	uint32_t count;
};
void dict_images_decode(struct cursor *c, struct arena *a, struct dict_images *ret);
bool dict_images_rise(const struct dict_images *images); /* by id, each once */
struct db_event *dict_events_decode(struct cursor *c, struct arena *a, uint32_t *ret_count);
struct db_bytes *dict_subjects_decode(struct cursor *c, struct arena *a, uint32_t *ret_count);

/* Without the id where it follows from the path, as that of a script does. */
void dict_image_encode(struct buf *out, const struct image_id *id, const struct db_bytes *path);
/* The entries of an interned list as they are, after their number. */
void dict_encode(struct buf *out, const struct intern *entries);
/* The same, each as a string. */
void dict_strings_encode(struct buf *out, const struct intern *entries);

/* A stream of numbers of less than a byte each (their bits divide 8), the lowest bits first. */
struct dict_packed {
	struct buf *out;
	unsigned bits, filled; /* of a number; of the last byte */
};
/* A number of escape or more is written as escape, and what is left of it to more as a varint. */
void dict_packed_append(struct dict_packed *p, unsigned escape, struct buf *more, uint64_t value);

/* The number at place at, which the caller knows to be there. */
static inline unsigned dict_packed_get(const struct db_bytes *s, unsigned bits, uint32_t at)
{
	const uint8_t *bytes = s->data;
	unsigned each = 8 / bits;

	return (unsigned)(bytes[at / each] >> (at % each * bits)) & ((1u << bits) - 1);
}

/* Nearly every number is one byte. */
static inline uint64_t dict_varint(struct cursor *c)
{
	if (c->at < c->end && *c->at < 0x80)
		return *c->at++;
	return cursor_varint(c);
}

/* Counts, from 1: 4 bits of the count minus one, 15 for 15 or more, and in another stream what is
 * left of these. */
#define DICT_COUNT_BITS	  4
#define DICT_COUNT_ESCAPE 15

static inline void dict_count_append(struct dict_packed *p, struct buf *more, uint64_t count)
{
	dict_packed_append(p, DICT_COUNT_ESCAPE, more, count - 1);
}

/* The count at place at, which the caller knows to be there. 0 or -EBADMSG. */
static inline int dict_count_get(const struct db_bytes *s, uint32_t at, struct cursor *more,
				 uint64_t *ret)
{
	uint64_t count = dict_packed_get(s, DICT_COUNT_BITS, at), rest = 0;

	if (count == DICT_COUNT_ESCAPE)
		rest = dict_varint(more);
	if (more->error || rest > UINT64_MAX - 1 - DICT_COUNT_ESCAPE)
		return -EBADMSG;
	*ret = count + rest + 1;
	return 0;
}

#endif

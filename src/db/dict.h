/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_DICT_H
#define CULPRIT_DB_DICT_H

#include <errno.h>
#include "db/key.h"
#include "util/arena.h"
#include "util/buf.h"
#include "util/hash.h"

/* Parts that the payloads of all chunks of items share: lists, names, streams of small numbers. */

#define DICT_MAX (1u << 18) /* a reader refuses lists of more entries */

/* Decodes the length of a list. It is refused (-EBADMSG in c) when it exceeds max or what the
 * remaining bytes can hold, so that no memory is allocated for it. */
uint32_t dict_count_decode(struct cursor *c, uint64_t max);
/* Zeroed memory for count entries of size bytes each. NULL on error, which is kept in c. */
void *dict_list_new(struct cursor *c, struct arena *a, uint32_t count, size_t size);

struct dict_images {
	struct image_id *ids;
	struct db_bytes *paths; /* borrowed from the stream */
	uint32_t count;
};
void dict_images_decode(struct cursor *c, struct arena *a, struct dict_images *ret);
bool dict_images_rise(const struct dict_images *images); /* whether they strictly ascend by id */
struct db_event *dict_events_decode(struct cursor *c, struct arena *a, uint32_t *ret_count);
struct db_bytes *dict_subjects_decode(struct cursor *c, struct arena *a, uint32_t *ret_count);

/* Appends an image. The id is left out where the path determines it, as for a script. */
void dict_image_encode(struct buf *out, const struct image_id *id, const struct db_bytes *path);
/* Appends the number of entries and then their bytes, one after the other. */
void dict_encode(struct buf *out, const struct intern *entries);
/* The same, each entry with its size in front. */
void dict_strings_encode(struct buf *out, const struct intern *entries);

/* A stream of numbers of 1, 2 or 4 bits, packed from the lowest bits of each byte. */
struct dict_packed {
	struct buf *out;
	unsigned bits, filled; /* bits of a number; used bits of the last byte */
};
/* Appends a number. One of escape or more is written as escape, and its excess over that to more,
 * as a varint. */
void dict_packed_append(struct dict_packed *p, unsigned escape, struct buf *more, uint64_t value);

/* The number at index at. The caller must know that there is one. */
static inline unsigned dict_packed_get(const struct db_bytes *s, unsigned bits, uint32_t at)
{
	const uint8_t *bytes = s->data;
	unsigned each = 8 / bits;

	return (unsigned)(bytes[at / each] >> (at % each * bits)) & ((1u << bits) - 1);
}

/* As cursor_varint, with the usual case inlined: a number of one byte. */
static inline uint64_t dict_varint(struct cursor *c)
{
	if (c->at < c->end && *c->at < 0x80)
		return *c->at++;
	return cursor_varint(c);
}

/* Counts are 1 or more. A count minus one takes 4 bits; 15 stands for 15 or more, with the excess
 * over 15 in another stream. */
#define DICT_COUNT_BITS	  4
#define DICT_COUNT_ESCAPE 15

static inline void dict_count_append(struct dict_packed *p, struct buf *more, uint64_t count)
{
	dict_packed_append(p, DICT_COUNT_ESCAPE, more, count - 1);
}

/* The count at index at. The caller must know that there is one. 0 or -EBADMSG. */
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

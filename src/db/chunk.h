/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_CHUNK_H
#define CULPRIT_DB_CHUNK_H

#include <stdint.h>
#include "db/key.h"
#include "util/buf.h"

/*
 * A chunk is the unit of damage: a header with a checksum of its own, and a payload with another,
 * of streams that are compressed one by one. It can be found in a file by its magic, and decoded
 * without the rest of the file. doc/FORMAT.md has the bytes.
 */
enum chunk_type {
	CHUNK_HEAD = 1,	 /* what is said of the pack as a whole: see catalog.h */
	CHUNK_INDEX = 3, /* the head again, and where every chunk is */
			 /* The others hold items: see kind.h. */
#define KIND(NAME, name, number) CHUNK_##NAME = (number),
#include "db/kinds.inc"
#undef KIND
};

#define DB_KIND_TYPES 32 /* all known types are less than this */
#define DB_KIND_MORE  2	 /* numbers of an item that are added up beside its count, at most */

/* What chunks of one type hold. */
struct db_kind_totals {
	uint64_t items, sum, lost; /* number of items; sum of their counts; sum of damaged chunks */
};

#define CHUNK_MAGIC \
	"\x89"      \
	"CHUNK\r\n"
#define CHUNK_MAGIC_SIZE  8
#define CHUNK_HEADER_SIZE 48
#define CHUNK_STREAMS_MAX 16
#define CHUNK_PAYLOAD_MAX (4u << 20)
#define CHUNK_RAW_MAX	  (16u << 20) /* bytes of all streams of a chunk, decompressed */

struct chunk_header {
	uint32_t type, payload_size, rows;
	uint64_t samples, payload_sum;
};

/* Parses CHUNK_HEADER_SIZE bytes. -EBADMSG when they are not an undamaged header. */
int chunk_header_decode(const uint8_t *bytes, struct chunk_header *ret);
uint64_t chunk_sum(const void *data, size_t size); /* XXH3, 64 bits */

/* Initialises empty streams, with the maximum that a chunk allows. */
void chunk_streams_init(struct buf *streams, unsigned count);
void chunk_streams_free(struct buf *streams, unsigned count);

/*
 * Appends header and payload to out. The caller gives type, rows and samples in h; the rest of h is
 * filled in. 0, -ENOMEM or -EFBIG.
 */
int chunk_append(struct buf *out, struct chunk_header *h, const struct buf *streams,
		 unsigned stream_count, int zstd_level);

/*
 * Decompresses a payload, whose sum must have been checked, into raw. The streams point into raw;
 * those that the chunk does not have are empty. Sizes are checked before memory is allocated. 0,
 * -EBADMSG, -ENOMEM.
 */
int chunk_open(const void *payload, size_t size, struct buf *raw,
	       struct db_bytes streams[CHUNK_STREAMS_MAX]);

#endif

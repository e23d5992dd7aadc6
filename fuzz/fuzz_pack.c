/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Database files that somebody else wrote. The first byte says what the rest is: a whole pack, or,
 * since a checksum keeps nearly all changes of one out, what comes after the checksum: a chunk's
 * payload, the streams of a chunk of one kind (their 16-bit sizes and 16 bits of rows first), a
 * catalog. corpus/pack has one of each, from a database of two flushes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/check.h"
#include "db/paths.h"
#include "fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	INPUT_PACK,
	INPUT_PAYLOAD,
	INPUT_CATALOG,
	INPUT_KINDS, /* and the kinds of chunks from here, by their place in the table */
};

static void ignore(void *arg, const char *what)
{
	(void)arg;
	if (!*what)
		abort();
}

static void try_pack(const uint8_t *data, size_t size)
{
	struct fuzz_memory m = {data, size};
	struct io io = fuzz_memory_io(&m);
	struct diag diag;
	struct pack *p;

	if (pack_open(&io, 0, "pack", "pack", ignore, NULL, &p, &diag) < 0)
		return;
	check_pack(p, ignore, NULL, NULL, NULL);
	pack_close(p);
}

/* A stack's frames are its cursor's, which has the next stack where it has this one. */
static void keep_frames(struct db_stack_item *stack)
{
	static struct db_frame_item frames[DB_STACK_MAX];

	if (!stack->frame_count || stack->frame_count > DB_STACK_MAX)
		abort();
	memcpy(frames, stack->frames, stack->frame_count * sizeof(*frames));
	stack->frames = frames;
}

/* Likewise a path's blocks. */
static void keep_blocks(struct db_path_item *path)
{
	static uint64_t blocks[DB_PATH_BLOCKS_MAX];

	if (!path->block_count || path->block_count > DB_PATH_BLOCKS_MAX ||
	    path->timed > path->count)
		abort();
	memcpy(blocks, path->blocks, path->block_count * sizeof(*blocks));
	path->blocks = blocks;
}

static void keep(const struct db_kind *kind, const void *item, void *last)
{
	memcpy(last, item, kind->item_size);
	if (kind == &kind_stacks)
		keep_frames(last);
	if (kind == &kind_paths)
		keep_blocks(last);
}

/* Whatever decodes gives items that rise, and as many as it says. */
static void try_kind(const struct db_kind *kind, const struct db_bytes streams[CHUNK_STREAMS_MAX],
		     uint32_t wanted)
{
	struct arena *a = arena_new(64u << 20);
	void *last = malloc(kind->item_size);
	struct kind_chunk c;
	uint32_t count = 0;

	if (a && last && kind_chunk_open(kind, streams, wanted, a, &c) == 0) {
		for (; kind_chunk_next(&c) == 1; keep(kind, c.item, last))
			if ((count++ && kind->compare(last, c.item) >= 0) ||
			    !kind_count(kind, c.item))
				abort();
		if (count > wanted)
			abort();
	}
	free(last);
	arena_free(a);
}

/* Each kind has a stream of counts, half a byte each: from 5 to 11. */
static void try_payload(const uint8_t *data, size_t size)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	struct buf raw;

	buf_init(&raw, CHUNK_RAW_MAX + 1);
	if (chunk_open(data, size, &raw, streams) == 0)
		for (size_t i = 0; i < db_kind_count; i++)
			for (unsigned s = 5; s < 12; s++)
				try_kind(db_kinds[i], streams, 2 * (uint32_t)streams[s].size);
	buf_free(&raw);
}

static void try_streams(const struct db_kind *kind, const uint8_t *data, size_t size)
{
	struct cursor c = cursor_over(data, size);
	struct db_bytes streams[CHUNK_STREAMS_MAX] = {0};
	uint32_t rows;

	for (unsigned i = 0; i < kind->stream_count; i++) {
		streams[i].size = cursor_u8(&c);
		streams[i].size |= (size_t)cursor_u8(&c) << 8;
	}
	rows = cursor_u8(&c);
	rows |= (uint32_t)cursor_u8(&c) << 8;
	for (unsigned i = 0; i < kind->stream_count; i++) {
		if (streams[i].size > cursor_left(&c))
			streams[i].size = cursor_left(&c);
		streams[i].data = cursor_bytes(&c, streams[i].size);
	}
	try_kind(kind, streams, rows);
}

static void try_catalog(const uint8_t *data, size_t size)
{
	struct db_bytes bytes = {data, size};
	struct arena *a = arena_new(64u << 20);
	struct catalog c;
	struct buf again;

	buf_init(&again, CHUNK_RAW_MAX);
	if (a && catalog_decode(&bytes, a, &c) == 0)
		catalog_encode(&again, &c);
	buf_free(&again);
	arena_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const try[INPUT_KINDS])(const uint8_t *, size_t) = {
		[INPUT_PACK] = try_pack,
		[INPUT_PAYLOAD] = try_payload,
		[INPUT_CATALOG] = try_catalog,
	};
	size_t what;

	if (!size)
		return 0;
	what = data[0] % (INPUT_KINDS + db_kind_count);
	if (what < INPUT_KINDS)
		try[what](data + 1, size - 1);
	else
		try_streams(db_kinds[what - INPUT_KINDS], data + 1, size - 1);
	return 0;
}

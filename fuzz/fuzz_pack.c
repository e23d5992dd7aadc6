/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Database files that somebody else wrote. The first byte says what the rest is: a whole pack, or,
 * since a checksum keeps nearly all changes of one out, what comes after the checksum: a chunk's
 * payload, the streams of a rows, an edges, a stacks or a raws chunk (their 16-bit sizes and 16
 * bits of rows first), a catalog. corpus/pack has one of each, from a database of two flushes, and
 * some of stacks of all forms (*-numbers, *-steps).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/check.h"
#include "fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	INPUT_PACK,
	INPUT_PAYLOAD,
	INPUT_ROWS,
	INPUT_CATALOG,
	INPUT_EDGES,
	INPUT_STACKS,
	INPUT_STACKS_NUMBERS, /* with fewer streams, as it was once ... */
	INPUT_STACKS_STEPS,   /* ... and later */
	INPUT_RAWS,
	INPUT_KINDS
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

/* Whatever decodes gives rows that rise, and as many as it says. */
static void try_rows(const struct db_bytes streams[CHUNK_STREAMS_MAX], uint32_t rows)
{
	struct arena *a = arena_new(64u << 20);
	struct rows_chunk t;
	struct rows_cursor c;
	struct db_row row, last;
	uint32_t count = 0;

	if (a && rows_chunk_open(streams, rows, a, &t) == 0) {
		rows_cursor_start(&c, &t);
		for (; rows_cursor_next(&c, &row) == 1; last = row)
			if (count++ && db_row_compare(&last, &row) >= 0)
				abort();
		if (count > rows)
			abort();
	}
	arena_free(a);
}

static void try_edges(const struct db_bytes streams[CHUNK_STREAMS_MAX], uint32_t edges)
{
	struct arena *a = arena_new(64u << 20);
	struct edges_chunk t;
	struct edges_cursor c;
	struct db_edge_item edge, last;
	uint32_t count = 0;

	if (a && edges_chunk_open(streams, edges, a, &t) == 0) {
		edges_cursor_start(&c, &t);
		for (; edges_cursor_next(&c, &edge) == 1; last = edge)
			if ((count++ && db_edge_compare(&last, &edge) >= 0) || !edge.windows ||
			    edge.windows > edge.count)
				abort();
		if (count > edges)
			abort();
	}
	arena_free(a);
}

static void try_stacks(const struct db_bytes streams[CHUNK_STREAMS_MAX], uint32_t stacks)
{
	static struct db_frame_item before[DB_STACK_MAX];
	static struct stacks_cursor c;
	struct arena *a = arena_new(64u << 20);
	struct stacks_chunk t;
	struct db_stack_item stack, last;
	uint32_t count = 0;

	if (a && stacks_chunk_open(streams, stacks, a, &t) == 0) {
		stacks_cursor_start(&c, &t);
		for (; stacks_cursor_next(&c, &stack) == 1; last = stack) {
			if (!stack.frame_count || stack.frame_count > DB_STACK_MAX || !stack.count)
				abort();
			if (count++ && db_stack_compare(&last, &stack) >= 0)
				abort();
			/* The cursor has the next stack where it has this one. */
			memcpy(before, stack.frames, stack.frame_count * sizeof(before[0]));
			stack.frames = before;
		}
		if (count > stacks)
			abort();
	}
	arena_free(a);
}

static void try_raws(const struct db_bytes streams[CHUNK_STREAMS_MAX], uint32_t raws)
{
	struct arena *a = arena_new(64u << 20);
	struct raws_chunk t;
	struct raws_cursor c;
	struct db_raw_item raw, last;
	uint32_t count = 0;

	if (a && raws_chunk_open(streams, raws, a, &t) == 0) {
		raws_cursor_start(&c, &t);
		for (; raws_cursor_next(&c, &raw) == 1; last = raw)
			if ((count++ && db_raw_compare(&last, &raw) >= 0) || !raw.count ||
			    db_raw_values(&raw.form) > DB_RAW_VALUES_MAX)
				abort();
		if (count > raws)
			abort();
	}
	arena_free(a);
}

static void try_payload(const uint8_t *data, size_t size)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	struct buf raw;

	buf_init(&raw, CHUNK_RAW_MAX + 1);
	if (chunk_open(data, size, &raw, streams) == 0) {
		try_rows(streams, 2 * (uint32_t)streams[ROWS_COUNTS].size);
		try_edges(streams, 2 * (uint32_t)streams[EDGES_COUNTS].size);
		try_stacks(streams, 2 * (uint32_t)streams[STACKS_COUNTS].size);
		try_raws(streams, 2 * (uint32_t)streams[RAWS_COUNTS].size);
	}
	buf_free(&raw);
}

static void try_streams(const uint8_t *data, size_t size, unsigned stream_count,
			void (*try)(const struct db_bytes *streams, uint32_t rows))
{
	struct cursor c = cursor_over(data, size);
	struct db_bytes streams[CHUNK_STREAMS_MAX] = {0};
	uint32_t rows;

	for (unsigned i = 0; i < stream_count; i++) {
		streams[i].size = cursor_u8(&c);
		streams[i].size |= (size_t)cursor_u8(&c) << 8;
	}
	rows = cursor_u8(&c);
	rows |= (uint32_t)cursor_u8(&c) << 8;
	for (unsigned i = 0; i < stream_count; i++) {
		if (streams[i].size > cursor_left(&c))
			streams[i].size = cursor_left(&c);
		streams[i].data = cursor_bytes(&c, streams[i].size);
	}
	try(streams, rows);
}

static void try_rows_streams(const uint8_t *data, size_t size)
{
	try_streams(data, size, ROWS_STREAMS, try_rows);
}

static void try_edges_streams(const uint8_t *data, size_t size)
{
	try_streams(data, size, EDGES_STREAMS, try_edges);
}

static void try_stacks_streams(const uint8_t *data, size_t size)
{
	try_streams(data, size, STACKS_STREAMS, try_stacks);
}

static void try_stacks_numbers(const uint8_t *data, size_t size)
{
	try_streams(data, size, STACKS_FIRSTS, try_stacks);
}

static void try_stacks_steps(const uint8_t *data, size_t size)
{
	try_streams(data, size, STACKS_CALLS, try_stacks);
}

static void try_raws_streams(const uint8_t *data, size_t size)
{
	try_streams(data, size, RAWS_STREAMS, try_raws);
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
		[INPUT_ROWS] = try_rows_streams,
		[INPUT_CATALOG] = try_catalog,
		[INPUT_EDGES] = try_edges_streams,
		[INPUT_STACKS] = try_stacks_streams,
		[INPUT_STACKS_NUMBERS] = try_stacks_numbers,
		[INPUT_STACKS_STEPS] = try_stacks_steps,
		[INPUT_RAWS] = try_raws_streams,
	};

	if (size)
		try[data[0] % INPUT_KINDS](data + 1, size - 1);
	return 0;
}

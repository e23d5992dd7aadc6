/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_TESTS_KIND_HELP_H
#define CULPRIT_TESTS_KIND_HELP_H

/* One chunk of a kind, made of items and opened again. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "db/kind.h"

/* Makes a chunk of count items, the i-th as get gives it. The bytes are in raw (initialised). */
static inline void kind_make_chunk(const struct db_kind *kind,
				   const void *(*get)(const void *items, size_t i),
				   const void *items, size_t count, struct buf *raw,
				   struct db_bytes streams[CHUNK_STREAMS_MAX])
{
	struct chunk_header h = {.type = kind->type, .rows = (uint32_t)count};
	struct buf made[CHUNK_STREAMS_MAX], out;
	void *builder = kind_builder_new(kind);

	assert_non_null(builder);
	for (size_t i = 0; i < count; i++) {
		assert_true(kind_builder_takes(kind, builder, get(items, i)));
		assert_int_equal(kind->add(builder, get(items, i)), 0);
		/* Neither it again nor what comes before it. */
		assert_false(kind_builder_takes(kind, builder, get(items, i)));
		assert_false(kind_builder_takes(kind, builder, get(items, 0)));
	}
	buf_init(&out, 1 << 20);
	chunk_streams_init(made, kind->stream_count);
	assert_int_equal(kind->encode(builder, made), 0);
	assert_int_equal(chunk_append(&out, &h, made, kind->stream_count, 3), 0);
	chunk_streams_free(made, kind->stream_count);
	kind_builder_free(kind, builder);
	assert_int_equal(chunk_open(out.data + CHUNK_HEADER_SIZE, h.payload_size, raw, streams), 0);
	buf_free(&out);
}

/* Reads a chunk to its end. 0, or the error. */
static inline int kind_read_all(const struct db_kind *kind,
				const struct db_bytes streams[CHUNK_STREAMS_MAX], uint32_t count)
{
	struct arena *a = arena_new(1 << 20);
	struct kind_chunk c;
	int r = kind_chunk_open(kind, streams, count, a, &c);

	while (r == 0 && (r = kind_chunk_next(&c)) == 1)
		r = 0;
	arena_free(a);
	return r;
}

#endif

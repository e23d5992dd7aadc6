/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/chunk.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>

uint64_t chunk_sum(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}

static void header_encode(struct buf *out, const struct chunk_header *h)
{
	size_t start = out->size;

	buf_append(out, CHUNK_MAGIC, CHUNK_MAGIC_SIZE);
	buf_append_u32(out, h->type);
	buf_append_u32(out, h->payload_size);
	buf_append_u32(out, h->rows);
	buf_append_u32(out, 0);
	buf_append_u64(out, h->samples);
	buf_append_u64(out, h->payload_sum);
	if (!out->error)
		buf_append_u64(out, chunk_sum(out->data + start, out->size - start));
}

int chunk_header_decode(const uint8_t *bytes, struct chunk_header *ret)
{
	struct cursor c = cursor_over(bytes, CHUNK_HEADER_SIZE);
	struct chunk_header h;

	if (memcmp(cursor_bytes(&c, CHUNK_MAGIC_SIZE), CHUNK_MAGIC, CHUNK_MAGIC_SIZE) != 0)
		return -EBADMSG;
	h.type = cursor_u32(&c);
	h.payload_size = cursor_u32(&c);
	h.rows = cursor_u32(&c);
	cursor_u32(&c);
	h.samples = cursor_u64(&c);
	h.payload_sum = cursor_u64(&c);
	if (cursor_u64(&c) != chunk_sum(bytes, CHUNK_HEADER_SIZE - 8) ||
	    h.payload_size > CHUNK_PAYLOAD_MAX)
		return -EBADMSG;
	*ret = h;
	return 0;
}

/* Compressed, or unchanged where compression does not make it shorter (both sizes are then
 * equal). */
static size_t stream_append(struct buf *out, ZSTD_CCtx *z, const struct buf *raw, int level)
{
	size_t room = ZSTD_compressBound(raw->size), size;
	void *to;

	if (!raw->size)
		return 0;
	to = buf_reserve(out, room);
	if (!to)
		return 0;
	size = ZSTD_compressCCtx(z, to, room, raw->data, raw->size, level);
	if (ZSTD_isError(size) || size >= raw->size) {
		memcpy(to, raw->data, raw->size);
		size = raw->size;
	}
	out->size += size;
	return size;
}

void chunk_streams_init(struct buf *streams, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		buf_init(&streams[i], CHUNK_RAW_MAX);
}

void chunk_streams_free(struct buf *streams, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		buf_free(&streams[i]);
}

int chunk_append(struct buf *out, struct chunk_header *h, const struct buf *streams,
		 unsigned stream_count, int zstd_level)
{
	ZSTD_CCtx *z = ZSTD_createCCtx();
	struct buf payload, stored;
	int r = -ENOMEM;

	buf_init(&payload, CHUNK_PAYLOAD_MAX);
	buf_init(&stored, CHUNK_RAW_MAX + CHUNK_RAW_MAX / 8);
	if (!z)
		goto out;
	buf_append_u8(&payload, (uint8_t)stream_count);
	for (unsigned i = 0; i < stream_count; i++) {
		if (streams[i].error)
			payload.error = streams[i].error;
		buf_append_varint(&payload, streams[i].size);
		buf_append_varint(&payload, stream_append(&stored, z, &streams[i], zstd_level));
	}
	if (stored.error)
		payload.error = stored.error;
	buf_append(&payload, stored.data, stored.size);
	r = payload.error;
	if (r < 0)
		goto out;
	h->payload_size = (uint32_t)payload.size;
	h->payload_sum = chunk_sum(payload.data, payload.size);
	header_encode(out, h);
	r = buf_append(out, payload.data, payload.size);
out:
	ZSTD_freeCCtx(z);
	buf_free(&payload);
	buf_free(&stored);
	return r;
}

static int stream_open(const uint8_t *stored, size_t stored_size, uint8_t *raw, size_t raw_size)
{
	if (stored_size == raw_size) {
		if (raw_size)
			memcpy(raw, stored, raw_size);
		return 0;
	}
	return ZSTD_decompress(raw, raw_size, stored, stored_size) == raw_size ? 0 : -EBADMSG;
}

int chunk_open(const void *payload, size_t size, struct buf *raw,
	       struct db_bytes streams[CHUNK_STREAMS_MAX])
{
	struct cursor c = cursor_over(payload, size);
	uint64_t raw_size[CHUNK_STREAMS_MAX], stored_size[CHUNK_STREAMS_MAX], total = 0;
	unsigned count = cursor_u8(&c);
	const void *stored;
	uint8_t *to;
	int r = 0;

	if (count > CHUNK_STREAMS_MAX)
		return -EBADMSG;
	for (unsigned i = 0; i < count; i++) {
		raw_size[i] = cursor_varint(&c);
		stored_size[i] = cursor_varint(&c);
		if (c.error || raw_size[i] > CHUNK_RAW_MAX || stored_size[i] > raw_size[i])
			return -EBADMSG;
		total += raw_size[i];
	}
	if (total > CHUNK_RAW_MAX)
		return -EBADMSG;
	buf_clear(raw);
	to = buf_reserve(raw, total + 1);
	if (!to)
		return -ENOMEM;
	memset(streams, 0, CHUNK_STREAMS_MAX * sizeof(*streams));
	for (unsigned i = 0; i < count && r == 0; i++) {
		stored = cursor_bytes(&c, stored_size[i]);
		if (!stored)
			return -EBADMSG;
		streams[i] = (struct db_bytes){to, raw_size[i]};
		r = stream_open(stored, stored_size[i], to, raw_size[i]);
		to += raw_size[i];
	}
	return r == 0 && cursor_left(&c) ? -EBADMSG : r;
}

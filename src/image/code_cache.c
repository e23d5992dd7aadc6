/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/code_cache.h"
#include "util/array.h"
#include "util/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CODE_CACHE_MAGIC 0x31444343u /* "CCD1" */

void code_cache_free(struct code_cache *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->count; i++)
		free(c->list[i].data);
	free(c->list);
	*c = (struct code_cache){0};
}

/* The index of the first piece that ends after address. */
static size_t first_after(const struct code_cache *c, uint64_t address)
{
	return SEARCH_FIRST(c->count, i, c->list[i].start + c->list[i].size > address);
}

static int insert(struct code_cache *c, size_t at, uint64_t start, const uint8_t *data, size_t size)
{
	if (size > CODE_CACHE_MAX_BYTES - c->bytes)
		return -ENOSPC;
	if (array_grow(&c->list, c->count, &c->room, sizeof(*c->list), 64))
		return -ENOMEM;
	uint8_t *copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, size);
	memmove(c->list + at + 1, c->list + at, (c->count - at) * sizeof(*c->list));
	c->list[at] = (struct code_piece){start, size, copy};
	c->count++;
	c->bytes += size;
	return 0;
}

int code_cache_add(struct code_cache *c, uint64_t start, const uint8_t *data, size_t size)
{
	if (size == 0 || size > UINT64_MAX - start)
		return -EINVAL;
	/* The parts between the pieces that are there. */
	for (uint64_t at = start, end = start + size; at < end;) {
		size_t i = first_after(c, at);
		uint64_t next = i < c->count ? c->list[i].start : UINT64_MAX;
		if (next > at) {
			uint64_t stop = next < end ? next : end;
			int err = insert(c, i, at, data + (at - start), stop - at);
			if (err < 0)
				return err;
			at = stop;
		} else {
			at = c->list[i].start + c->list[i].size;
		}
	}
	return 0;
}

const struct code_piece *code_cache_find(const struct code_cache *c, uint64_t address)
{
	size_t i = first_after(c, address);
	return i < c->count && c->list[i].start <= address ? &c->list[i] : NULL;
}

/* magic, count; for each piece the gap to the one before, its size, its bytes. */
int code_cache_save(const struct code_cache *c, struct buf *out)
{
	uint64_t end = 0;
	buf_append_u32(out, CODE_CACHE_MAGIC);
	buf_append_varint(out, c->count);
	for (size_t i = 0; i < c->count; i++) {
		buf_append_varint(out, c->list[i].start - end);
		buf_append_varint(out, c->list[i].size);
		buf_append(out, c->list[i].data, c->list[i].size);
		end = c->list[i].start + c->list[i].size;
	}
	return out->error;
}

int code_cache_load(struct code_cache *c, const void *data, size_t size)
{
	struct cursor from = cursor_over(data, size);
	uint32_t magic = cursor_u32(&from);
	uint64_t count = cursor_varint(&from), end = 0;
	if (from.error || magic != CODE_CACHE_MAGIC)
		return -EBADMSG;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t gap = cursor_varint(&from), piece = cursor_varint(&from);
		const void *bytes = from.error ? NULL : cursor_bytes(&from, piece);
		if (!bytes || gap > UINT64_MAX - end)
			return -EBADMSG;
		int err = code_cache_add(c, end + gap, bytes, piece);
		if (err < 0)
			return err == -ENOMEM ? err : -EBADMSG;
		end += gap + piece;
	}
	return cursor_left(&from) ? -EBADMSG : 0;
}

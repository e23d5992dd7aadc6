/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARINT_MAX_BYTES 10

void buf_init(struct buf *b, size_t max_bytes)
{
	*b = (struct buf){.max = max_bytes};
}

void buf_free(struct buf *b)
{
	if (!b)
		return;
	free(b->data);
	b->data = NULL;
	b->size = b->room = 0;
}

void buf_clear(struct buf *b)
{
	b->size = 0;
	b->error = 0;
}

static int buf_fail(struct buf *b, int error)
{
	b->error = error;
	return error;
}

void *buf_reserve(struct buf *b, size_t size)
{
	size_t need, room;
	void *data;

	if (b->error)
		return NULL;
	if (size > b->max || b->size > b->max - size) {
		buf_fail(b, -EFBIG);
		return NULL;
	}
	need = b->size + size;
	/* Memory even for nothing, so that NULL always means an error. */
	if (need > b->room || !b->data) {
		room = b->room < 32 ? 64 : b->room > SIZE_MAX / 2 ? SIZE_MAX : 2 * b->room;
		if (room > b->max)
			room = b->max;
		if (room < need)
			room = need;
		data = realloc(b->data, room ? room : 1);
		if (!data) {
			buf_fail(b, -ENOMEM);
			return NULL;
		}
		b->data = data;
		b->room = room;
	}
	return b->data + b->size;
}

int buf_append(struct buf *b, const void *data, size_t size)
{
	void *to;

	if (b->data && !b->error && size <= b->room - b->size) /* nearly always */
		to = b->data + b->size;
	else
		to = buf_reserve(b, size);
	if (!to)
		return b->error;
	if (size)
		memcpy(to, data, size);
	b->size += size;
	return 0;
}

int buf_append_u8(struct buf *b, uint8_t v)
{
	return buf_append(b, &v, 1);
}

int buf_append_u32(struct buf *b, uint32_t v)
{
	uint8_t bytes[4];

	for (int i = 0; i < 4; i++)
		bytes[i] = (uint8_t)(v >> (8 * i));
	return buf_append(b, bytes, sizeof(bytes));
}

int buf_append_u64(struct buf *b, uint64_t v)
{
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(v >> (8 * i));
	return buf_append(b, bytes, sizeof(bytes));
}

int buf_append_varint(struct buf *b, uint64_t v)
{
	uint8_t bytes[VARINT_MAX_BYTES];
	size_t n = 0;

	while (v >= 0x80) {
		bytes[n++] = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	bytes[n++] = (uint8_t)v;
	return buf_append(b, bytes, n);
}

int buf_append_string(struct buf *b, const char *s, size_t size)
{
	buf_append_varint(b, size);
	return buf_append(b, s, size);
}

int buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;
	char *text;
	int n, r;

	if (b->error)
		return b->error;
	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		return buf_fail(b, -ENOMEM);
	r = buf_append(b, text, (size_t)n);
	free(text);
	return r;
}

struct cursor cursor_over(const void *data, size_t size)
{
	/* To add even 0 to NULL is undefined. */
	return (struct cursor){.at = data, .end = size ? (const uint8_t *)data + size : data};
}

int64_t cursor_signed(struct cursor *c)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = cursor_u8(c);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && !c->error);
	if ((byte & 0x40) && shift < 64)
		v |= UINT64_MAX << shift;
	return (int64_t)v;
}

uint64_t cursor_varint_long(struct cursor *c)
{
	uint64_t v = 0;

	if (c->error)
		return 0;
	for (unsigned i = 0; i < VARINT_MAX_BYTES && c->at < c->end; i++) {
		uint8_t byte = *c->at++;

		if (i == VARINT_MAX_BYTES - 1 && byte > 1)
			break;
		v |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80))
			return v;
	}
	c->error = -EBADMSG;
	return 0;
}

const char *cursor_string(struct cursor *c, size_t max, size_t *ret_size)
{
	uint64_t size = cursor_varint(c);
	const char *s;

	if (c->error)
		return NULL;
	if (size > max) {
		c->error = -EBADMSG;
		return NULL;
	}
	s = cursor_bytes(c, (size_t)size);
	if (s)
		*ret_size = (size_t)size;
	return s;
}

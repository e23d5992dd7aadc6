/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_BUF_H
#define CULPRIT_UTIL_BUF_H

#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A growing byte buffer with a maximum. Once an append has failed, the buffer stays failed (error
 * is a negative errno), so that a writer may append many times and check once.
 */
struct buf {
	uint8_t *data;
	size_t size, room, max;
	int error;
};

void buf_init(struct buf *b, size_t max_bytes);
void buf_free(struct buf *b);  /* b may be NULL or already freed */
void buf_clear(struct buf *b); /* keeps the memory; forgets the error */

/* Each returns 0, -ENOMEM, or -EFBIG past the maximum, and records a failure in b->error. */
int buf_append(struct buf *b, const void *data, size_t size);
int buf_append_u8(struct buf *b, uint8_t v);
int buf_append_u32(struct buf *b, uint32_t v);			  /* little endian */
int buf_append_u64(struct buf *b, uint64_t v);			  /* little endian */
int buf_append_varint(struct buf *b, uint64_t v);		  /* LEB128, 1 to 10 bytes */
int buf_append_string(struct buf *b, const char *s, size_t size); /* varint size, then bytes */
int buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Room for size more bytes at the end; the caller fills them and adds to b->size. NULL on error. */
void *buf_reserve(struct buf *b, size_t size);

/*
 * A cursor over bytes that somebody else wrote. Reading past the end sets error to -EBADMSG and
 * gives zeroes from then on, so a parser may read a whole record and check once.
 */
struct cursor {
	const uint8_t *at, *end;
	int error;
};

struct cursor cursor_over(const void *data, size_t size);
uint64_t cursor_varint_long(struct cursor *c);
int64_t cursor_signed(struct cursor *c); /* DWARF's SLEB128; bits past the 64th are dropped */
/* Reads a size (a varint, at most max) and that many bytes. Returns the bytes, which stay in the
 * input and have no terminator, or NULL on error. */
const char *cursor_string(struct cursor *c, size_t max, size_t *ret_size);

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* Steps over size bytes and returns them; NULL on error. */
static inline const void *cursor_bytes(struct cursor *c, size_t size)
{
	const uint8_t *at = c->at;

	if (c->error || size > cursor_left(c)) {
		c->error = -EBADMSG;
		return NULL;
	}
	c->at += size;
	return at;
}

static inline uint32_t cursor_u32(struct cursor *c)
{
	const void *at = cursor_bytes(c, sizeof(uint32_t));
	uint32_t v = 0;

	if (at)
		__builtin_memcpy(&v, at, sizeof(v));
	return le32toh(v);
}

static inline uint64_t cursor_u64(struct cursor *c)
{
	const void *at = cursor_bytes(c, sizeof(uint64_t));
	uint64_t v = 0;

	if (at)
		__builtin_memcpy(&v, at, sizeof(v));
	return le64toh(v);
}

static inline uint8_t cursor_u8(struct cursor *c)
{
	if (c->error || c->at == c->end) {
		c->error = -EBADMSG;
		return 0;
	}
	return *c->at++;
}

/* Unsigned LEB128; an encoding of more than 64 bits is an error. */
static inline uint64_t cursor_varint(struct cursor *c)
{
	if (!c->error && c->at < c->end && *c->at < 0x80)
		return *c->at++;
	return cursor_varint_long(c);
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_MIN_BYTES ((size_t)4 << 10)
#define CHUNK_MAX_BYTES ((size_t)1 << 20)

struct chunk {
	struct chunk *next;
	size_t size, used;
	_Alignas(16) unsigned char data[];
};

struct arena {
	struct chunk *chunks; /* the one being filled is first */
	size_t used, max, next_chunk_bytes;
};

struct arena *arena_new(size_t max_bytes)
{
	struct arena *a = calloc(1, sizeof(*a));

	if (a) {
		a->max = max_bytes;
		a->next_chunk_bytes = CHUNK_MIN_BYTES;
	}
	return a;
}

void arena_free(struct arena *a)
{
	struct chunk *next;

	if (!a)
		return;
	for (struct chunk *c = a->chunks; c; c = next) {
		next = c->next;
		free(c);
	}
	free(a);
}

static struct chunk *arena_grow(struct arena *a, size_t size)
{
	size_t bytes = size > a->next_chunk_bytes ? size : a->next_chunk_bytes;
	struct chunk *c;

	if (bytes > SIZE_MAX - sizeof(*c))
		return NULL;
	c = malloc(sizeof(*c) + bytes);
	if (!c)
		return NULL;
	c->size = bytes;
	c->used = 0;
	/* A big piece must not waste what is left of the current chunk. */
	if (a->chunks && size > a->next_chunk_bytes / 2 &&
	    a->chunks->size - a->chunks->used > bytes - size) {
		c->next = a->chunks->next;
		a->chunks->next = c;
	} else {
		c->next = a->chunks;
		a->chunks = c;
	}
	if (a->next_chunk_bytes < CHUNK_MAX_BYTES)
		a->next_chunk_bytes *= 2;
	return c;
}

/* align: a power of two, at most 16. */
static void *arena_take(struct arena *a, size_t size, size_t align)
{
	struct chunk *c = a->chunks;
	size_t at = 0;
	void *p;

	if (size > a->max || a->used > a->max - size)
		return NULL;
	if (c)
		at = (c->used + align - 1) & ~(align - 1);
	if (!c || at > c->size || size > c->size - at) {
		c = arena_grow(a, size);
		if (!c)
			return NULL;
		at = 0;
	}
	p = c->data + at;
	c->used = at + size;
	a->used += size;
	return p;
}

void *arena_alloc(struct arena *a, size_t size)
{
	void *p = arena_take(a, size, 16);

	return p ? memset(p, 0, size) : NULL;
}

char *arena_strndup(struct arena *a, const char *s, size_t size)
{
	char *copy = size < SIZE_MAX ? arena_take(a, size + 1, 1) : NULL;

	if (!copy)
		return NULL;
	if (size)
		memcpy(copy, s, size);
	copy[size] = 0;
	return copy;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
	char *text, *copy;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		return NULL;
	copy = arena_strndup(a, text, (size_t)n);
	free(text);
	return copy;
}

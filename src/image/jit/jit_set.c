/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/jit/jit_set.h"
#include "util/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/num.h"

#define ARENA_EXTRA (1u << 20)

int jit_set_init(struct jit_set *s, size_t max_bytes)
{
	/* The arena rounds each name up: four times what a name and its numbers take in a file. */
	size_t max = max_bytes < (SIZE_MAX - ARENA_EXTRA) / 4 ? max_bytes * 4 : SIZE_MAX / 2;

	*s = (struct jit_set){.names = arena_new(max + ARENA_EXTRA)};
	return s->names ? 0 : -ENOMEM;
}

void jit_set_free(struct jit_set *s)
{
	arena_free(s->names);
	free(s->list);
	*s = (struct jit_set){0};
}

int jit_set_add(struct jit_set *s, uint64_t start, uint64_t size, const char *name,
		size_t name_size)
{
	if (!name_size || !*name || start + size < start)
		return -EINVAL;
	if (array_grow(&s->list, s->count, &s->room, sizeof(*s->list), 256))
		return -ENOMEM;
	char *copy =
		arena_strndup(s->names, name, name_size < JIT_NAME_MAX ? name_size : JIT_NAME_MAX);
	if (!copy)
		return -ENOSPC;
	s->list[s->count++] = (struct image_symbol){start, size, copy};
	return 0;
}

/* A function on the way through the addresses. */
struct span {
	uint64_t start, end;
	size_t made; /* when: index in the list */
};

static int compare_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return NUM_ORDER(x->start, y->start) ?: NUM_ORDER(y->made, x->made);
}

/* A heap of spans, the one that was made last on top. */
static void heap_push(struct span *heap, size_t *count, struct span span)
{
	size_t at = (*count)++;

	for (; at && heap[(at - 1) / 2].made < span.made; at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = span;
}

static void heap_pop(struct span *heap, size_t *count)
{
	struct span last = heap[--*count];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < *count && heap[child + 1].made > heap[child].made)
			child++;
		if (child >= *count || heap[child].made < last.made)
			break;
		heap[at] = heap[child];
		at = child;
	}
	if (*count)
		heap[at] = last;
}

/*
 * Goes through the functions by ascending start. On top of the heap is the youngest of those that
 * began before; once it has ended it is removed, the others when they come to the top.
 */
static void spans_sweep(const struct span *spans, size_t count, struct span *heap,
			struct image_symbol *list)
{
	size_t open = 0;

	for (size_t i = 0; i < count; i++) {
		while (open && heap[0].end <= spans[i].start)
			heap_pop(heap, &open);
		if (open && heap[0].made > spans[i].made)
			list[spans[i].made].name = NULL;
		heap_push(heap, &open, spans[i]); /* gone or not, it overwrote what was there */
	}
}

int jit_set_finish(struct jit_set *s, const char *source, struct image_symbols **ret)
{
	struct span *spans = calloc(2 * s->count + 1, sizeof(*spans));
	size_t kept = 0;

	if (!spans)
		return -ENOMEM;
	for (size_t i = 0; i < s->count; i++)
		spans[i] = (struct span){s->list[i].start, s->list[i].start + s->list[i].size, i};
	array_sort(spans, s->count, sizeof(*spans), compare_start);
	spans_sweep(spans, s->count, spans + s->count, s->list);
	free(spans);
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].name)
			s->list[kept++] = s->list[i];
	s->count = kept;
	return image_symbols_build(s->list, s->count, source, ret);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_ARENA_H
#define CULPRIT_UTIL_ARENA_H

#include <stddef.h>

/* Memory for one query or one parse, in pieces that are freed together. An arena has a maximum:
 * past it, or when there is no memory, an allocation returns NULL. */
struct arena;

struct arena *arena_new(size_t max_bytes); /* NULL when out of memory */
void arena_free(struct arena *a);
void *arena_alloc(struct arena *a, size_t size);		  /* zeroed, aligned to 16 bytes */
char *arena_strndup(struct arena *a, const char *s, size_t size); /* adds a terminator */
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

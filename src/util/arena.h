/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_ARENA_H
#define CULPRIT_UTIL_ARENA_H

#include <stddef.h>

/* Memory for one query or one parse, freed whole. Has a maximum. */
struct arena;

struct arena *arena_new(size_t max_bytes); /* NULL when out of memory */
void arena_free(struct arena *a);
void *arena_alloc(struct arena *a, size_t size); /* zeroed, aligned to 16; NULL past the maximum */
char *arena_strndup(struct arena *a, const char *s, size_t size); /* adds the terminator */
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

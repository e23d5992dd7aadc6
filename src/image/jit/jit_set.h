/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_JIT_JIT_SET_H
#define CULPRIT_IMAGE_JIT_JIT_SET_H

#include <stddef.h>
#include <stdint.h>
#include "image/symbols.h"
#include "util/arena.h"

/* Functions in the order in which they were made; internal to the readers of jit.h. */
#define JIT_NAME_MAX 4096 /* the rest of a longer name is cut */

struct jit_set {
	struct image_symbol *list; /* names in the arena */
	size_t count, room;
	struct arena *names;
};

int jit_set_init(struct jit_set *s, size_t max_bytes);
void jit_set_free(struct jit_set *s); /* what it owns, not s itself */
/* -EINVAL: an empty name or a range that wraps around; -ENOSPC: past the maximum. */
int jit_set_add(struct jit_set *s, uint64_t start, uint64_t size, const char *name,
		size_t name_size);
/*
 * What is left at the end: a function that begins within one made later is gone, since its code was
 * overwritten. source is static.
 */
int jit_set_finish(struct jit_set *s, const char *source, struct image_symbols **ret);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_STACKS_UNWIND_CACHE_H
#define CULPRIT_COLLECT_STACKS_UNWIND_CACHE_H

#include <stdint.h>
#include "collect/host/cache_store.h"
#include "image/python.h"
#include "unwind/unwind.h"

/*
 * Unwind tables that are kept from one recording to the next, so that a large one is made once
 * (cache_store.h). What is read is trusted no more than what a worker says: it is checked the same
 * way. Every function takes NULL for a cache that is not available.
 */
struct unwind_cache;

#define UNWIND_CACHE_BYTES (256u << 20) /* on disk: the least used make room */

/* NULL: this user's own. NULL when there is no place for it, or no memory. */
struct unwind_cache *unwind_cache_new(const char *directory);
void unwind_cache_free(struct unwind_cache *c); /* writes what was to be kept */

/* The table of an open file, if it was kept, and the interpreter in it (of version 0: none). 0 or
 * -ENOENT; the key is for unwind_cache_take. */
int unwind_cache_read(struct unwind_cache *c, int fd, struct cache_key *key,
		      struct image_unwind **ret, struct image_python *ret_python);
/*
 * Takes a table over, which was made after unwind_cache_read. It will be kept unless the file
 * changed meanwhile or a moment before: small ones too, for which a worker need not be started.
 */
void unwind_cache_take(struct unwind_cache *c, int fd, const struct cache_key *key,
		       struct image_unwind *u, const struct image_python *python);
/* Writes one of those; for moments when nobody waits. */
void unwind_cache_write(struct unwind_cache *c);

struct unwind_cache_counters {
	uint64_t read, written;
	uint64_t damaged; /* files that are not what was written */
	uint64_t evicted, failed;
};
void unwind_cache_count(const struct unwind_cache *c, struct unwind_cache_counters *ret);

#endif

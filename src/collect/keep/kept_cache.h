/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_KEEP_KEPT_CACHE_H
#define CULPRIT_COLLECT_KEEP_KEPT_CACHE_H

#include <stdint.h>
#include "db/counters.h"
#include "find/find.h"

/*
 * Symbols, code and source lines of files, kept from one recording to the next (cache_store.h), so
 * that a new database gets those of libc without their being read, sorted and compressed again. An
 * entry is good for a file and its separate debug file while neither was changed; for the kernel,
 * its modules and BPF programs until the next boot; and it is what this user's program made itself,
 * never what some database had. Safe between threads. Every function takes NULL for a cache that is
 * not available.
 */
struct kept_cache;

#define KEPT_CACHE_BYTES (256u << 20) /* on disk: the least used make room */

/* directory NULL: this user's own. NULL when there is no place for it, or no memory. */
struct kept_cache *kept_cache_new(const char *directory);
void kept_cache_free(struct kept_cache *c);

/* image_finder_keep, from the cache or into it. */
int kept_cache_keep(struct kept_cache *c, struct image_finder *finder, const struct image_id *id,
		    const char *path);

/* image_finder_keep_functions, with source lines from the cache, or into it. */
int kept_cache_keep_functions(struct kept_cache *c, struct image_finder *finder,
			      const struct image_id *id, const char *path,
			      const uint64_t *addresses, size_t count);

struct kept_cache_counters {
	COUNTERS_OF_KEPT_CACHE(COUNTER_FIELD)
};
void kept_cache_count(struct kept_cache *c, struct kept_cache_counters *ret);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_CACHE_STORE_H
#define CULPRIT_COLLECT_CACHE_STORE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What is made of files and kept from one recording to the next: a file each, in a directory that
 * only this user may write (cache_directory.h). A file is known by its place and its times of
 * change, not by its build-id, which any file may claim to have; and by the program that made of it
 * what is kept. The least used make room.
 */
struct cache_store {
	char path[PATH_MAX];
	int directory; /* -1: not open */
	bool measured; /* bytes is known */
	uint64_t bytes, most_bytes, program[4];
	uint64_t evicted;
};

/* A file, as it was when it was asked for. */
struct cache_key {
	uint64_t device, inode, size;
	int64_t modified_s, modified_ns, changed_s, changed_ns;
	uint64_t program[4];
};

#define CACHE_NAME_BYTES 17

/* directory NULL: the user's own of this name. False when there is no place for it; close only what
 * was opened. */
bool cache_store_open(struct cache_store *s, const char *directory, const char *name,
		      uint64_t most_bytes);
void cache_store_close(struct cache_store *s);

/* -ENOENT: it has no name any more, and will not be met again. */
int cache_store_key(const struct cache_store *s, int fd, struct cache_key *ret);
/* Whether it was changed so lately that it may change within the same tick. */
bool cache_key_is_fresh(const struct cache_key *key);
/* Of its entry: a file that was changed replaces what it was. */
void cache_key_name(const struct cache_key *key, char out[CACHE_NAME_BYTES]);

/* A descriptor of an entry, or a negative errno. */
int cache_store_look(const struct cache_store *s, const char *name);
/* An entry that was of use: stays. */
void cache_store_note_use(int fd);
/* A crash may leave half of it: what is kept has a sum. 0 or a negative errno. */
int cache_store_put(struct cache_store *s, const char *name, const void *data, size_t size);

#endif

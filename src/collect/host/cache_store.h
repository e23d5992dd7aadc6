/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_HOST_CACHE_STORE_H
#define CULPRIT_COLLECT_HOST_CACHE_STORE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "util/buf.h"

/*
 * What is made of files and kept from one recording to the next: a file each, in a directory that
 * only this user may write (cache_directory.h). A file is known by its place and its times of
 * change, not by its build ID, which any file may claim to have; and by a sum of the sources that
 * make what is kept from it, so that another build of this program can use it too unless these have
 * changed. The least used make room.
 */
struct cache_store {
	char path[PATH_MAX];
	int directory; /* -1: not open */
	bool measured; /* bytes is known */
	uint64_t bytes, most_bytes;
	uint64_t evicted;
};

/* A file, as it was when it was asked for. */
struct cache_key {
	uint64_t device, inode, size;
	int64_t modified_s, modified_ns, changed_s, changed_ns;
	uint64_t makers;
};

#define CACHE_NAME_BYTES 17

/* directory NULL: the user's own of this name. False when there is no place for it; close only what
 * was opened. */
bool cache_store_open(struct cache_store *s, const char *directory, const char *name,
		      uint64_t most_bytes);
void cache_store_close(struct cache_store *s);

/* -ENOENT: it has no name any more, and will not be met again. */
int cache_store_key(int fd, struct cache_key *ret);
/* Whether it was changed so lately that it may change within the same tick. */
bool cache_key_is_fresh(const struct cache_key *key);
/* The name of its entry: a file that was changed replaces its former state. */
void cache_key_name(const struct cache_key *key, char out[CACHE_NAME_BYTES]);

/* A descriptor of an entry, or a negative errno. */
int cache_store_look(const struct cache_store *s, const char *name);
/* Notes that an entry was of use, so that it stays. */
void cache_store_note_use(int fd);

/*
 * An entry is a sum of what follows, what it is good for (a key), and what is kept, uncompressed:
 * packing and unpacking a small one takes longer than making it. A crash may leave half of it.
 */

/* What is kept, at most max_bytes, at ret_data, in memory to be freed. 0, -ENOENT (of another state
 * of the file), -EBADMSG or -ENOMEM. */
int cache_entry_read(int fd, const void *key, size_t key_size, size_t max_bytes, void **ret_memory,
		     struct cursor *ret_data);
/* Begins an entry; what is kept is to be appended. */
void cache_entry_begin(struct buf *entry, const void *key, size_t key_size, size_t max_bytes);
/* Writes it, and frees it. 0 (too large is not a failure) or a negative errno. */
int cache_entry_put(struct cache_store *s, const char *name, struct buf *entry);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/stacks/unwind_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "util/buf.h"

#define TABLE_BYTES_MAX	  (64u << 20)
#define WAITING_BYTES_MAX (32u << 20)
#define WAITING_MAX	  64

struct waiting {
	struct cache_key key;
	struct image_unwind *u;
	struct image_python python;
};

struct unwind_cache {
	struct cache_store store;
	bool failed; /* nothing more is written */
	uint64_t waiting_bytes;
	struct waiting waiting[WAITING_MAX];
	unsigned waiting_count;
	struct unwind_cache_counters counters;
};

struct unwind_cache *unwind_cache_new(const char *directory)
{
	struct unwind_cache *c = calloc(1, sizeof(*c));

	if (c && !cache_store_open(&c->store, directory, "unwind", UNWIND_CACHE_BYTES)) {
		free(c);
		return NULL;
	}
	return c;
}

void unwind_cache_free(struct unwind_cache *c)
{
	if (!c)
		return;
	while (c->waiting_count)
		unwind_cache_write(c);
	cache_store_close(&c->store);
	free(c);
}

int unwind_cache_read(struct unwind_cache *c, int fd, struct cache_key *key,
		      struct image_unwind **ret, struct image_python *ret_python)
{
	char name[CACHE_NAME_BYTES];
	struct cursor table;
	const void *python;
	void *memory;
	int entry, r;

	if (!c || cache_store_key(fd, key))
		return -ENOENT;
	cache_key_name(key, name);
	entry = r = cache_store_look(&c->store, name);
	if (entry >= 0) {
		r = cache_entry_read(entry, key, sizeof(*key), TABLE_BYTES_MAX, &memory, &table);
		if (!r) {
			python = cursor_bytes(&table, sizeof(*ret_python));
			r = python ? image_unwind_take(memory, table.at, cursor_left(&table), ret)
				   : -EBADMSG;
			if (!r)
				memcpy(ret_python, python, sizeof(*ret_python));
			else
				free(memory);
		}
		if (!r)
			cache_store_note_use(entry);
		close(entry);
	}
	if (!r)
		c->counters.read++;
	else if (r != -ENOENT)
		c->counters.damaged++;
	return r ? -ENOENT : 0;
}

static uint64_t table_bytes(const struct image_unwind *u)
{
	return u->row_count * sizeof(*u->rows) + u->rule_count * sizeof(*u->rules);
}

void unwind_cache_take(struct unwind_cache *c, int fd, const struct cache_key *key,
		       struct image_unwind *u, const struct image_python *python)
{
	struct cache_key now;
	uint64_t bytes = table_bytes(u);

	if (!c || c->failed || cache_store_key(fd, &now) || memcmp(&now, key, sizeof(now)) != 0 ||
	    cache_key_is_fresh(key) || bytes > TABLE_BYTES_MAX / 2 ||
	    c->waiting_bytes + bytes > WAITING_BYTES_MAX || c->waiting_count == WAITING_MAX) {
		image_unwind_free(u);
		return;
	}
	c->waiting[c->waiting_count++] = (struct waiting){*key, u, *python};
	c->waiting_bytes += bytes;
}

static int write_table(struct unwind_cache *c, const struct waiting *w)
{
	char name[CACHE_NAME_BYTES];
	struct buf entry;

	cache_key_name(&w->key, name);
	cache_entry_begin(&entry, &w->key, sizeof(w->key), TABLE_BYTES_MAX);
	buf_append(&entry, &w->python, sizeof(w->python));
	image_unwind_save(w->u, &entry);
	return cache_entry_put(&c->store, name, &entry);
}

void unwind_cache_write(struct unwind_cache *c)
{
	struct waiting *w;

	if (!c || !c->waiting_count)
		return;
	w = &c->waiting[--c->waiting_count];
	c->waiting_bytes -= table_bytes(w->u);
	if (!c->failed && write_table(c, w)) {
		c->failed = true;
		c->counters.failed++;
	} else if (!c->failed) {
		c->counters.written++;
	}
	image_unwind_free(w->u);
}

void unwind_cache_count(const struct unwind_cache *c, struct unwind_cache_counters *ret)
{
	*ret = c ? c->counters : (struct unwind_cache_counters){0};
	if (c)
		ret->evicted = c->store.evicted;
}

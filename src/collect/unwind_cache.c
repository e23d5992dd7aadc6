/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/unwind_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "db/blob.h"
#include "util/buf.h"
#include "util/io.h"

#define TABLE_BYTES_MAX	  (64u << 20)
#define WAITING_BYTES_MAX (32u << 20)
#define WAITING_MAX	  64
/* Smaller ones are made as fast as they are read. */
#define WORTH_ROWS	 4096
#define WORTH_CODE_BYTES (64u << 10)

struct waiting {
	struct cache_key key;
	struct image_unwind *u;
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

static int load_entry(int fd, const struct cache_key *key, struct image_unwind **ret)
{
	void *data;
	size_t size;
	int r = db_blob_unpack(&io_system, fd, TABLE_BYTES_MAX, &data, &size);

	if (r)
		return r;
	if (size < sizeof(*key))
		r = -EBADMSG;
	else if (memcmp(data, key, sizeof(*key)) != 0)
		r = -ENOENT;
	else
		r = image_unwind_load((char *)data + sizeof(*key), size - sizeof(*key), ret);
	free(data);
	return r;
}

int unwind_cache_read(struct unwind_cache *c, int fd, struct cache_key *key,
		      struct image_unwind **ret)
{
	char name[CACHE_NAME_BYTES];
	int entry, r;

	if (!c || cache_store_key(&c->store, fd, key))
		return -ENOENT;
	cache_key_name(key, name);
	entry = r = cache_store_look(&c->store, name);
	if (entry >= 0) {
		r = load_entry(entry, key, ret);
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
		       struct image_unwind *u)
{
	struct cache_key now;
	uint64_t bytes = table_bytes(u);

	if (!c || c->failed || cache_store_key(&c->store, fd, &now) ||
	    memcmp(&now, key, sizeof(now)) != 0 || cache_key_is_fresh(key) ||
	    (u->row_count < WORTH_ROWS && u->derived_bytes < WORTH_CODE_BYTES) ||
	    bytes > TABLE_BYTES_MAX / 2 || c->waiting_bytes + bytes > WAITING_BYTES_MAX ||
	    c->waiting_count == WAITING_MAX) {
		image_unwind_free(u);
		return;
	}
	c->waiting[c->waiting_count++] = (struct waiting){*key, u};
	c->waiting_bytes += bytes;
}

static int write_table(struct unwind_cache *c, const struct waiting *w)
{
	char name[CACHE_NAME_BYTES];
	struct buf plain, packed;
	int r;

	cache_key_name(&w->key, name);
	buf_init(&plain, TABLE_BYTES_MAX);
	buf_init(&packed, 2 * (size_t)TABLE_BYTES_MAX);
	buf_append(&plain, &w->key, sizeof(w->key));
	r = image_unwind_save(w->u, &plain);
	if (!r)
		r = db_blob_pack(plain.data, plain.size, &packed);
	if (!r)
		r = cache_store_put(&c->store, name, packed.data, packed.size);
	buf_free(&plain);
	buf_free(&packed);
	return r;
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

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/keep/kept_cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collect/host/cache_store.h"
#include "collect/host/host.h"
#include "collect/host/makers_sum.h"
#include "util/hash.h"

#define ENTRY_BYTES_MAX ((uint64_t)64 << 20)
#define LINES		"-lines"
#define NAME_BYTES	(CACHE_NAME_BYTES + sizeof(LINES))

struct kept_cache {
	pthread_mutex_t lock; /* of what is written, and the counters */
	struct cache_store store;
	bool failed;
	struct kept_cache_counters counters;
};

/* What an entry is good for. */
struct entry_key {
	struct cache_key file, debug; /* debug: zeros where there is none */
	struct image_id id;
};

/* Of an image: what is known of it, before the blobs. */
struct image_head {
	uint64_t bytes[IMAGE_KEPT_BLOBS];
	uint64_t machine, bits, in_pieces, without_lines;
};

struct kept_cache *kept_cache_new(const char *directory)
{
	struct kept_cache *c = calloc(1, sizeof(*c));

	if (c && !cache_store_open(&c->store, directory, "kept", KEPT_CACHE_BYTES)) {
		free(c);
		return NULL;
	}
	if (c)
		pthread_mutex_init(&c->lock, NULL);
	return c;
}

void kept_cache_free(struct kept_cache *c)
{
	if (!c)
		return;
	cache_store_close(&c->store);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* What is told by the kernel that runs: it has no file, and stays what it is until a reboot. */
static int make_kernel_key(const struct image_id *id, struct entry_key *ret)
{
	char boot[64];
	long size = host_read_text("", "/proc/sys/kernel/random/boot_id", boot, sizeof(boot));

	if (size <= 0)
		return -ENOENT;
	memset(ret, 0, sizeof(*ret));
	ret->id = *id;
	ret->file.makers = MAKERS_SUM;
	ret->file.device = hash_bytes(boot, (size_t)size);
	ret->file.inode = hash_bytes(id, sizeof(*id));
	return 0;
}

static int make_key(struct image_finder *finder, const struct image_id *id, const char *path,
		    struct entry_key *ret)
{
	int fds[2], r;

	if (image_id_is_kernel(id) || id->kind == IMAGE_BPF)
		return make_kernel_key(id, ret);
	r = image_finder_open_files(finder, id, path, fds);
	if (r)
		return r;
	memset(ret, 0, sizeof(*ret));
	ret->id = *id;
	r = cache_store_key(fds[0], &ret->file);
	if (!r && fds[1] >= 0)
		r = cache_store_key(fds[1], &ret->debug);
	close(fds[0]);
	if (fds[1] >= 0)
		close(fds[1]);
	return r;
}

/* The blobs are where they lie in *ret_memory, which is to be freed; their data must not be. */
static int read_image(int fd, const struct entry_key *key, void **ret_memory,
		      struct image_kept *ret)
{
	struct image_head head = {{0}};
	struct cursor c;
	const void *at;
	int r = cache_entry_read(fd, key, sizeof(*key), ENTRY_BYTES_MAX, ret_memory, &c);

	if (r)
		return r;
	at = cursor_bytes(&c, sizeof(head));
	if (at)
		memcpy(&head, at, sizeof(head));
	for (size_t i = 0; i < IMAGE_KEPT_BLOBS && !r; i++) {
		at = cursor_bytes(&c, head.bytes[i]);
		r = at ? 0 : -EBADMSG;
		if (at)
			ret->blobs[i] = (struct buf){.data = (uint8_t *)at, .size = head.bytes[i]};
	}
	if (!r && cursor_left(&c))
		r = -EBADMSG;
	ret->machine = (uint16_t)head.machine;
	ret->bits = (uint8_t)head.bits;
	ret->in_pieces = head.in_pieces != 0;
	ret->without_lines = head.without_lines != 0;
	return r;
}

/* kind: "", or what it is beside symbols and code. */
static void name_entry(const struct entry_key *key, const char *kind, char out[NAME_BYTES])
{
	char file[CACHE_NAME_BYTES];

	cache_key_name(&key->file, file);
	snprintf(out, NAME_BYTES, "%s%s", file, kind);
}

static int look(struct kept_cache *c, const struct entry_key *key, const char *kind)
{
	char name[NAME_BYTES];
	int fd;

	name_entry(key, kind, name);
	pthread_mutex_lock(&c->lock);
	fd = cache_store_look(&c->store, name);
	pthread_mutex_unlock(&c->lock);
	return fd;
}

/* r: of reading an entry. */
static void count_read(struct kept_cache *c, int r)
{
	pthread_mutex_lock(&c->lock);
	c->counters.read += r == 0;
	c->counters.damaged += r == -EBADMSG;
	pthread_mutex_unlock(&c->lock);
}

static int adopt(struct kept_cache *c, struct image_finder *finder, const struct entry_key *key,
		 const char *path)
{
	struct image_kept kept = {0};
	void *memory = NULL;
	int fd = look(c, key, ""), r;

	if (fd < 0)
		return fd;
	r = read_image(fd, key, &memory, &kept);
	if (r)
		count_read(c, r);
	if (!r)
		r = image_finder_adopt(finder, &key->id, path, &kept);
	if (!r) {
		cache_store_note_use(fd);
		count_read(c, 0);
	}
	free(memory);
	close(fd);
	return r;
}

/* Writes an entry, unless a file changed meanwhile, or so lately that it may change unseen. */
static void offer(struct kept_cache *c, struct image_finder *finder, const struct entry_key *key,
		  const char *path, const char *kind, struct buf *entry)
{
	struct entry_key now;
	char name[NAME_BYTES];

	if (make_key(finder, &key->id, path, &now) || memcmp(&now, key, sizeof(now)) != 0 ||
	    cache_key_is_fresh(&key->file) || cache_key_is_fresh(&key->debug)) {
		buf_free(entry);
		return;
	}
	name_entry(key, kind, name);
	pthread_mutex_lock(&c->lock);
	if (c->failed) {
		buf_free(entry);
	} else {
		c->failed = cache_entry_put(&c->store, name, entry) < 0;
		c->counters.failed += c->failed;
		c->counters.written += !c->failed;
	}
	pthread_mutex_unlock(&c->lock);
}

static void offer_kept(struct kept_cache *c, struct image_finder *finder,
		       const struct entry_key *key, const char *path, const struct image_kept *kept)
{
	struct image_head head = {.machine = kept->machine,
				  .bits = kept->bits,
				  .in_pieces = kept->in_pieces,
				  .without_lines = kept->without_lines};
	struct buf entry;

	for (size_t i = 0; i < IMAGE_KEPT_BLOBS; i++)
		head.bytes[i] = kept->blobs[i].size;
	cache_entry_begin(&entry, key, sizeof(*key), ENTRY_BYTES_MAX);
	buf_append(&entry, &head, sizeof(head));
	for (size_t i = 0; i < IMAGE_KEPT_BLOBS; i++)
		buf_append(&entry, kept->blobs[i].data, kept->blobs[i].size);
	offer(c, finder, key, path, "", &entry);
}

int kept_cache_keep(struct kept_cache *c, struct image_finder *finder, const struct image_id *id,
		    const char *path)
{
	struct entry_key key;
	struct image_kept kept;
	int r;

	if (!c || make_key(finder, id, path, &key))
		return image_finder_keep(finder, id, path, NULL);
	if (!adopt(c, finder, &key, path))
		return 0;
	image_kept_init(&kept);
	if (image_finder_keep_new(finder, id, path, &kept, &r))
		offer_kept(c, finder, &key, path, &kept);
	image_kept_free(&kept);
	return r;
}

/* Ascending and disjoint. */
static bool ranges_make_sense(const struct image_range *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].start >= list[i].end || (i && list[i].start < list[i - 1].end))
			return false;
	return true;
}

/* Two numbers, the ranges that were asked for, and the blob, if there is one. */
static int read_lines(int fd, const struct entry_key *key, struct image_kept_lines *ret)
{
	const struct image_range *asked;
	struct cursor c;
	uint64_t count;
	void *memory;
	int r = cache_entry_read(fd, key, sizeof(*key), ENTRY_BYTES_MAX, &memory, &c);

	if (r)
		return r;
	count = cursor_u64(&c);
	ret->readings = cursor_u64(&c);
	asked = count > cursor_left(&c) / sizeof(*asked) ? NULL
							 : cursor_bytes(&c, count * sizeof(*asked));
	if (!asked || !ranges_make_sense(asked, count)) {
		free(memory);
		return -EBADMSG;
	}
	r = buf_append(&ret->packed, c.at, cursor_left(&c));
	if (!r) {
		ret->asked = malloc((count + 1) * sizeof(*asked));
		r = ret->asked ? 0 : -ENOMEM;
	}
	if (!r) {
		memcpy(ret->asked, asked, count * sizeof(*asked));
		ret->asked_count = count;
	}
	free(memory);
	return r;
}

static void offer_lines(struct kept_cache *c, struct image_finder *finder,
			const struct entry_key *key, const char *path,
			const struct image_kept_lines *lines)
{
	struct buf entry;

	cache_entry_begin(&entry, key, sizeof(*key), ENTRY_BYTES_MAX);
	buf_append_u64(&entry, lines->asked_count);
	buf_append_u64(&entry, lines->readings);
	buf_append(&entry, lines->asked, lines->asked_count * sizeof(*lines->asked));
	buf_append(&entry, lines->packed.data, lines->packed.size);
	offer(c, finder, key, path, LINES, &entry);
}

int kept_cache_keep_functions(struct kept_cache *c, struct image_finder *finder,
			      const struct image_id *id, const char *path,
			      const uint64_t *addresses, size_t count)
{
	struct image_kept_lines lines;
	struct entry_key key;
	int fd, r;

	if (!c || !image_finder_wants_lines(finder, id, path, addresses, count) ||
	    make_key(finder, id, path, &key))
		return image_finder_keep_functions(finder, id, path, addresses, count, NULL, NULL);
	image_kept_lines_init(&lines);
	fd = look(c, &key, LINES);
	if (fd >= 0) {
		r = read_lines(fd, &key, &lines);
		count_read(c, r);
		if (!r)
			cache_store_note_use(fd);
		close(fd);
	}
	r = image_finder_keep_functions(finder, id, path, addresses, count, &lines, NULL);
	if (lines.is_new)
		offer_lines(c, finder, &key, path, &lines);
	image_kept_lines_free(&lines);
	return r;
}

void kept_cache_count(struct kept_cache *c, struct kept_cache_counters *ret)
{
	*ret = (struct kept_cache_counters){0};
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	*ret = c->counters;
	pthread_mutex_unlock(&c->lock);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/kept_cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "collect/cache_store.h"
#include "util/hash.h"
#include "util/io.h"

#define ENTRY_BYTES_MAX ((uint64_t)64 << 20)

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

/* Before the blobs. */
struct entry_head {
	struct entry_key key;
	uint64_t bytes[IMAGE_KEPT_BLOBS];
	uint64_t machine, bits, in_pieces, without_lines;
	uint64_t sum; /* of the blobs, and of the head with 0 here */
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

static int make_key(const struct kept_cache *c, struct image_finder *finder,
		    const struct image_id *id, const char *path, struct entry_key *ret)
{
	int fds[2], r = image_finder_open_files(finder, id, path, fds);

	if (r)
		return r;
	memset(ret, 0, sizeof(*ret));
	ret->id = *id;
	r = cache_store_key(&c->store, fds[0], &ret->file);
	if (!r && fds[1] >= 0)
		r = cache_store_key(&c->store, fds[1], &ret->debug);
	close(fds[0]);
	if (fds[1] >= 0)
		close(fds[1]);
	return r;
}

static uint64_t sum_of(const struct entry_head *head, const void *blobs, size_t size)
{
	struct entry_head plain = *head;
	uint64_t sums[2];

	plain.sum = 0;
	sums[0] = hash_bytes(&plain, sizeof(plain));
	sums[1] = hash_bytes(blobs, size);
	return hash_bytes(sums, sizeof(sums));
}

static bool is_whole(const struct entry_head *h, const uint8_t *blobs, size_t size)
{
	return h->bytes[0] <= size && h->bytes[1] == size - h->bytes[0] &&
	       h->sum == sum_of(h, blobs, size);
}

/* 0, -ENOENT (of another state of the file) or -EBADMSG. */
static int read_entry(int fd, const struct entry_key *key, struct image_kept *ret)
{
	struct entry_head head;
	struct stat st;
	uint8_t *blobs;
	size_t size;
	int r;

	if (fstat(fd, &st) || st.st_size < (off_t)sizeof(head) ||
	    st.st_size > (off_t)(ENTRY_BYTES_MAX + sizeof(head)) ||
	    io_read_all(&io_system, fd, &head, sizeof(head), 0))
		return -EBADMSG;
	if (memcmp(&head.key, key, sizeof(*key)) != 0)
		return -ENOENT;
	size = (size_t)st.st_size - sizeof(head);
	blobs = malloc(size + 1);
	if (!blobs)
		return -ENOMEM;
	r = io_read_all(&io_system, fd, blobs, size, sizeof(head));
	if (!r && !is_whole(&head, blobs, size))
		r = -EBADMSG;
	for (size_t i = 0, at = 0; i < IMAGE_KEPT_BLOBS && !r; at += head.bytes[i++])
		r = buf_append(&ret->blobs[i], blobs + at, head.bytes[i]);
	free(blobs);
	ret->machine = (uint16_t)head.machine;
	ret->bits = (uint8_t)head.bits;
	ret->in_pieces = head.in_pieces != 0;
	ret->without_lines = head.without_lines != 0;
	return r;
}

static int adopt(struct kept_cache *c, struct image_finder *finder, const struct entry_key *key,
		 const char *path)
{
	char name[CACHE_NAME_BYTES];
	struct image_kept kept;
	int fd, r;

	cache_key_name(&key->file, name);
	pthread_mutex_lock(&c->lock);
	fd = cache_store_look(&c->store, name);
	pthread_mutex_unlock(&c->lock);
	if (fd < 0)
		return fd;
	image_kept_init(&kept);
	r = read_entry(fd, key, &kept);
	pthread_mutex_lock(&c->lock);
	c->counters.damaged += r == -EBADMSG;
	pthread_mutex_unlock(&c->lock);
	if (!r)
		r = image_finder_adopt(finder, &key->id, path, &kept);
	if (!r)
		cache_store_note_use(fd);
	image_kept_free(&kept);
	close(fd);
	return r;
}

static int write_entry(struct kept_cache *c, const struct entry_key *key,
		       const struct image_kept *kept)
{
	const struct buf *blobs = kept->blobs;
	struct entry_head head;
	char name[CACHE_NAME_BYTES];
	struct buf out;
	int r;

	memset(&head, 0, sizeof(head));
	head.key = *key;
	head.machine = kept->machine;
	head.bits = kept->bits;
	head.in_pieces = kept->in_pieces;
	head.without_lines = kept->without_lines;
	buf_init(&out, ENTRY_BYTES_MAX + sizeof(head));
	buf_append(&out, &head, sizeof(head));
	for (size_t i = 0; i < IMAGE_KEPT_BLOBS; i++) {
		head.bytes[i] = blobs[i].size;
		buf_append(&out, blobs[i].data, blobs[i].size);
	}
	r = out.error;
	if (!r) {
		head.sum = sum_of(&head, out.data + sizeof(head), out.size - sizeof(head));
		memcpy(out.data, &head, sizeof(head));
		cache_key_name(&key->file, name);
		r = cache_store_put(&c->store, name, out.data, out.size);
	}
	buf_free(&out);
	return r == -EFBIG ? 0 : r;
}

/* Unless a file changed meanwhile, or so lately that it may change unseen. */
static void offer(struct kept_cache *c, struct image_finder *finder, const struct entry_key *key,
		  const char *path, const struct image_kept *kept)
{
	struct entry_key now;

	if (make_key(c, finder, &key->id, path, &now) || memcmp(&now, key, sizeof(now)) != 0 ||
	    cache_key_is_fresh(&key->file) || cache_key_is_fresh(&key->debug))
		return;
	pthread_mutex_lock(&c->lock);
	if (!c->failed && write_entry(c, key, kept)) {
		c->failed = true;
		c->counters.failed++;
	} else if (!c->failed) {
		c->counters.written++;
	}
	pthread_mutex_unlock(&c->lock);
}

int kept_cache_keep(struct kept_cache *c, struct image_finder *finder, const struct image_id *id,
		    const char *path)
{
	struct entry_key key;
	struct image_kept kept;
	int r;

	if (!c || make_key(c, finder, id, path, &key))
		return image_finder_keep(finder, id, path, NULL);
	if (!adopt(c, finder, &key, path)) {
		pthread_mutex_lock(&c->lock);
		c->counters.read++;
		pthread_mutex_unlock(&c->lock);
		return 0;
	}
	image_kept_init(&kept);
	if (image_finder_keep_new(finder, id, path, &kept, &r))
		offer(c, finder, &key, path, &kept);
	image_kept_free(&kept);
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

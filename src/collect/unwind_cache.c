/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/unwind_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "collect/cache_directory.h"
#include "db/blob.h"
#include "util/buf.h"
#include "util/hash.h"
#include "util/io.h"

#define TABLE_BYTES_MAX	  (64u << 20)
#define WAITING_BYTES_MAX (32u << 20)
#define WAITING_MAX	  64
/* Smaller ones are made as fast as they are read. */
#define WORTH_ROWS	 4096
#define WORTH_CODE_BYTES (64u << 10)
#define SETTLED_S	 2    /* a file that was changed since may change within the same tick */
#define USED_S		 3600 /* when it was last used is noted no more often than this */
#define NAME_BYTES	 17
#define TEMPORARY	 ".tmp"

struct waiting {
	struct unwind_cache_key key;
	struct image_unwind *u;
};

struct unwind_cache {
	char path[PATH_MAX];
	int directory; /* -1: not open */
	bool failed;   /* nothing more is written */
	bool measured; /* bytes is known */
	uint64_t bytes, waiting_bytes, program[4];
	struct waiting waiting[WAITING_MAX];
	unsigned waiting_count;
	struct unwind_cache_counters counters;
};

struct unwind_cache *unwind_cache_new(const char *directory)
{
	struct unwind_cache *c = calloc(1, sizeof(*c));
	char name[32];
	struct stat st;
	bool found;

	snprintf(name, sizeof(name), "unwind-%u", (unsigned)geteuid());
	found = c && stat("/proc/self/exe", &st) == 0 &&
		(directory ? (size_t)snprintf(c->path, PATH_MAX, "%s", directory) < PATH_MAX
			   : cache_directory_find(name, c->path));
	if (!found) {
		free(c);
		return NULL;
	}
	/* Another build of this program may make other tables. */
	c->program[0] = st.st_dev;
	c->program[1] = st.st_ino;
	c->program[2] = (uint64_t)st.st_size;
	c->program[3] = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	c->directory = cache_open(AT_FDCWD, c->path, S_IFDIR);
	return c;
}

void unwind_cache_free(struct unwind_cache *c)
{
	if (!c)
		return;
	while (c->waiting_count)
		unwind_cache_write(c);
	if (c->directory >= 0)
		close(c->directory);
	free(c);
}

static int make_key(const struct unwind_cache *c, int fd, struct unwind_cache_key *ret)
{
	struct stat st;

	/* What has no name any more will not be met again. */
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_nlink)
		return -ENOENT;
	*ret = (struct unwind_cache_key){
		.device = st.st_dev,
		.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.modified_s = st.st_mtim.tv_sec,
		.modified_ns = st.st_mtim.tv_nsec,
		.changed_s = st.st_ctim.tv_sec,
		.changed_ns = st.st_ctim.tv_nsec,
	};
	memcpy(ret->program, c->program, sizeof(ret->program));
	return 0;
}

/* A file that was changed replaces what it was. */
static void make_name(const struct unwind_cache_key *key, char out[NAME_BYTES])
{
	uint64_t place[] = {key->device, key->inode, key->program[0], key->program[1]};

	snprintf(out, NAME_BYTES, "%016llx", (unsigned long long)hash_bytes(place, sizeof(place)));
}

static void note_use(int fd)
{
	const struct timespec now[] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
	struct stat st;

	if (fstat(fd, &st) == 0 && time(NULL) - st.st_mtim.tv_sec > USED_S)
		futimens(fd, now);
}

static int load_entry(int fd, const struct unwind_cache_key *key, struct image_unwind **ret)
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

int unwind_cache_read(struct unwind_cache *c, int fd, struct unwind_cache_key *key,
		      struct image_unwind **ret)
{
	char name[NAME_BYTES];
	int entry, r;

	if (!c || make_key(c, fd, key) || c->directory < 0)
		return -ENOENT;
	make_name(key, name);
	entry = r = cache_open(c->directory, name, S_IFREG);
	if (entry >= 0) {
		r = load_entry(entry, key, ret);
		if (!r)
			note_use(entry);
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

void unwind_cache_take(struct unwind_cache *c, int fd, const struct unwind_cache_key *key,
		       struct image_unwind *u)
{
	struct unwind_cache_key now;
	uint64_t bytes = table_bytes(u);

	if (!c || c->failed || make_key(c, fd, &now) || memcmp(&now, key, sizeof(now)) != 0 ||
	    time(NULL) - key->changed_s < SETTLED_S ||
	    (u->row_count < WORTH_ROWS && u->derived_bytes < WORTH_CODE_BYTES) ||
	    bytes > TABLE_BYTES_MAX / 2 || c->waiting_bytes + bytes > WAITING_BYTES_MAX ||
	    c->waiting_count == WAITING_MAX) {
		image_unwind_free(u);
		return;
	}
	c->waiting[c->waiting_count++] = (struct waiting){*key, u};
	c->waiting_bytes += bytes;
}

struct entry {
	const char *name;
	uint64_t bytes;
	time_t used;
};

static int compare_use(const void *a, const void *b)
{
	const struct entry *p = a, *q = b;

	return p->used < q->used ? -1 : p->used > q->used;
}

/* What is there, the least used first, in one block to free(), as are the names. */
static int list_entries(struct unwind_cache *c, struct entry **ret, size_t *ret_count,
			char **ret_names)
{
	size_t count = 0, names_count;
	struct entry *list;
	const char *name;
	int r = io_system.list(NULL, c->directory, ret_names, &names_count);

	if (r)
		return r;
	list = calloc(names_count + 1, sizeof(*list));
	if (!list) {
		free(*ret_names);
		return -ENOMEM;
	}
	name = *ret_names;
	for (size_t i = 0; i < names_count; i++, name += strlen(name) + 1) {
		struct stat st;

		if (fstatat(c->directory, name, &st, AT_SYMLINK_NOFOLLOW) || S_ISDIR(st.st_mode))
			continue;
		list[count++] = (struct entry){name, (uint64_t)st.st_size, st.st_mtim.tv_sec};
	}
	qsort(list, count, sizeof(*list), compare_use);
	*ret = list;
	*ret_count = count;
	return 0;
}

/* Files that another program of this user's is writing are not old; those of one that died are. */
static bool is_left_over(const struct entry *e)
{
	size_t size = strlen(e->name), end = sizeof(TEMPORARY) - 1;

	return size > end && !strcmp(e->name + size - end, TEMPORARY) &&
	       time(NULL) - e->used > USED_S;
}

/* Adds up what is there, and deletes the least used if with so much more it were too much. */
static int make_room(struct unwind_cache *c, uint64_t bytes)
{
	struct entry *list;
	size_t count;
	char *names;
	int r;

	if (c->measured && c->bytes + bytes <= UNWIND_CACHE_BYTES)
		return 0;
	r = list_entries(c, &list, &count, &names);
	if (r)
		return r;
	c->bytes = 0;
	c->measured = true;
	for (size_t i = 0; i < count; i++)
		c->bytes += list[i].bytes;
	for (size_t i = 0; i < count; i++) {
		bool full = c->bytes + bytes > UNWIND_CACHE_BYTES;

		if ((full || is_left_over(&list[i])) &&
		    unlinkat(c->directory, list[i].name, 0) == 0) {
			c->bytes -= list[i].bytes;
			c->counters.evicted += full;
		}
	}
	free(list);
	free(names);
	return c->bytes + bytes > UNWIND_CACHE_BYTES ? -ENOSPC : 0;
}

/* A crash may leave half of a file: its sum tells. */
static int no_sync(void *arg, int fd)
{
	(void)arg, (void)fd;
	return 0;
}

static int write_table(struct unwind_cache *c, const struct waiting *w)
{
	struct io io = io_system;
	char name[NAME_BYTES];
	struct buf plain, packed;
	int r;

	io.sync_data = no_sync;
	if (c->directory < 0) {
		cache_directory_make(c->path);
		c->directory = cache_open(AT_FDCWD, c->path, S_IFDIR);
	}
	if (c->directory < 0)
		return c->directory;
	make_name(&w->key, name);
	buf_init(&plain, TABLE_BYTES_MAX);
	buf_init(&packed, 2 * (size_t)TABLE_BYTES_MAX);
	buf_append(&plain, &w->key, sizeof(w->key));
	r = image_unwind_save(w->u, &plain);
	if (!r)
		r = db_blob_pack(plain.data, plain.size, &packed);
	if (!r)
		r = make_room(c, packed.size);
	if (!r)
		r = io_place_file(&io, c->directory, name, packed.data, packed.size, 0600);
	if (!r)
		c->bytes += packed.size;
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
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/cache_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "collect/cache_directory.h"
#include "util/hash.h"
#include "util/io.h"

#define SETTLED_S 2    /* a file that was changed since may change within the same tick */
#define USED_S	  3600 /* when it was last used is noted no more often than this */
#define TEMPORARY ".tmp"

bool cache_store_open(struct cache_store *s, const char *directory, const char *name,
		      uint64_t most_bytes)
{
	char own[64];
	struct stat st;

	*s = (struct cache_store){.directory = -1, .most_bytes = most_bytes};
	snprintf(own, sizeof(own), "%s-%u", name, (unsigned)geteuid());
	if (stat("/proc/self/exe", &st) ||
	    !(directory ? (size_t)snprintf(s->path, PATH_MAX, "%s", directory) < PATH_MAX
			: cache_directory_find(own, s->path)))
		return false;
	/* Another build of this program may make something else of a file. */
	s->program[0] = st.st_dev;
	s->program[1] = st.st_ino;
	s->program[2] = (uint64_t)st.st_size;
	s->program[3] = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	s->directory = cache_open(AT_FDCWD, s->path, S_IFDIR);
	return true;
}

void cache_store_close(struct cache_store *s)
{
	if (s->directory >= 0)
		close(s->directory);
	s->directory = -1;
}

int cache_store_key(const struct cache_store *s, int fd, struct cache_key *ret)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_nlink)
		return -ENOENT;
	*ret = (struct cache_key){
		.device = st.st_dev,
		.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.modified_s = st.st_mtim.tv_sec,
		.modified_ns = st.st_mtim.tv_nsec,
		.changed_s = st.st_ctim.tv_sec,
		.changed_ns = st.st_ctim.tv_nsec,
	};
	memcpy(ret->program, s->program, sizeof(ret->program));
	return 0;
}

bool cache_key_is_fresh(const struct cache_key *key)
{
	return time(NULL) - key->changed_s < SETTLED_S;
}

void cache_key_name(const struct cache_key *key, char out[CACHE_NAME_BYTES])
{
	uint64_t place[] = {key->device, key->inode, key->program[0], key->program[1]};

	snprintf(out, CACHE_NAME_BYTES, "%016llx",
		 (unsigned long long)hash_bytes(place, sizeof(place)));
}

int cache_store_look(const struct cache_store *s, const char *name)
{
	return s->directory < 0 ? -ENOENT : cache_open(s->directory, name, S_IFREG);
}

void cache_store_note_use(int fd)
{
	const struct timespec now[] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
	struct stat st;

	if (fstat(fd, &st) == 0 && time(NULL) - st.st_mtim.tv_sec > USED_S)
		futimens(fd, now);
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
static int list_entries(struct cache_store *s, struct entry **ret, size_t *ret_count,
			char **ret_names)
{
	size_t count = 0, names_count;
	struct entry *list;
	const char *name;
	int r = io_system.list(NULL, s->directory, ret_names, &names_count);

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

		if (fstatat(s->directory, name, &st, AT_SYMLINK_NOFOLLOW) || S_ISDIR(st.st_mode))
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
static int make_room(struct cache_store *s, uint64_t bytes)
{
	struct entry *list;
	size_t count;
	char *names;
	int r;

	if (s->measured && s->bytes + bytes <= s->most_bytes)
		return 0;
	r = list_entries(s, &list, &count, &names);
	if (r)
		return r;
	s->bytes = 0;
	s->measured = true;
	for (size_t i = 0; i < count; i++)
		s->bytes += list[i].bytes;
	for (size_t i = 0; i < count; i++) {
		bool full = s->bytes + bytes > s->most_bytes;

		if ((full || is_left_over(&list[i])) &&
		    unlinkat(s->directory, list[i].name, 0) == 0) {
			s->bytes -= list[i].bytes;
			s->evicted += full;
		}
	}
	free(list);
	free(names);
	return s->bytes + bytes > s->most_bytes ? -ENOSPC : 0;
}

static int no_sync(void *arg, int fd)
{
	(void)arg, (void)fd;
	return 0;
}

int cache_store_put(struct cache_store *s, const char *name, const void *data, size_t size)
{
	struct io io = io_system;
	int r;

	io.sync_data = no_sync;
	if (s->directory < 0) {
		cache_directory_make(s->path);
		s->directory = cache_open(AT_FDCWD, s->path, S_IFDIR);
	}
	if (s->directory < 0)
		return s->directory;
	r = make_room(s, size);
	if (!r)
		r = io_place_file(&io, s->directory, name, data, size, 0600);
	if (!r)
		s->bytes += size;
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/host/cache_store.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include "collect/host/cache_directory.h"
#include "collect/host/makers_sum.h"
#include "util/array.h"
#include "util/hash.h"
#include "util/io.h"

#define SETTLED_S 2 /* a file that was changed since may change within the same tick */
/* When an entry was last used is noted no more often than this. It must be much less than what it
 * takes to fill the store: else what is used all the time is older than what was made since once.
 */
#define USED_S	    60
#define TEMPORARY   ".tmp"
#define LEFT_OVER_S 3600
#define ROOM_PART   8 /* of a full store, that is left free */

bool cache_store_open(struct cache_store *s, const char *directory, const char *name,
		      uint64_t most_bytes)
{
	char own[64];

	*s = (struct cache_store){.directory = -1, .most_bytes = most_bytes};
	snprintf(own, sizeof(own), "%s-%u", name, (unsigned)geteuid());
	if (!(directory ? (size_t)snprintf(s->path, PATH_MAX, "%s", directory) < PATH_MAX
			: cache_directory_find(own, s->path)))
		return false;
	s->directory = cache_open(AT_FDCWD, s->path, S_IFDIR);
	return true;
}

void cache_store_close(struct cache_store *s)
{
	if (s->directory >= 0)
		close(s->directory);
	s->directory = -1;
}

/* Whether a file's times and numbers are the kernel's, not those of whoever made an image of a file
 * system, which a user may mount and unmount. */
static bool is_told_by_kernel(int fd, const struct stat *st)
{
	static const uint32_t images[] = {SQUASHFS_MAGIC,  ISOFS_SUPER_MAGIC,	 MSDOS_SUPER_MAGIC,
					  UDF_SUPER_MAGIC, EROFS_SUPER_MAGIC_V1, FUSE_SUPER_MAGIC};
	struct statfs of;

	if (fstatfs(fd, &of) || major(st->st_dev) == LOOP_MAJOR)
		return false;
	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++)
		if ((uint32_t)of.f_type == images[i])
			return false;
	return true;
}

int cache_store_key(int fd, struct cache_key *ret)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_nlink || !is_told_by_kernel(fd, &st))
		return -ENOENT;
	*ret = (struct cache_key){
		.device = st.st_dev,
		.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.modified_s = st.st_mtim.tv_sec,
		.modified_ns = st.st_mtim.tv_nsec,
		.changed_s = st.st_ctim.tv_sec,
		.changed_ns = st.st_ctim.tv_nsec,
		.makers = MAKERS_SUM,
	};
	return 0;
}

bool cache_key_is_fresh(const struct cache_key *key)
{
	return time(NULL) - key->changed_s < SETTLED_S;
}

void cache_key_name(const struct cache_key *key, char out[CACHE_NAME_BYTES])
{
	uint64_t place[] = {key->device, key->inode, key->makers};

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
		/* Small ones take more of the disk than they have bytes. */
		uint64_t bytes = (uint64_t)st.st_size, held = 512 * (uint64_t)st.st_blocks;
		list[count++] =
			(struct entry){name, held > bytes ? held : bytes, st.st_mtim.tv_sec};
	}
	array_sort(list, count, sizeof(*list), compare_use);
	*ret = list;
	*ret_count = count;
	return 0;
}

/* Files that another program of this user's is writing are not old; those of one that died are. */
static bool is_left_over(const struct entry *e)
{
	size_t size = strlen(e->name), end = sizeof(TEMPORARY) - 1;

	return size > end && !strcmp(e->name + size - end, TEMPORARY) &&
	       time(NULL) - e->used > LEFT_OVER_S;
}

/* Adds up what is there, and deletes the least used if with so much more it were too much: some
 * more of them, since to list all for each entry takes longer than most take to make. */
static int make_room(struct cache_store *s, uint64_t bytes)
{
	uint64_t most = s->most_bytes;
	struct entry *list;
	size_t count;
	char *names;

	if (s->measured && s->bytes + bytes <= s->most_bytes)
		return 0;
	int r = list_entries(s, &list, &count, &names);
	if (r)
		return r;
	s->bytes = 0;
	s->measured = true;
	for (size_t i = 0; i < count; i++)
		s->bytes += list[i].bytes;
	if (s->bytes + bytes > most)
		most -= most / ROOM_PART;
	for (size_t i = 0; i < count; i++) {
		bool full = s->bytes + bytes > most;

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

int cache_entry_read(int fd, const void *key, size_t key_size, size_t max_bytes, void **ret_memory,
		     struct cursor *ret_data)
{
	const size_t head = sizeof(uint64_t) + key_size;
	struct stat st;
	uint64_t sum;
	uint8_t *all;
	size_t size;

	if (fstat(fd, &st) || st.st_size < (off_t)head || st.st_size > (off_t)(max_bytes + head))
		return -EBADMSG;
	size = (size_t)st.st_size;
	all = malloc(size);
	if (!all)
		return -ENOMEM;
	int r = io_read_all(&io_system, fd, all, size, 0);
	memcpy(&sum, all, sizeof(sum));
	if (!r && sum != hash_bytes(all + sizeof(sum), size - sizeof(sum)))
		r = -EBADMSG;
	else if (!r && memcmp(all + sizeof(sum), key, key_size) != 0)
		r = -ENOENT;
	if (r) {
		free(all);
		return r;
	}
	*ret_memory = all;
	*ret_data = cursor_over(all + head, size - head);
	return 0;
}

void cache_entry_begin(struct buf *entry, const void *key, size_t key_size, size_t max_bytes)
{
	uint64_t sum = 0;

	buf_init(entry, max_bytes + sizeof(sum) + key_size);
	buf_append(entry, &sum, sizeof(sum));
	buf_append(entry, key, key_size);
}

static int put(struct cache_store *s, const char *name, const void *data, size_t size)
{
	struct io io = io_system;

	io.sync_data = no_sync;
	if (s->directory < 0) {
		cache_directory_make(s->path);
		s->directory = cache_open(AT_FDCWD, s->path, S_IFDIR);
	}
	if (s->directory < 0)
		return s->directory;
	int r = make_room(s, size);
	if (!r)
		r = io_place_file(&io, s->directory, name, data, size, 0600);
	if (!r)
		s->bytes += size;
	return r;
}

int cache_entry_put(struct cache_store *s, const char *name, struct buf *entry)
{
	int r = entry->error == -EFBIG ? 0 : entry->error;
	uint64_t sum;

	if (!entry->error) {
		sum = hash_bytes(entry->data + sizeof(sum), entry->size - sizeof(sum));
		memcpy(entry->data, &sum, sizeof(sum));
		r = put(s, name, entry->data, entry->size);
	}
	buf_free(entry);
	return r;
}

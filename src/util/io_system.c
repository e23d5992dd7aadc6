/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>
#include "util/buf.h"
#include "util/clock.h"
#include "util/hand_over.h"
#include "util/io.h"

/* The real system calls: failures are returned as a negative errno, interrupted calls are
 * repeated. */

#define LIST_MAX_BYTES ((size_t)256 << 20)
#define CREATE_TRIES   8

#define RETRY(expression)                                            \
	({                                                           \
		__typeof__(expression) result_;                      \
		do                                                   \
			result_ = (expression);                      \
		while (result_ < 0 && errno == EINTR);               \
		result_ < 0 ? (__typeof__(result_))-errno : result_; \
	})

/* Opens a file that exists or makes it, and tells these cases apart. -ENOENT: it appeared and
 * vanished meanwhile. */
static int open_or_create(int dirfd, const char *path, int flags, mode_t mode)
{
	int fd = RETRY(openat(dirfd, path, flags | O_EXCL, mode));

	if (fd == -EEXIST && !(flags & O_EXCL))
		return RETRY(openat(dirfd, path, flags & ~O_CREAT));
	if (fd >= 0)
		hand_over_file(dirfd, fd);
	return fd;
}

static int system_open(void *arg, int dirfd, const char *path, int flags, mode_t mode)
{
	int fd = -ENOENT;

	(void)arg;
	flags |= O_CLOEXEC;
	if (!(flags & O_CREAT))
		return RETRY(openat(dirfd, path, flags));
	for (int tries = 0; tries < CREATE_TRIES && fd == -ENOENT; tries++)
		fd = open_or_create(dirfd, path, flags, mode);
	return fd;
}

static ssize_t system_read(void *arg, int fd, void *data, size_t size, uint64_t offset)
{
	(void)arg;
	if (offset > INT64_MAX)
		return -EINVAL;
	return RETRY(pread(fd, data, size, (off_t)offset));
}

static ssize_t system_write(void *arg, int fd, const void *data, size_t size)
{
	(void)arg;
	return RETRY(write(fd, data, size));
}

static int system_stat(void *arg, int fd, struct stat *ret)
{
	(void)arg;
	return RETRY(fstat(fd, ret));
}

static int system_sync_data(void *arg, int fd)
{
	(void)arg;
	return RETRY(fdatasync(fd));
}

static int system_sync_dir(void *arg, int fd)
{
	(void)arg;
	return RETRY(fsync(fd));
}

static int system_rename(void *arg, int dirfd, const char *from, const char *to)
{
	(void)arg;
	return RETRY(renameat(dirfd, from, dirfd, to));
}

static int system_unlink(void *arg, int dirfd, const char *path, int flags)
{
	(void)arg;
	return RETRY(unlinkat(dirfd, path, flags));
}

static int system_mkdir(void *arg, int dirfd, const char *path, mode_t mode)
{
	(void)arg;
	return hand_over_mkdir(dirfd, path, mode);
}

static int list_names(DIR *dir, struct buf *names, size_t *ret_count)
{
	struct dirent *entry;
	size_t count = 0;

	for (;;) {
		errno = 0;
		entry = readdir(dir);
		if (!entry)
			break;
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (buf_append(names, entry->d_name, strlen(entry->d_name) + 1))
			return names->error;
		count++;
	}
	if (errno)
		return -errno;
	*ret_count = count;
	return buf_reserve(names, 0) ? 0 : names->error; /* a block to free() even for none */
}

static int system_list(void *arg, int fd, char **ret_names, size_t *ret_count)
{
	struct buf names;
	size_t count = 0;
	DIR *dir;
	int copy, r;

	/* Opened again rather than dup'ed: a dup shares the position with the caller's fd. */
	copy = system_open(arg, fd, ".", O_RDONLY | O_DIRECTORY, 0);
	if (copy < 0)
		return copy;
	dir = fdopendir(copy);
	if (!dir) {
		r = -errno;
		close(copy);
		return r;
	}
	buf_init(&names, LIST_MAX_BYTES);
	r = list_names(dir, &names, &count);
	closedir(dir);
	if (r) {
		buf_free(&names);
		return r;
	}
	*ret_names = (char *)names.data;
	*ret_count = count;
	return 0;
}

static int system_lock(void *arg, int fd)
{
	(void)arg;
	return RETRY(flock(fd, LOCK_EX | LOCK_NB));
}

static int system_close(void *arg, int fd)
{
	(void)arg;
	/* Linux has closed it even when interrupted: never again. */
	return close(fd) && errno != EINTR ? -errno : 0;
}

static void read_boot_id(char out[37])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? fd : io_read(fd, out, 36);

	out[n > 0 ? n : 0] = 0;
	if (fd >= 0)
		close(fd);
}

static void system_time(void *arg, struct io_time *ret)
{
	struct timespec boot = {0};

	(void)arg;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	*ret = (struct io_time){
		.wall_ns = clock_wall_ns(),
		.boot_ns = (uint64_t)boot.tv_sec * 1000000000u + (uint64_t)boot.tv_nsec,
	};
	read_boot_id(ret->boot_id);
}

const struct io io_system = {
	.open = system_open,
	.read = system_read,
	.write = system_write,
	.stat = system_stat,
	.sync_data = system_sync_data,
	.sync_dir = system_sync_dir,
	.rename = system_rename,
	.unlink = system_unlink,
	.mkdir = system_mkdir,
	.list = system_list,
	.lock = system_lock,
	.close = system_close,
	.time = system_time,
};

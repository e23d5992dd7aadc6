/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_FUZZ_MEMORY_H
#define CULPRIT_FUZZ_MEMORY_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "util/io.h"

/* A directory whose every file has these bytes, and whose listing they are. */
struct fuzz_memory {
	const uint8_t *data;
	size_t size;
};

static int fuzz_memory_open(void *arg, int dirfd, const char *path, int flags, mode_t mode)
{
	(void)arg, (void)dirfd, (void)path, (void)flags, (void)mode;
	return 1000;
}

static ssize_t fuzz_memory_read(void *arg, int fd, void *data, size_t size, uint64_t offset)
{
	const struct fuzz_memory *m = arg;

	(void)fd;
	if (offset >= m->size)
		return 0;
	size = size < m->size - offset ? size : m->size - offset;
	memcpy(data, m->data + offset, size);
	return (ssize_t)size;
}

static int fuzz_memory_stat(void *arg, int fd, struct stat *ret)
{
	const struct fuzz_memory *m = arg;

	(void)fd;
	*ret = (struct stat){.st_mode = S_IFREG | 0600, .st_size = (off_t)m->size};
	return 0;
}

/* Names end with zero bytes. */
static int fuzz_memory_list(void *arg, int fd, char **ret_names, size_t *ret_count)
{
	const struct fuzz_memory *m = arg;
	size_t count = 0;
	char *names = malloc(m->size + 1);

	(void)fd;
	if (!names)
		return -ENOMEM;
	memcpy(names, m->data, m->size);
	names[m->size] = 0;
	for (size_t at = 0; at < m->size; at += strlen(names + at) + 1)
		count++;
	*ret_names = names;
	*ret_count = count;
	return 0;
}

static int fuzz_memory_close(void *arg, int fd)
{
	(void)arg, (void)fd;
	return 0;
}

/* For reading only. */
static inline struct io fuzz_memory_io(struct fuzz_memory *m)
{
	return (struct io){.open = fuzz_memory_open,
			   .read = fuzz_memory_read,
			   .stat = fuzz_memory_stat,
			   .list = fuzz_memory_list,
			   .close = fuzz_memory_close,
			   .arg = m};
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/host/remembered.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "collect/host/cache_directory.h"
#include "util/hash.h"
#include "util/io.h"

#define FILE_MAX (REMEMBERED_KEY + REMEMBERED_TEXT)

static void name_file(const char *key, char out[32])
{
	snprintf(out, 32, "%016llx", (unsigned long long)hash_bytes(key, strlen(key)));
}

static bool is_key(const char *key)
{
	return strlen(key) < REMEMBERED_KEY && !strchr(key, '\n');
}

static int read_text(int fd, const char *key, char ret[REMEMBERED_TEXT])
{
	char all[FILE_MAX];
	ssize_t size = io_pread(fd, all, sizeof(all), 0);
	size_t head = strlen(key);

	if (size < 0 || (size_t)size == sizeof(all) || memchr(all, 0, (size_t)size))
		return -ENOENT;
	all[size] = 0;
	if ((size_t)size <= head || memcmp(all, key, head) != 0 || all[head] != '\n' ||
	    (size_t)size - head > REMEMBERED_TEXT)
		return -ENOENT;
	memcpy(ret, all + head + 1, (size_t)size - head);
	return 0;
}

int remembered_read(const char *directory, const char *key, char ret[REMEMBERED_TEXT])
{
	char own[PATH_MAX], name[32];
	int dir, fd, r;

	if (!is_key(key) || (!directory && !cache_directory_find("measured", own)))
		return -ENOENT;
	dir = cache_open(AT_FDCWD, directory ? directory : own, S_IFDIR);
	if (dir < 0)
		return -ENOENT;
	name_file(key, name);
	fd = cache_open(dir, name, S_IFREG);
	close(dir);
	if (fd < 0)
		return -ENOENT;
	r = read_text(fd, key, ret);
	close(fd);
	return r;
}

int remembered_write(const char *directory, const char *key, const char *text)
{
	char own[PATH_MAX], name[32], all[FILE_MAX];
	int dir, r, size;

	if (!is_key(key) || strlen(text) >= REMEMBERED_TEXT)
		return -EINVAL;
	if (!directory && !cache_directory_find("measured", own))
		return -ENOENT;
	directory = directory ? directory : own;
	cache_directory_make(directory);
	dir = cache_open(AT_FDCWD, directory, S_IFDIR);
	if (dir < 0)
		return dir;
	name_file(key, name);
	size = snprintf(all, sizeof(all), "%s\n%s", key, text);
	r = io_place_file(&io_system, dir, name, all, (size_t)size, 0644);
	close(dir);
	return r;
}

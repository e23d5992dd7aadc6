/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/remembered.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "config.h"
#include "util/hash.h"
#include "util/io.h"

#define FILE_MAX (REMEMBERED_KEY + REMEMBERED_TEXT)

static bool find_directory(char out[PATH_MAX])
{
	const char *home = secure_getenv("HOME"), *cache = secure_getenv("XDG_CACHE_HOME");
	int n;

	if (geteuid() == 0)
		n = snprintf(out, PATH_MAX, "%s/measured", CULPRIT_CACHE_DIR);
	else if (cache && *cache == '/')
		n = snprintf(out, PATH_MAX, "%s/culprit/measured", cache);
	else if (home && *home == '/')
		n = snprintf(out, PATH_MAX, "%s/.cache/culprit/measured", home);
	else
		return false;
	return n > 0 && n < PATH_MAX;
}

static void make_directories(const char *path)
{
	char part[PATH_MAX];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		mkdir(part, 0755);
	}
	mkdir(path, 0755);
}

/* The directory of root may lie in one of the daemon's user, who is not to tell root anything. */
static bool is_ours(int fd, mode_t kind)
{
	struct stat st;

	return !fstat(fd, &st) && (st.st_mode & S_IFMT) == kind && st.st_uid == geteuid() &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static int open_ours(int at, const char *name, int flags, mode_t kind)
{
	int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags);

	if (fd < 0)
		return -errno;
	if (is_ours(fd, kind))
		return fd;
	close(fd);
	return -EPERM;
}

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

	if (!is_key(key) || (!directory && !find_directory(own)))
		return -ENOENT;
	dir = open_ours(AT_FDCWD, directory ? directory : own, O_DIRECTORY, S_IFDIR);
	if (dir < 0)
		return -ENOENT;
	name_file(key, name);
	fd = open_ours(dir, name, 0, S_IFREG);
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
	if (!directory && !find_directory(own))
		return -ENOENT;
	directory = directory ? directory : own;
	make_directories(directory);
	dir = open_ours(AT_FDCWD, directory, O_DIRECTORY, S_IFDIR);
	if (dir < 0)
		return dir;
	name_file(key, name);
	size = snprintf(all, sizeof(all), "%s\n%s", key, text);
	r = io_place_file(&io_system, dir, name, all, (size_t)size, 0644);
	close(dir);
	return r;
}

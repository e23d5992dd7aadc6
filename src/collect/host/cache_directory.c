/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/host/cache_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "config.h"

bool cache_directory_find(const char *name, char out[PATH_MAX])
{
	const char *given = secure_getenv("CACHE_DIRECTORY"), *home = secure_getenv("HOME"),
		   *cache = secure_getenv("XDG_CACHE_HOME");
	int n;

	if (given && *given == '/')
		n = snprintf(out, PATH_MAX, "%.*s/%s", (int)strcspn(given, ":"), given, name);
	else if (geteuid() == 0)
		n = snprintf(out, PATH_MAX, "%s/%s", CULPRIT_CACHE_DIR, name);
	else if (cache && *cache == '/')
		n = snprintf(out, PATH_MAX, "%s/culprit/%s", cache, name);
	else if (home && *home == '/')
		n = snprintf(out, PATH_MAX, "%s/.cache/culprit/%s", home, name);
	else
		return false;
	return n > 0 && n < PATH_MAX;
}

void cache_directory_make(const char *path)
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

int cache_open(int at, const char *name, mode_t kind)
{
	int flags = kind == S_IFDIR ? O_DIRECTORY : 0;
	int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags);

	if (fd < 0)
		return -errno;
	if (is_ours(fd, kind))
		return fd;
	close(fd);
	return -EPERM;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/hand_over.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "util/sudo.h"

struct owner {
	uid_t user;
	gid_t group;
};

/* The owner that a file made in dirfd should get. False: it has the right one already. */
static bool find_owner(int dirfd, struct owner *ret)
{
	struct stat st;

	if (geteuid() != 0)
		return false;
	if (dirfd == AT_FDCWD)
		return sudo_find_caller(&ret->user, &ret->group);
	if (fstat(dirfd, &st))
		return false;
	*ret = (struct owner){st.st_uid, st.st_gid};
	return st.st_uid != 0 || st.st_gid != getegid();
}

/* Where root may not change the owner, as on a network file system, nothing can be done. */
static void give(int fd, const struct owner *to)
{
	if (fchown(fd, to->user, to->group))
		return;
}

void hand_over_file(int dirfd, int fd)
{
	struct owner owner;

	if (find_owner(dirfd, &owner))
		give(fd, &owner);
}

/* Closes fd. */
static bool is_empty(int fd)
{
	DIR *d = fdopendir(fd);
	struct dirent *e;
	bool empty = d;

	if (!d) {
		close(fd);
		return false;
	}
	while (empty && (e = readdir(d)))
		empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
	closedir(d);
	return empty;
}

/* Whether fd is the directory that we made. The owner of the directory around it could have put
 * another one there: one of his own, which need not be given to him, or one of root's that is not
 * empty. */
static bool is_new(int fd)
{
	int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	return again >= 0 && is_empty(again) && !fstat(fd, &st) && st.st_uid == 0;
}

static void hand_over(int dirfd, const char *name, const struct owner *to)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	if (is_new(fd))
		give(fd, to);
	close(fd);
}

/* Opens the parent of path, so that mkdirat(2) and openat(2) use the same one; name gets the last
 * part of path. */
static int open_parent(const char *path, char name[NAME_MAX + 1])
{
	size_t size = strlen(path), start;
	char up[PATH_MAX];
	int fd;

	while (size > 1 && path[size - 1] == '/')
		size--;
	for (start = size; start > 0 && path[start - 1] != '/'; start--)
		;
	if (snprintf(up, sizeof(up), "%.*s.", (int)start, path) >= (int)sizeof(up) ||
	    snprintf(name, NAME_MAX + 1, "%.*s", (int)(size - start), path + start) > NAME_MAX)
		return -ENAMETOOLONG;
	fd = open(up, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int hand_over_mkdir(int dirfd, const char *path, mode_t mode)
{
	struct owner owner;
	char name[NAME_MAX + 1];
	int at, r;

	if (!find_owner(dirfd, &owner))
		return mkdirat(dirfd, path, mode) ? -errno : 0;
	at = dirfd == AT_FDCWD ? open_parent(path, name) : dirfd;
	if (at < 0)
		return at;
	r = mkdirat(at, at == dirfd ? path : name, mode) ? -errno : 0;
	if (!r)
		hand_over(at, at == dirfd ? path : name, &owner);
	if (at != dirfd)
		close(at);
	return r;
}

void hand_over_made(const char *path)
{
	struct owner owner;

	if (find_owner(AT_FDCWD, &owner))
		hand_over(AT_FDCWD, path, &owner);
}

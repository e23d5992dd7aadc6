/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "util/sudo.h"

static bool is_ours(uid_t owner)
{
	uid_t user;
	gid_t group;

	return owner == 0 || owner == geteuid() ||
	       (sudo_find_caller(&user, &group) && owner == user);
}

/* sticky: a directory that others may write to is accepted when it has the sticky bit. */
static int check(int fd, bool sticky, const char *path, struct diag *diag)
{
	struct stat st;

	if (fstat(fd, &st))
		return diag_fail(diag, errno, "%s: %s", path, strerror(errno));
	if (!is_ours(st.st_uid))
		return diag_fail(diag, EPERM, "%s belongs to another user", path);
	if (st.st_mode & (S_IWGRP | S_IWOTH) && !(sticky && st.st_mode & S_ISVTX))
		return diag_fail(diag, EPERM, "%s may be written by others: chmod go-w", path);
	return 0;
}

static int check_regular(int fd, const char *path, struct diag *diag)
{
	struct stat st;

	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return 0;
	return diag_fail(diag, EINVAL, "%s is not a regular file", path);
}

/* Opens the next part of the path, which ends at end, in the directory at, which it closes. */
static int step(int at, char *path, char *part, char *end, struct diag *diag)
{
	bool last = *end == 0, next_is_last = !last && !strchr(end + 1, '/');
	int flags = last ? O_RDONLY | O_NONBLOCK | O_NOCTTY : O_PATH | O_DIRECTORY;
	int fd, r;

	*end = 0;
	fd = openat(at, part, flags | O_NOFOLLOW | O_CLOEXEC);
	r = fd < 0 ? -errno : check(fd, !last && !next_is_last, path, diag);
	if (fd < 0 && r != -ENOENT)
		diag_fail(diag, -r, "%s: %s", path, strerror(-r));
	if (!r && last)
		r = check_regular(fd, path, diag);
	if (!last)
		*end = '/';
	close(at);
	if (r && fd >= 0)
		close(fd);
	return r ?: fd;
}

int trusted_open(const char *path, struct diag *diag)
{
	char real[PATH_MAX];
	int at, r;

	if (!realpath(path, real))
		return errno == ENOENT ? -ENOENT
				       : diag_fail(diag, errno, "%s: %s", path, strerror(errno));
	at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return diag_fail(diag, errno, "/: %s", strerror(errno));
	r = check(at, true, "/", diag);
	if (r) {
		close(at);
		return r;
	}
	for (char *part = real + 1, *end; part[-1] && at >= 0; part = end + 1) {
		end = part + strcspn(part, "/");
		at = step(at, real, part, end, diag);
		if (!*end)
			break;
	}
	return at;
}

bool trusted_content(int fd, uid_t one_more)
{
	struct statvfs fs;
	struct stat st;

	return !fstat(fd, &st) && (is_ours(st.st_uid) || st.st_uid == one_more) &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH)) && !fstatvfs(fd, &fs) &&
	       !(fs.f_flag & ST_NOSUID);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Opens the very file that at (an O_PATH descriptor, which it closes) refers to: only this second
 * opening checks the right to read. */
static int open_seen(int at, struct stat *ret)
{
	struct stat st;
	char again[32];
	int fd = -EBADMSG;

	if (at < 0)
		return -errno;
	if (fstat(at, &st) == 0 && S_ISREG(st.st_mode)) {
		snprintf(again, sizeof(again), "/proc/self/fd/%d", at);
		fd = open(again, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			fd = -errno;
		else
			*ret = st;
	}
	close(at);
	return fd;
}

int foreign_open(const char *path, struct stat *ret)
{
	return open_seen(open(path, O_PATH | O_CLOEXEC), ret);
}

int foreign_open_below(const char *root, const char *path, struct stat *ret)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS};
	int top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	if (top < 0)
		return -errno;
	fd = open_seen((int)syscall(SYS_openat2, top, path, &how, sizeof(how)), ret);
	close(top);
	return fd;
}

bool foreign_is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

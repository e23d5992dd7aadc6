/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FTW_FDS 16
#define RANDOM	"XXXXXX"

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	remove(path);
	return 0;
}

void scratch_remove(const char *path)
{
	if (path)
		nftw(path, remove_one, FTW_FDS, FTW_DEPTH | FTW_PHYS);
}

/* Nobody else can put anything in the place of what is ours there. */
static bool is_trusted(int place)
{
	struct stat st;

	return !fstat(place, &st) && (st.st_uid == 0 || st.st_uid == geteuid()) &&
	       (st.st_mode & S_ISVTX || !(st.st_mode & (S_IWGRP | S_IWOTH)));
}

/* A directory of ours that nobody uses any more: whoever made it died. */
static bool is_left(int place, const char *entry)
{
	/* Not a mount: somebody else's file system says what it likes of its owner. */
	struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
			       .resolve = RESOLVE_NO_XDEV | RESOLVE_BENEATH};
	int fd = (int)syscall(SYS_openat2, place, entry, &how, sizeof(how));
	struct stat st;
	bool left;

	if (fd < 0)
		return false;
	left = !fstat(fd, &st) && st.st_uid == geteuid() && !flock(fd, LOCK_EX | LOCK_NB);
	close(fd);
	return left;
}

static void sweep(const char *place, const char *name)
{
	size_t size = strlen(name);
	DIR *dir = opendir(place);
	char *path;

	for (struct dirent *e; dir && is_trusted(dirfd(dir)) && (e = readdir(dir));) {
		if (strncmp(e->d_name, name, size) != 0 || e->d_name[size] != '.' ||
		    strlen(e->d_name + size + 1) != sizeof(RANDOM) - 1 ||
		    !is_left(dirfd(dir), e->d_name) ||
		    asprintf(&path, "%s/%s", place, e->d_name) < 0)
			continue;
		scratch_remove(path);
		free(path);
	}
	if (dir)
		closedir(dir);
}

/* It has its name when it is locked: nobody takes it for one that was left. 0 or an errno. */
static int make_locked(const char *place, const char *name, char **ret_path, int *ret_lock)
{
	char *made, *path = NULL;
	int fd = -1, r = 0;

	if (asprintf(&made, "%s/." RANDOM, place) < 0)
		return ENOMEM;
	if (!mkdtemp(made)) {
		r = errno;
		free(made);
		return r;
	}
	if (asprintf(&path, "%s/%s%s", place, name, strrchr(made, '.')) < 0) {
		path = NULL;
		r = ENOMEM;
	}
	if (!r)
		fd = open(made, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (!r && (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) ||
		   renameat2(AT_FDCWD, made, AT_FDCWD, path, RENAME_NOREPLACE)))
		r = errno;
	if (r) {
		rmdir(made);
		free(path);
		if (fd >= 0)
			close(fd);
	} else {
		*ret_path = path;
		*ret_lock = fd;
	}
	free(made);
	return r;
}

int scratch_make(const char *name, char **ret_path, int *ret_lock, struct diag *diag)
{
	const char *places[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
	int last = 0;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (places[i] && *places[i])
			sweep(places[i], name);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!places[i] || !*places[i])
			continue;
		last = make_locked(places[i], name, ret_path, ret_lock);
		if (!last)
			return 0;
	}
	return diag_fail(diag, last,
			 "cannot make a temporary directory in /dev/shm, $TMPDIR or /tmp: %s",
			 strerror(last));
}

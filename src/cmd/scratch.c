/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/scratch.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FTW_FDS 16

int scratch_make(const char *name, char **ret_path, struct diag *diag)
{
	const char *places[] = {"/dev/shm", getenv("TMPDIR"), "/tmp"};
	int last = 0;
	char *path;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (!places[i] || !*places[i])
			continue;
		if (asprintf(&path, "%s/%s.XXXXXX", places[i], name) < 0)
			return diag_fail(diag, ENOMEM, "out of memory");
		if (mkdtemp(path)) {
			*ret_path = path;
			return 0;
		}
		last = errno;
		free(path);
	}
	return diag_fail(diag, last,
			 "cannot make a temporary directory in /dev/shm, $TMPDIR or /tmp: %s",
			 strerror(last));
}

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

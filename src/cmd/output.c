/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/output.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

FILE *output_open(const char *path, struct diag *diag)
{
	FILE *f = fopen(path, "we");

	if (!f)
		diag_fail(diag, errno, "cannot write %s: %s", path, strerror(errno));
	return f;
}

int output_close(FILE *f, const char *path, int r, struct diag *diag)
{
	struct stat st;
	bool plain = !fstat(fileno(f), &st) && S_ISREG(st.st_mode);

	errno = 0;
	if (fclose(f) && !r)
		r = errno ? -errno : -EIO;
	if (!r)
		return 0;
	if (plain)
		unlink(path);
	return diag_fail(diag, -r, "cannot write %s: %s", path, strerror(-r));
}

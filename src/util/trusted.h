/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_TRUSTED_H
#define CULPRIT_UTIL_TRUSTED_H

#include <stdbool.h>
#include <sys/types.h>
#include "util/diag.h"

/*
 * Opens, to be read, a regular file of which nobody but root and the caller (also the one who
 * called root by sudo) decides what it holds or which file has its name: the file and every
 * directory from / on belong to one of them, and neither group nor others may write to any; a
 * directory on the way may be one like /tmp, in which nobody removes what is another's. Links are
 * resolved first, then none is followed, so what is checked is what is opened: use the descriptor,
 * not the path.
 *
 * A descriptor, -ENOENT (no word in diag), -EPERM (diag says who else may write where), or another
 * negative errno.
 */
int trusted_open(const char *path, struct diag *diag);

/*
 * Whether nobody but root, the caller and one more decided what the file of a descriptor holds,
 * whatever its name: it belongs to one of them, neither group nor others may write to it, and it is
 * on a file system of which the kernel would take root's set-user-ID programs for root's.
 */
bool trusted_content(int fd, uid_t one_more);

#endif

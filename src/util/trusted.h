/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_TRUSTED_H
#define CULPRIT_UTIL_TRUSTED_H

#include <stdbool.h>
#include <sys/types.h>
#include "util/diag.h"

/*
 * Opens for reading a regular file whose name and content nobody but root and the caller (or the
 * user who called sudo) controls. The file and every directory on its path, from /, must belong to
 * one of these and must not be writable for group or others; except that a directory higher up than
 * the file's own may be like /tmp, sticky. Symbolic links are resolved first and none is followed
 * after that, so that what is checked is what is opened: use the descriptor, not the path.
 *
 * Returns a descriptor, -ENOENT (nothing in diag), -EPERM (diag says which part belongs to another
 * user or may be written by others), or another negative errno.
 */
int trusted_open(const char *path, struct diag *diag);

/*
 * Whether nobody but root, the caller and the user one_more controls the content of an open file,
 * whatever its name: it belongs to one of them, is not writable for group or others, and is on a
 * file system without nosuid, that is one on which the kernel honours root's set-user-ID programs.
 */
bool trusted_content(int fd, uid_t one_more);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_FOREIGN_H
#define CULPRIT_UTIL_FOREIGN_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Opens for reading a file whose name somebody else chose. Its kind is checked before it is opened:
 * opening a FIFO would block, and opening a device may have an effect (a watchdog, a tape). Both
 * return a descriptor, with what fstat(2) says of it in ret, or a negative errno; -EBADMSG when it
 * is not a regular file.
 */
int foreign_open(const char *path, struct stat *ret);
/* The same in the tree below root, which path cannot leave. -ELOOP when any part of path is a
 * symbolic link: a user who may write to a directory on the way must not lead us to a file that
 * only we may read. */
int foreign_open_below(const char *root, const char *path, struct stat *ret);
/* Whether both are of one file, and nobody wrote to it in between. */
bool foreign_is_same(const struct stat *a, const struct stat *b);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_FOREIGN_H
#define CULPRIT_UTIL_FOREIGN_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Opens a file for reading whose name somebody else chose. It is looked at before it is opened: a
 * FIFO would hold us up, and to open a device may do something (a watchdog, a tape). Both return a
 * descriptor, or a negative errno: -EBADMSG when it is not a regular file.
 */
int foreign_open(const char *path, struct stat *ret);
/* In the tree below root, which path cannot leave; -ELOOP when there is a link anywhere in path:
 * a user who can change a directory on the way must not lead us to a file that only we may read. */
int foreign_open_below(const char *root, const char *path, struct stat *ret);
/* Whether both are of one file, and nobody wrote to it in between. */
bool foreign_is_same(const struct stat *a, const struct stat *b);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_HAND_OVER_H
#define CULPRIT_UTIL_HAND_OVER_H

#include <sys/types.h>

/*
 * The owner of what root writes into a database: it belongs to the owner of the directory
 * that it is in, so that he reads and writes his own; a database that did not exist, to the one who
 * called root by sudo (sudo.h). Only of what this process has made just now, and by its descriptor:
 * what somebody put in its place stays his, or root's. Nothing is done for another user than root;
 * where the file system does not let root, it stays root's.
 */

/* fd: of a file that was opened with O_EXCL in directory dirfd. */
void hand_over_file(int dirfd, int fd);
/* mkdirat(2), of a directory below dirfd; AT_FDCWD: of a database's, for the one who called root. 0
 * or a negative errno. */
int hand_over_mkdir(int dirfd, const char *path, mode_t mode);
/* The same for a directory that this process has made by other means, in a place where nobody else
 * may rename it. */
void hand_over_made(const char *path);

#endif

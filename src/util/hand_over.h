/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_HAND_OVER_H
#define CULPRIT_UTIL_HAND_OVER_H

#include <sys/types.h>

/*
 * Who owns what root writes into a database. Files and directories are given to the owner of the
 * directory that they are made in, so that a user can read and change his own database; a new
 * database is given to the user who became root by sudo (sudo.h). Only what this process has just
 * made is given away, and by its descriptor: what somebody else put in its place keeps its owner.
 * Processes of users other than root change nothing, and a file system that refuses chown(2) to
 * root leaves the files with root.
 */

/* fd must have been opened with O_CREAT | O_EXCL in the directory dirfd. */
void hand_over_file(int dirfd, int fd);
/* As mkdirat(2), for a directory in dirfd. With AT_FDCWD it is the directory of a new database, for
 * the user who called sudo. 0 or a negative errno. */
int hand_over_mkdir(int dirfd, const char *path, mode_t mode);
/* Gives away a directory that this process has made by other means, in a place where nobody else
 * may rename it, as the directory of a new database. */
void hand_over_made(const char *path);

#endif

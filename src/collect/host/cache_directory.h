/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_HOST_CACHE_DIRECTORY_H
#define CULPRIT_COLLECT_HOST_CACHE_DIRECTORY_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Where what can be made again is kept from one recording to the next: below $CACHE_DIRECTORY,
 * which the service manager sets, or /var/cache/culprit for root, $XDG_CACHE_HOME/culprit,
 * ~/.cache/culprit.
 */
/* The path of a directory there, which need not exist. False: there is no place. */
bool cache_directory_find(const char *name, char out[PATH_MAX]);
void cache_directory_make(const char *path); /* if it can, with its parents */
/*
 * Opens one of them, or a file in it, to be read; kind is S_IFDIR or S_IFREG. -EPERM if another
 * user could have written it, else a negative errno; links are not followed.
 */
int cache_open(int at, const char *name, mode_t kind);

#endif

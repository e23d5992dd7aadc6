/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_HOST_REMEMBERED_H
#define CULPRIT_COLLECT_HOST_REMEMBERED_H

/*
 * What was measured of this machine, so that not every start has to measure it again: a small file
 * for each key, in the directory "measured" of the cache (cache_directory.h). A key is a line that
 * names all that the measurement holds for. It can always be measured again, so nothing here fails
 * loudly, and a directory or file that another user could have written counts as missing.
 */
#define REMEMBERED_KEY	512
#define REMEMBERED_TEXT 1024

/* 0, or -ENOENT. What comes back must still be checked: an earlier version may have written it.
 * directory NULL: the user's. */
int remembered_read(const char *directory, const char *key, char ret[REMEMBERED_TEXT]);
/* Makes the directory. 0 or a negative errno, which means that it will be measured again. */
int remembered_write(const char *directory, const char *key, const char *text);

#endif

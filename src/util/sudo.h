/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_SUDO_H
#define CULPRIT_UTIL_SUDO_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * The user who became root by sudo(8), from $SUDO_UID and $SUDO_GID. False when there is none: the
 * real and effective user must be root, and the caller another user. Processes of other users get
 * false whatever their environment says.
 */
bool sudo_find_caller(uid_t *ret_user, gid_t *ret_group);

#endif

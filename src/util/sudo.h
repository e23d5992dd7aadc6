/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_SUDO_H
#define CULPRIT_UTIL_SUDO_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Who called root by sudo(8): $SUDO_UID and $SUDO_GID, of a process whose real and effective user
 * are root. False: nobody else did. A process that is not root is not asked: it gives nothing away.
 */
bool sudo_find_caller(uid_t *ret_user, gid_t *ret_group);

#endif

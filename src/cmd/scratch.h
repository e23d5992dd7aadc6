/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_SCRATCH_H
#define CULPRIT_CMD_SCRATCH_H

#include "util/diag.h"

/*
 * A directory for what nobody needs later: in memory (/dev/shm) where that can be written to, else
 * in $TMPDIR or /tmp. Only its owner may look into it. It is locked as long as *ret_lock, which the
 * caller closes after scratch_remove, is open; those of the same name and owner that nobody has
 * locked, as after kill -9, are removed first. free() the path.
 */
int scratch_make(const char *name, char **ret_path, int *ret_lock, struct diag *diag);
/* With all that is in it. path may be NULL. */
void scratch_remove(const char *path);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_SCRATCH_H
#define CULPRIT_CMD_SCRATCH_H

#include "util/diag.h"

/*
 * A directory for what nobody will ask for later: in memory (/dev/shm) where that can be written
 * to, else in $TMPDIR or /tmp. Only its owner may look into it.
 */
int scratch_make(const char *name, char **ret_path, struct diag *diag); /* free() the path */
/* With all that is in it. path may be NULL. */
void scratch_remove(const char *path);

#endif

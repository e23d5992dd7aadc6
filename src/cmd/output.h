/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_OUTPUT_H
#define CULPRIT_CMD_OUTPUT_H

#include <stdio.h>
#include "util/diag.h"

/*
 * A file that the user named for what a command makes. NULL and diag: it cannot be written. What
 * was there before is gone then, as with a shell's >.
 */
FILE *output_open(const char *path, struct diag *diag);
/*
 * Closes it. r: what writing gave so far, 0 or a negative errno, which is returned with a sentence
 * in diag if anything failed. A plain file is removed then: a part would be taken for the whole.
 */
int output_close(FILE *f, const char *path, int r, struct diag *diag);

#endif

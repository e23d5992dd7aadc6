/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_SIGNALS_H
#define CULPRIT_CMD_SIGNALS_H

#include "util/diag.h"

/*
 * Signals as a descriptor to read, so that none comes between two steps. Blocks the signals of the
 * list, which ends with 0, and SIGPIPE: a broken pipe is reported by the write that meets it.
 * Returns a non-blocking descriptor, readable when a signal is there, or a negative errno.
 */
int signals_take(const int *list, struct diag *diag);
/* The next signal that has come, 0 when there is none. */
int signals_next(int fd);

#endif

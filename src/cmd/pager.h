/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_PAGER_H
#define CULPRIT_CMD_PAGER_H

#include <stdbool.h>

/*
 * From here on the standard output, and the standard error where both are the terminal, goes
 * through $PAGER, else less -FRX; PAGER empty or "cat" is none. Does nothing if the output is
 * not a terminal, the terminal is dumb, or there is neither $PAGER nor less.
 */
void pager_start(void);

/*
 * The end of the output: waits until the user has seen it. Returns status, or CMD_FAILURE with a
 * sentence on stderr when the pager could not be run. Flush stdout first.
 */
int pager_finish(int status);

/* There is a pager, which the user may leave: a broken pipe is not a failure then. */
bool pager_was_started(void);

/* Columns of the terminal on which the standard output is seen, 0 when on none. $COLUMNS wins. */
int pager_width(void);

/* The terminal, also behind a pager: for what is drawn over. -1: stderr is not one. */
int pager_terminal_fd(void);

#endif

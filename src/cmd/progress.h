/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_PROGRESS_H
#define CULPRIT_CMD_PROGRESS_H

/*
 * One line about long work, "culprit: ...", on a terminal's stderr, drawn over until it is cleared.
 * Nothing elsewhere, nor in the first second. Cheap enough to call for each of many small steps.
 */
void progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Call before anything else is printed. */
void progress_clear(void);

#endif

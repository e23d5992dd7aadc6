/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_DIAG_H
#define CULPRIT_UTIL_DIAG_H

/*
 * The detail of an error: what went wrong, where, and what to do. Functions return a negative errno
 * and put the sentence here; the command at the top prints it once.
 */
struct diag {
	char text[1024];
};

/*
 * Formats the detail and returns -err, so that a function can fail with `return diag_fail(diag,
 * EINVAL, ...)`. err is a positive errno. diag may be NULL. The text is one line: control
 * characters in the arguments are escaped, and a text that is too long loses its middle to "...".
 */
int diag_fail(struct diag *diag, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_RENDER_WRAP_H
#define CULPRIT_RENDER_WRAP_H

#include <stddef.h>
#include <stdio.h>

/*
 * Prints one line of text, without its end, broken between words so that it fits a terminal; what
 * follows a break begins with `lead` (such as "  "). The first `taken` columns are printed already.
 * width: columns of the terminal, 0: it is none, nothing is broken. A word that is longer than a
 * line stays whole.
 */
void wrap_print(FILE *out, const char *text, size_t taken, const char *lead, int width);
/* The same for each line of a text that ends with a newline. Where a line does not begin as the
 * lead does, as many spaces lead instead. */
void wrap_print_lines(FILE *out, const char *text, const char *lead, int width);

#endif

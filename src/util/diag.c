/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "util/text.h"

#define TAIL_BYTES 512

/* Keeps the beginning and the end of a sentence that is too long: what makes it long is a name in
 * the middle, and what is wrong is said after that. */
static void shorten(struct diag *diag, const char *raw, size_t raw_size)
{
	size_t skip = raw_size > TAIL_BYTES ? raw_size - TAIL_BYTES : 0;
	char tail[TAIL_BYTES];

	while (text_escape_controls(tail, sizeof(tail), raw + skip, raw_size - skip) >=
		       sizeof(tail) ||
	       (raw[skip] & 0xc0) == 0x80)
		skip++;
	text_escape_controls(diag->text, sizeof(diag->text) - strlen(tail) - 3, raw, raw_size);
	strcat(diag->text, "...");
	strcat(diag->text, tail);
}

int diag_fail(struct diag *diag, int r, const char *format, ...)
{
	size_t raw_size;
	va_list args;
	char *raw;
	int n;

	if (!diag)
		return -r;
	/* Apart from diag->text, so that a caller may wrap the sentence of what it called. */
	va_start(args, format);
	n = vasprintf(&raw, format, args);
	va_end(args);
	if (n < 0) {
		snprintf(diag->text, sizeof(diag->text), "out of memory for an error's text");
		return -r;
	}
	raw_size = strlen(raw);
	if (text_escape_controls(diag->text, sizeof(diag->text), raw, raw_size) >=
	    sizeof(diag->text))
		shorten(diag, raw, raw_size);
	free(raw);
	return -r;
}

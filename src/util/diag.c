/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "util/text.h"

int diag_fail(struct diag *diag, int err, const char *format, ...)
{
	/* Apart from diag->text, so that a caller may wrap the sentence of the function it called.
	 */
	char raw[2 * sizeof(diag->text)];
	size_t raw_size, size;
	va_list args;
	int n;

	if (!diag)
		return -err;
	va_start(args, format);
	n = vsnprintf(raw, sizeof(raw), format, args);
	va_end(args);
	if (n < 0)
		raw[0] = 0;
	raw_size = strlen(raw);
	size = text_escape_controls(diag->text, sizeof(diag->text), raw, raw_size);
	if (size >= sizeof(diag->text)) {
		text_escape_controls(diag->text, sizeof(diag->text) - 3, raw, raw_size);
		strcat(diag->text, "...");
	}
	return -err;
}

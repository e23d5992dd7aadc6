/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/wrap.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "util/text.h"

static size_t width_of(const char *text, size_t size)
{
	char *copy = strndup(text, size);
	size_t width = copy ? text_width(copy) : size;

	free(copy);
	return width;
}

void wrap_print(FILE *out, const char *text, size_t taken, const char *lead, int width)
{
	size_t at = taken, room = width > 0 ? (size_t)width : SIZE_MAX;
	size_t least = strlen(lead);

	while (*text) {
		size_t spaces = strspn(text, " "), word = strcspn(text + spaces, " ");
		size_t wide = width_of(text + spaces, word);

		if (word && at > least && at + spaces + wide > room) {
			fprintf(out, "\n%s", lead);
			at = least;
		} else {
			fprintf(out, "%.*s", (int)spaces, text);
			at += spaces;
		}
		fprintf(out, "%.*s", (int)word, text + spaces);
		at += wide;
		text += spaces + word;
	}
}

void wrap_print_lines(FILE *out, const char *text, const char *lead, int width)
{
	size_t mark = strcspn(lead, " ");
	char spaces[64] = "";
	const char *end;

	snprintf(spaces, sizeof(spaces), "%*s", (int)strlen(lead), "");
	for (; (end = strchr(text, '\n')); text = end + 1) {
		char *line = strndup(text, (size_t)(end - text));

		if (line)
			wrap_print(out, line, 0, strncmp(line, lead, mark) ? spaces : lead, width);
		else
			fwrite(text, 1, (size_t)(end - text), out);
		putc('\n', out);
		free(line);
	}
}

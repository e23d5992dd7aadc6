/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/quote.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "util/text.h"

/* Whether nothing needs to be escaped, as in most names. */
static bool is_plain(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return true;
}

/* The caller frees the result. NULL when out of memory, which becomes the buffer's error. */
static char *escape(struct buf *b, const char *text, size_t size)
{
	size_t room = text_escape_controls(NULL, 0, text, size) + 1;
	char *safe = malloc(room);

	if (safe)
		text_escape_controls(safe, room, text, size);
	else if (!b->error)
		b->error = -ENOMEM;
	return safe;
}

size_t quote_plain(struct buf *b, const char *text, size_t size)
{
	size_t begin = b->size;
	char *safe = NULL;

	if (is_plain(text, size))
		buf_append(b, text, size);
	else if ((safe = escape(b, text, size)))
		buf_append(b, safe, strlen(safe));
	free(safe);
	return begin;
}

void quote_json(struct buf *b, const char *text)
{
	char *safe = escape(b, text, strlen(text));

	buf_append_u8(b, '"');
	for (const char *p = safe; p && *p; p++) {
		if (*p == '"' || *p == '\\')
			buf_append_u8(b, '\\');
		if (*p == '<' || *p == '>' || *p == '&')
			buf_printf(b, "\\u%04x", (unsigned char)*p);
		else
			buf_append_u8(b, (uint8_t)*p);
	}
	buf_append_u8(b, '"');
	free(safe);
}

void quote_xml(struct buf *b, const char *name, const char *text)
{
	char *safe = escape(b, text, strlen(text));

	buf_printf(b, " %s=\"", name);
	for (const char *p = safe; p && *p; p++) {
		switch (*p) {
		case '<':
			buf_printf(b, "&lt;");
			break;
		case '&':
			buf_printf(b, "&amp;");
			break;
		case '"':
			buf_printf(b, "&quot;");
			break;
		default:
			buf_append_u8(b, (uint8_t)*p);
		}
	}
	buf_append_u8(b, '"');
	free(safe);
}

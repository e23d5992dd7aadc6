/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/reading_lines.h"

#include <errno.h>
#include <string.h>
#include "util/io.h"

#define PIECE_BYTES ((size_t)1 << 20)

void reading_lines_begin(struct reading_lines *l, const struct reading *in)
{
	*l = (struct reading_lines){.in = in};
	buf_init(&l->text, READING_LINE_MAX + 2 * PIECE_BYTES);
	buf_append(&l->text, in->start ? in->start : (const uint8_t *)"", in->start_size);
}

void reading_lines_end(struct reading_lines *l)
{
	buf_free(&l->text);
}

/* Another piece behind what is left, which moves to the front. */
static int read_more(struct reading_lines *l, struct diag *diag)
{
	uint8_t *room;
	ssize_t n;

	if (l->at) {
		memmove(l->text.data, l->text.data + l->at, l->text.size - l->at);
		l->text.size -= l->at;
		l->at = 0;
	}
	if (l->text.size > READING_LINE_MAX)
		return diag_fail(diag, EBADMSG, "line %llu is longer than %zu MiB",
				 (unsigned long long)l->number + 1, READING_LINE_MAX >> 20);
	room = buf_reserve(&l->text, PIECE_BYTES);
	if (!room)
		return diag_fail(diag, ENOMEM, "out of memory");
	n = io_read(l->in->fd, room, PIECE_BYTES);
	if (n < 0)
		return diag_fail(diag, (int)-n, "cannot read: %s", strerror((int)-n));
	l->text.size += (size_t)n;
	l->read += (size_t)n;
	l->ended = n == 0;
	reading_tell(l->in, l->read, 0);
	return 0;
}

int reading_lines_next(struct reading_lines *l, const char **ret, size_t *ret_size,
		       struct diag *diag)
{
	size_t looked = 0;
	int r;

	for (;;) {
		const char *line = (const char *)l->text.data + l->at;
		size_t left = l->text.size - l->at;
		const char *end = left > looked ? memchr(line + looked, '\n', left - looked) : NULL;

		if (end || (l->ended && left)) {
			*ret = line;
			*ret_size = end ? (size_t)(end - line) : left;
			l->at += *ret_size + (end != NULL);
			l->number++;
			return 1;
		}
		if (l->ended)
			return 0;
		looked = left;
		r = read_more(l, diag);
		if (r)
			return r;
	}
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_EXCHANGE_READING_LINES_H
#define CULPRIT_EXCHANGE_READING_LINES_H

#include <stdbool.h>
#include "exchange/reading.h"
#include "util/buf.h"

/* The lines of a text; holds no more than a line and a piece of it, however long it is. */
struct reading_lines {
	const struct reading *in;
	struct buf text; /* what was read and not given yet begins at at */
	size_t at;
	uint64_t read, number; /* bytes; the last line that was given, from 1 */
	bool ended;
};

#define READING_LINE_MAX ((size_t)16 << 20)

void reading_lines_begin(struct reading_lines *l, const struct reading *in);
/* The next line without its end, valid until the next call. 1; 0: there is none; or a negative
 * errno with the sentence in diag: -EBADMSG for a line that does not end within READING_LINE_MAX.
 */
int reading_lines_next(struct reading_lines *l, const char **ret, size_t *ret_size,
		       struct diag *diag);
void reading_lines_end(struct reading_lines *l);

#endif

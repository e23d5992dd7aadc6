/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_QUOTE_H
#define CULPRIT_UTIL_QUOTE_H

#include "util/buf.h"

/*
 * Writes names from outside, of any length, to files that other programs read. What is not
 * printable UTF-8 is escaped as by text_escape_controls. Errors are kept in the buffer.
 */

/* Without quotes. Returns the offset in the buffer at which the text begins. */
size_t quote_plain(struct buf *b, const char *text, size_t size);
/* As a JSON string that may stand inside an HTML page: it holds no "<", ">" or "&", so nothing in
 * it can end the script block. */
void quote_json(struct buf *b, const char *text);
/* As an XML attribute after a space: NAME="TEXT". */
void quote_xml(struct buf *b, const char *name, const char *text);

#endif

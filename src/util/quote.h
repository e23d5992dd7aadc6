/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_QUOTE_H
#define CULPRIT_UTIL_QUOTE_H

#include "util/buf.h"

/*
 * Names from outside, of any length, for files that other programs read: what is no printable UTF-8
 * is escaped as by text_escape_controls. Errors are kept in the buffer.
 */

/* As it is. Returns where it begins in the buffer. */
size_t quote_plain(struct buf *b, const char *text, size_t size);
/* As a JSON string, which may stand in a page: it has no "<", so nothing ends its block. */
void quote_json(struct buf *b, const char *text);
/* As an attribute of XML, after a space: NAME="TEXT". */
void quote_xml(struct buf *b, const char *name, const char *text);

#endif

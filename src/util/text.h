/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_TEXT_H
#define CULPRIT_UTIL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Names from outside (files, symbols, commands, labels) may hold anything but a zero byte. Before
 * they reach a terminal, bytes that are not printable UTF-8 are written as \xNN (\n, \t as such)
 * and a backslash as two. Bidirectional and other invisible control characters count as not
 * printable. Writes at most room - 1 bytes and a terminator, never splits a character or an escape,
 * and returns the length the whole would have (as snprintf does).
 */
size_t text_escape(char *out, size_t room, const char *name, size_t size);
/* As text_escape, but leaves backslashes alone: for whole sentences, whose names may be escaped. */
size_t text_escape_controls(char *out, size_t room, const char *text, size_t size);
/* Columns that the escaped text takes on a terminal. */
size_t text_width(const char *escaped);
bool text_is_utf8(const char *s, size_t size);

/* Shell pattern (fnmatch without special leading dot). */
bool text_match_glob(const char *pattern, const char *s);

/* The size of a path without the " (deleted)" that the kernel puts behind that of a file which has
 * no name any more: one program has one name, whether it was replaced while it ran or not. */
size_t text_undeleted_size(const char *path, size_t size);

/* The form that a noun, or a noun and its verb, has behind a count: "1 sample", "0 samples". */
const char *text_plural(uint64_t count, const char *one, const char *many);
/* A time in UTC, as strftime; its size, 0 where it has none. */
size_t text_format_time(uint64_t time_ns, const char *format, char *out, size_t room);

/* A count and its noun, for "%llu %s". */
#define TEXT_COUNT(count, one, many) (unsigned long long)(count), text_plural(count, one, many)

/* Last component of a path; "" for an empty one. */
const char *text_base_name(const char *path);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_TEXT_H
#define CULPRIT_UTIL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Names from outside (files, symbols, commands, labels) may hold any byte but zero. Before they
 * reach a terminal, bytes that are not printable UTF-8 are written as \xNN (newline and tab as \n
 * and \t), and a backslash as two. Bidirectional and other invisible control characters count as
 * not printable. Writes at most room - 1 bytes and a terminator, never splits a character or an
 * escape, and returns the length that the whole text would have, as snprintf(3) does.
 */
size_t text_escape(char *out, size_t room, const char *name, size_t size);
/* As text_escape, but leaves backslashes alone: for whole sentences, in which names may have been
 * escaped already. */
size_t text_escape_controls(char *out, size_t room, const char *text, size_t size);
/* The number of columns that an escaped text takes on a terminal. */
size_t text_width(const char *escaped);
bool text_is_utf8(const char *s, size_t size);

/* Whether s matches a shell pattern, as fnmatch(3) without flags: a leading dot is not special. */
bool text_match_glob(const char *pattern, const char *s);

/* The size of a path without the " (deleted)" that the kernel appends for a file which was
 * unlinked: a program has one name, whether it was replaced while it ran or not. */
size_t text_undeleted_size(const char *path, size_t size);

/* The form of a noun, or of a noun and its verb, after a count: "1 sample", "0 samples". */
const char *text_plural(uint64_t count, const char *one, const char *many);
/* Formats a time in UTC as strftime(3) does. Returns the length, 0 when it cannot be formatted. */
size_t text_format_time(uint64_t time_ns, const char *format, char *out, size_t room);

/* A count and its noun, as arguments for "%llu %s". */
#define TEXT_COUNT(count, one, many) (unsigned long long)(count), text_plural(count, one, many)

/* The last component of a path; "" for an empty path. */
const char *text_base_name(const char *path);

#endif

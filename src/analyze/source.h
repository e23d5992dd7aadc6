/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_SOURCE_H
#define CULPRIT_ANALYZE_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include "util/diag.h"

/* Source files for listings: read once, whole, with limits; a path from DWARF may be anything. */
struct sources;

#define SOURCE_MAX_BYTES (16u << 20) /* a file */
#define SOURCE_MAX_FILES 4096

struct sources *sources_new(void);
void sources_free(struct sources *s);
/*
 * The text of a line (from 1) without its end, with tabs expanded. NULL when there is no such line
 * or file; why, in diag. Valid until the next call.
 */
const char *sources_line(struct sources *s, const char *path, uint32_t line, struct diag *diag);
/*
 * Whether the text is the one that a program was made from: by its MD5 if that is known (md5, else
 * NULL), which settles it, else by whether the file was written to after the program (built_ns,
 * since 1970; 0: not known).
 */
enum source_age {
	SOURCE_AS_BUILT, /* or nothing tells otherwise */
	SOURCE_NEWER,
	SOURCE_DIFFERS,
};

enum source_age sources_age(struct sources *s, const char *path, const uint8_t *md5,
			    uint64_t built_ns);
/* How tables name it; NULL: SOURCE_AS_BUILT. */
const char *source_age_name(enum source_age age);
/* The sentence about a path for a report's header. */
void source_age_describe(enum source_age age, const char *path, char *ret, size_t room);
/* The error that opening a file gave, "" when it was read or never asked for. */
const char *sources_problem(const struct sources *s, const char *path);

#endif

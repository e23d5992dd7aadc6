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
/* The error that opening a file gave, "" when it was read or never asked for. */
const char *sources_problem(const struct sources *s, const char *path);

#endif

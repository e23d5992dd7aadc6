/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_DEMANGLE_H
#define CULPRIT_IMAGE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* A name longer than this is shown as it is. */
#define DEMANGLE_MAX_NAME 2048
/* A name that would become longer than this is shown as it is. */
#define DEMANGLE_MAX_RESULT 8192

/*
 * The name that a programmer wrote for a C++ (Itanium ABI) or Rust (legacy and v0) symbol: without
 * parameter types and return types, with template arguments; a "@plt" at the end stays. Writes it
 * with a terminator to out and returns true; false when name is none of these, is malformed, or
 * exceeds a limit. The time is bounded by the limits: names come from hostile files.
 */
bool image_demangle(const char *name, char out[DEMANGLE_MAX_RESULT]);

#endif

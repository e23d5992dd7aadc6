/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_JIT_H
#define CULPRIT_IMAGE_JIT_H

#include <stddef.h>
#include "image/symbols.h"
#include "util/diag.h"

/*
 * Symbols of code made at run time, as its process writes them: /tmp/perf-PID.map (text: start size
 * name, hex) and jitdump files (binary, by the format of the kernel's jitdump specification). Both
 * are hostile input. fd must be a regular file; at most max_bytes of it are read.
 */
int image_perf_map_read(int fd, size_t max_bytes, struct image_symbols **ret, struct diag *diag);
int image_jitdump_read(int fd, size_t max_bytes, struct image_symbols **ret, struct diag *diag);

#endif

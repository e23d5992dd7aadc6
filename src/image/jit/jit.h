/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_JIT_JIT_H
#define CULPRIT_IMAGE_JIT_JIT_H

#include <stddef.h>
#include "image/symbols.h"
#include "util/diag.h"

/*
 * Symbols of code made at run time, as its process writes them: /tmp/perf-PID.map (text: start size
 * name, hex) and jitdump files (binary, by the format of the kernel's jitdump specification). Both
 * are hostile input and may be read while they are written: an incomplete end is left out. Later
 * code replaces earlier code that begins within it. At most max_bytes are read (of a jitdump the
 * heads of its records, not the code), and names are cut at 4 KiB; image_symbols_source() says what
 * was left out past the limit or because records made no sense. fd must be a regular file.
 * -EBADMSG: not such a file, or of the other byte order.
 */
int image_perf_map_read(int fd, size_t max_bytes, struct image_symbols **ret, struct diag *diag);
int image_jitdump_read(int fd, size_t max_bytes, struct image_symbols **ret, struct diag *diag);

#endif

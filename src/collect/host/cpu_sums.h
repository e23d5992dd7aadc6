/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_HOST_CPU_SUMS_H
#define CULPRIT_COLLECT_HOST_CPU_SUMS_H

#include <stddef.h>

/* What in-kernel programs count on each CPU, added up: entry 0 of a per-CPU array, whose values are
 * nothing but numbers of 64 bits. Zeros where it cannot be read. */
void cpu_sums_read(int map_fd, void *ret, size_t bytes);

#endif

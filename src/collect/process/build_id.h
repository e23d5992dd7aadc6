/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_PROCESS_BUILD_ID_H
#define CULPRIT_COLLECT_PROCESS_BUILD_ID_H

#include <stdbool.h>

/*
 * Whether the kernel's records of mappings may be asked to carry build IDs. Where they are asked
 * for, some kernels (6.18 and others) mark the records of every listener served afterwards as
 * carrying one, though they do not: a perf record running at the same time dies of it. Tried on a
 * mapping of this process's own; false when in doubt. Takes about a millisecond.
 */
bool build_ids_are_harmless(void);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_HOST_MAPPING_TYPES_H
#define CULPRIT_COLLECT_HOST_MAPPING_TYPES_H

#include "util/diag.h"

/*
 * Whether the running kernel has the types by which in-kernel programs find a process's mappings
 * (bpf/mapping.bpf.h). Asked when it did not accept such a program, because the verifier's own
 * words would help nobody; not before, because reading all types takes 10 ms. 0, or -EOPNOTSUPP and
 * a sentence that begins with what (a plural).
 */
int mapping_types_check(const char *what, struct diag *diag);

#endif

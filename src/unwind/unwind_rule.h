/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UNWIND_UNWIND_RULE_H
#define CULPRIT_UNWIND_UNWIND_RULE_H

#include <stdbool.h>
#include "bpf/wire_stacks.h"
#include "unwind/cfi.h"

/*
 * The rule of a row on x86-64. False when the in-kernel program could not follow it: an expression
 * of another shape than compilers, the dynamic linker's stubs and the kernel's signal frame have,
 * or an offset past 31 bits.
 */
bool unwind_rule_from_row(const struct cfi_row *row, bool signal, struct wire_unwind_rule *ret);

#endif

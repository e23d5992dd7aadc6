/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UNWIND_CODE_SWITCH_H
#define CULPRIT_UNWIND_CODE_SWITCH_H

#include <stdbool.h>
#include <stddef.h>
#include "bpf/wire_stacks.h"
#include "isa/decode.h"

/*
 * Calls made on a stack other than their function's, with the way back in memory: Go's systemstack
 * calls on the thread's stack, and afterwards reloads the goroutine's stack pointer from where it
 * keeps it, which it finds through the thread's base. The code after the call says where.
 */

/*
 * Reads the code after a call up to the return. True when it is of that kind: then *ret is the rule
 * that holds from the call on until the stack pointer is back.
 */
bool code_switch_read(const struct isa_decoder *d, const uint8_t *code, size_t size,
		      struct wire_unwind_rule *ret);

#endif

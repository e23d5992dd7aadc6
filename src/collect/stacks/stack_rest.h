/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_STACKS_STACK_REST_H
#define CULPRIT_COLLECT_STACKS_STACK_REST_H

#include <stdbool.h>
#include "bpf/wire_stacks.h"
#include "collect/process/resolve.h"
#include "collect/process/space.h"
#include "collect/stacks/stack_files.h"

/*
 * Follows a stack from where the program in the kernel met a file without a table, by the copy that
 * it made of the stack. *ret is the stack with all its frames and its end: NO_TABLE if a table is
 * lacking, if the file or its process is not known here either, or if the stack goes on past the
 * copy. What processes did until then must be known. Returns the slot of the file whose table is
 * being made, or STACK_REST_LOOKS with the tag of a file that is being looked at, if it ends there:
 * once that is done it goes further. Else 0.
 */
#define STACK_REST_LOOKS (1u << 31)
uint32_t stack_rest(struct resolver *resolver, struct stack_files *files,
		    const struct wire_snapshot *snapshot, struct wire_stack *ret);

/* Whether a mapping where a stack stopped has another file than the kernel saw there. */
bool stack_rest_is_other(const struct wire_stack *stack, const struct mapping *m);

#endif

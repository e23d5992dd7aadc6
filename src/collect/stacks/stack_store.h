/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_STACKS_STACK_STORE_H
#define CULPRIT_COLLECT_STACKS_STACK_STORE_H

#include <stdint.h>
#include "bpf/wire_stacks.h"
#include "collect/keep/keeper.h"
#include "collect/stacks/python_codes.h"
#include "collect/process/resolve.h"
#include "collect/keep/scripts.h"
#include "collect/stacks/stack_files.h"
#include "db/batch.h"

/* Puts stacks into the batch: frames become (image, offset); what is missing becomes a note. */
struct stack_store {
	/* All borrowed. */
	struct resolver *resolver;
	struct stack_files *files;
	struct db_batch *batch;
	struct scripts *scripts;
	struct python_codes *codes;
	struct keeper *keeper; /* of symbols; NULL: none */
	uint32_t batch_number; /* to be raised after each db_batch_clear */
};

/* 0, or an error of the batch (-ENOSPC: it is full). */
int stack_store(struct stack_store *s, const struct wire_stack *stack, uint64_t count);

#endif

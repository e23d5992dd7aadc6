/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_STACKS_STACK_COUNTS_H
#define CULPRIT_COLLECT_STACKS_STACK_COUNTS_H

#include <stddef.h>
#include <stdint.h>
#include "bpf/wire_stacks.h"

/*
 * Brings together what the kernel sends apart: how often a stack was met, by its key, and its
 * frames, once. Either may come first, but both come within two drains, or one of them is lost.
 */
struct stack_counts;

struct stack_counts *stack_counts_new(size_t max_stacks); /* NULL: out of memory */
void stack_counts_free(struct stack_counts *c);
void stack_counts_add(struct stack_counts *c, const struct wire_stack_key *key, uint32_t count);
/* Takes away the count of a stack whose frames have come; 0 when it has not come yet. */
uint32_t stack_counts_take(struct stack_counts *c, const struct wire_stack_key *key);
/* A drain is over: what waits for its frames since the one before waits in vain. */
void stack_counts_age(struct stack_counts *c);
/* Samples whose frames never came, whose key met another's, or for which there was no room. */
uint64_t stack_counts_lost(const struct stack_counts *c);

#endif

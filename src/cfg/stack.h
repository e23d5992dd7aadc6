/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_STACK_H
#define CULPRIT_CFG_STACK_H

#include "cfg/table_search.h"

/* True: the stack pointer is what it was at the entry when the block ends. */
int table_at_entry_height(struct table_search *t, uint32_t block, bool *ret);

#endif

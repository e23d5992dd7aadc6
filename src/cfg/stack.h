/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_STACK_H
#define CULPRIT_CFG_STACK_H

#include "cfg/table_search.h"

/* Sets *ret to whether the stack pointer at the end of the block is that of the function's entry,
 * or points into another stack. 0 or -ENOMEM. */
int table_at_entry_height(struct table_search *t, uint32_t block, bool *ret);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_TREE_ORDER_H
#define CULPRIT_ANALYZE_TREE_ORDER_H

#include "analyze/tree.h"

#define TREE_NODES_MAX (1u << 24)

/* Fills in children, from the nodes' parents; by: for each node, for each event. 0 or -ENOMEM. */
int tree_order(struct tree *t, const uint64_t *by);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_QUERY_ROWS_H
#define CULPRIT_ANALYZE_QUERY_ROWS_H

#include "analyze/query.h"

/* Appends one row; merges what there is before it takes more memory. 0 or -ENOMEM. */
int query_rows_add(struct query_part *p, uint64_t offset, uint32_t event, uint64_t count);
/* Sorts by (offset, event) and sums equal ones. 0 or -ENOMEM. */
int query_rows_merge(struct query_part *p);

#endif

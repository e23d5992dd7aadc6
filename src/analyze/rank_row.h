/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_RANK_ROW_H
#define CULPRIT_ANALYZE_RANK_ROW_H

#include "analyze/rank.h"

/* A new row with nothing counted, for those who fill a ranking. 0, -ENOSPC or -ENOMEM. */
int rank_add_row(struct rank *k, const struct query *q, const struct rank_row *shown,
		 struct rank_row **ret);

#endif

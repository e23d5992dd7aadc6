/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_LIST_TABLE_H
#define CULPRIT_CMD_LIST_TABLE_H

#include "analyze/functions.h"
#include "analyze/insight.h"
#include "analyze/listing.h"
#include "report/table.h"

/* The two tables of `culprit list`: one function's listing, or the functions to choose from. */
/* i: how often instructions ran and what they cost; NULL: not known, no columns of it. */
int list_table_make(const struct query *q, const struct function_hit *hit, const struct listing *l,
		    const struct insight *i, enum table_format format, struct table **ret);
int list_table_choices(const struct query *q, const struct functions *f, struct table **ret);

#endif

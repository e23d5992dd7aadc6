/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_PROF_PROF_BALANCE_H
#define CULPRIT_REPORT_PROF_PROF_BALANCE_H

#include "analyze/compare/balance.h"
#include "analyze/query/rank.h"
#include "render/table.h"

/* prof --by process: how evenly the samples of the first event are spread over the processes of
 * each program, a program being the processes of one command name. */
struct prof_balance;

/* Rows of a ranking by process, in the order that they will be shown in. 0 or -ENOMEM. */
int prof_balance_new(const struct query *q, const struct rank *k, struct prof_balance **ret);
void prof_balance_free(struct prof_balance *b);

/* NULL: no columns, no cells. */
void prof_balance_add_columns(struct prof_balance *b, struct table *t);
void prof_balance_set(const struct prof_balance *b, struct table *t, size_t row); /* the last */
/* A note for each program of several processes, those with most samples first. */
void prof_balance_note(const struct prof_balance *b, struct report_header *h);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_QUERY_QUERY_STATE_H
#define CULPRIT_ANALYZE_QUERY_QUERY_STATE_H

#include "analyze/query/query.h"

/* What the files of a query share. */

/* Appends one row; merges what there is before it takes more memory. 0 or -ENOMEM. */
int query_rows_add(struct query_part *p, uint64_t offset, uint32_t event, uint64_t count);
/* Appends a row to those in out[begin..*end), or adds it to the last if that has its key. row is
 * not in out. */
void query_rows_put(struct query_row *out, size_t begin, size_t *end, const struct query_row *row);
/* Sorts by (offset, event) and sums equal ones. 0 or -ENOMEM. */
int query_rows_merge(struct query_part *p);

/*
 * One event sampled at one rate today and at a neighbouring one tomorrow, as the governor chooses,
 * is still one event: its samples are added by weight, even where the rate changed within an epoch.
 * What one run sampled at once with two periods that the user gave was counted twice, and stays
 * apart.
 */

/* The event has rows in this epoch. Epochs come one after the other. */
void query_note_epoch(struct query *q, uint32_t event, const char *epoch);
/*
 * Converts the samples of an event's other periods to its commonest one (count * period stays, to
 * the rounding of the sum). Events that went into another are left with periods == 0 and no rows.
 * To be called before rows are sorted.
 */
void query_merge_periods(struct query *q);

#endif

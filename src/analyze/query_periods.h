/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_QUERY_PERIODS_H
#define CULPRIT_ANALYZE_QUERY_PERIODS_H

#include "analyze/query.h"

/*
 * One event sampled at one rate today and at a neighbouring one tomorrow, as the governor chooses,
 * is still one event: its samples are added by weight, also where it did so within an epoch. What
 * one run sampled with two periods of the user's at once was counted twice, and stays apart.
 */

/* The event has rows in this epoch. Epochs come one after the other. */
void query_note_epoch(struct query *q, uint32_t event, const char *epoch);
/*
 * Turns the samples of an event's other periods into so many of its commonest one (count * period
 * stays, to the rounding of the sum). Events that went into another are left with periods == 0 and
 * no rows. Before rows are put in order.
 */
void query_merge_periods(struct query *q);

#endif

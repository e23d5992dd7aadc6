/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_RENDER_ESTIMATE_H
#define CULPRIT_RENDER_ESTIMATE_H

#include <stddef.h>
#include "render/table.h"

/*
 * Estimates with their intervals, for people: no more digits than the interval bears. A value has
 * digits down to the place of its distance to the nearer bound, at least one; bounds have two,
 * near the value as many as go with it. An interval may be open: high is INFINITY. A value that
 * both bounds are equal to is exact: it has all its digits, and no interval.
 */
#define ESTIMATE_TEXT_MAX 96

/* "3.2", "2e+07"; a value of 0 that is not known to be 0 is empty. */
void estimate_format_value(double value, double low, double high, char out[ESTIMATE_TEXT_MAX]);
/* All of it: "3.2 (0.41 to 25, low)", "at most 4e+04 (low)", "1234567 (counted)", "not known".
 * trust: the confidence, as text. */
void estimate_format(double value, double low, double high, const char *trust,
		     char out[ESTIMATE_TEXT_MAX]);

/*
 * Columns of an estimate: in text its value under heading, and its range under range_heading, both
 * of which a narrow terminal may do without (table_set_spare: the range first); elsewhere KEY,
 * KEY_low and KEY_high. Headings NULL: not in text. Returns the first, for table_set_estimate.
 */
int table_add_estimate(struct table *t, const char *key, const char *heading,
		       const char *range_heading, int spare);
/* Without executions seen (value 0) the text stays empty. */
void table_set_estimate(struct table *t, int column, double value, double low, double high);

#endif

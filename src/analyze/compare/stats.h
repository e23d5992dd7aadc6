/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_COMPARE_STATS_H
#define CULPRIT_ANALYZE_COMPARE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Statistics of rows (functions, lines, ...) over sets of samples (runs, days, machines): Figure 3
 * of Anderson et al., SOSP 1997, and whether a row varies more than sampling alone explains
 * (doc/sets.md).
 *
 *	stats_new(sets, &s);
 *	stats_set(s, i, &set);			what each set is
 *	row = stats_add_row(s);			and for each row of the table
 *	stats_count(s, row, i, count);
 *	stats_finish(s, false_alarms);
 */

#define STATS_SETS_MAX 1000

struct stats_set {
	uint64_t samples; /* all that it has, of any row */
	double weight;	  /* > 0: what a sample of it counts for */
};

struct stats_row {
	uint64_t samples;			  /* of all sets, unweighted */
	double sum, mean, deviation, least, most; /* weighted; deviation with sets - 1 */
	double range_share;			  /* (most - least) / sum */
	double sum_share;			  /* of all rows of all sets */
	size_t present;				  /* sets that have it */
	double low, high; /* 95% interval of the mean, as sampling alone makes it uncertain */
	double sampling;  /* the deviation that sampling alone is expected to make */
	double chance;	  /* of a variation as great when nothing but sampling varies */
	double adjusted;  /* chance, for as many rows as were tested: see chance_adjust */
	bool varies;	  /* adjusted is at most the rate of false alarms */
};

struct stats;

/* -EINVAL: less than 1 or more than STATS_SETS_MAX sets; -ENOMEM. */
int stats_new(size_t sets, struct stats **ret);
void stats_free(struct stats *s);
void stats_set(struct stats *s, size_t set, const struct stats_set *value);
/* The number of the new row, or -ENOMEM. */
long stats_add_row(struct stats *s);
void stats_count(struct stats *s, size_t row, size_t set, uint64_t count);
uint64_t stats_count_of(const struct stats *s, size_t row, size_t set);

/*
 * Computes all rows. shares: weights make the sets equal in samples, so that a set's total, too, is
 * subject to sampling; false_alarms: the expected share of false ones among the rows that are said
 * to vary, and, if nothing varies, the chance that any is. 0 or -ENOMEM.
 */
int stats_finish(struct stats *s, bool shares, double false_alarms);
size_t stats_row_count(const struct stats *s);
const struct stats_row *stats_row_at(const struct stats *s, size_t row);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_QUERY_METRIC_H
#define CULPRIT_ANALYZE_QUERY_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/query/query.h"
#include "util/buf.h"
#include "util/diag.h"

/*
 * A derived metric: a formula over events, such as
 *
 *	mpki = 1000 * cache-misses / instructions
 *
 *	formula	= term { ("+" | "-") term }
 *	term	= factor { ("*" | "/") factor }
 *	factor	= "-" factor | number | name | function "(" formula { "," formula } ")" |
 *		  "(" formula ")"
 *	name	= a letter or "_", then letters, digits, "_", ".", ":", or "-" before one of these;
 *		  or anything between double quotes
 *
 * A name is an event: how often it happened, as estimated from its samples (times period, times
 * what multiplexing left out); so "a-b" is one name and "a - b" a difference. Functions: min(x, y),
 * max(x, y), samples(event), total(event): how often in all samples of the report.
 *
 * Values are never added up: a metric of several rows is computed from the sums of their counts,
 * which struct metric_sums is for.
 */
struct metric;

#define METRIC_TEXT_MAX	  4096
#define METRIC_STEPS_MAX  256 /* operations and operands of a formula */
#define METRIC_EVENTS_MAX 8   /* different events of a formula */

/* "NAME = FORMULA". -EINVAL: a sentence with the position (from 1) of what is wrong. -ENOMEM. */
int metric_new(const char *text, struct metric **ret, struct diag *diag);
void metric_free(struct metric *m);
const char *metric_name(const struct metric *m);
const char *metric_formula(const struct metric *m); /* what follows the equals sign */

/* Which of a query's events a formula's names are, and what one sample of them stands for. */
struct metric_events {
	size_t index[METRIC_EVENTS_MAX];
	double units[METRIC_EVENTS_MAX];
};

/* -ENOENT: there is no such event (diag names those there are); -EINVAL: a name means several. */
int metric_bind(const struct metric *m, const struct query *q, struct metric_events *ret,
		struct diag *diag);

/* For each event of the formula; begins as zeros. */
struct metric_sums {
	double samples[METRIC_EVENTS_MAX], happened[METRIC_EVENTS_MAX];
};

/* Adds samples of each event of the query that was bound. */
void metric_add(const struct metric *m, const struct metric_events *events, const uint64_t *counts,
		struct metric_sums *sums);
/* The value of the samples in sums; all: those of the whole report. False when it has no value: a
 * division by zero, or too large a number. */
bool metric_value(const struct metric *m, const struct metric_sums *sums,
		  const struct metric_sums *all, double *ret);
/* The steps to a value from numbers of samples, as JSON: see flame_add_metric() of render/flame.h.
 * Totals are numbers by then. */
void metric_write_steps(const struct metric *m, const struct metric_events *events,
			const struct metric_sums *all, struct buf *to);

#endif

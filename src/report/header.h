/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_HEADER_H
#define CULPRIT_REPORT_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * What every report says before its rows: which events were really used and how often they were
 * taken, what was lost or stayed unknown, over which epochs and machines, and notes (damage, what
 * was left out, why). In JSON: events [{name, period, precise, samples, scale, lost}], samples,
 * lost, lost_by_cause {cause: n}, unknown, idle, epochs, start_ns, end_ns, machine, notes; sets and
 * metrics where there are some.
 */
struct report_event {
	char *name;
	uint64_t period;
	bool precise, randomized;
	uint64_t samples, lost;
	double scale; /* enabled / running time: 1 without multiplexing */
};

struct report_counter {
	char *name; /* "ring", "throttled", ...: the cause */
	uint64_t value;
};

/* Of reports that compare: what each set is. In JSON: sets [{name, samples, seconds}]. */
struct report_set {
	char *name;
	uint64_t samples;
	double seconds; /* of collection, or of the command that was run; 0: not known */
};

/* A column computed of others. In JSON: metrics [{name, formula, of, value, undefined}]. */
struct report_metric {
	const char *name, *formula;
	const char *of;		   /* what value is of, a static text; NULL: all of the report */
	double value;		   /* computed of its totals */
	bool known;		   /* it has one */
	uint64_t undefined, cells; /* of so many cells so many have no value; 0, 0: not counted */
};

struct report_header {
	struct report_event *events;
	size_t event_count;
	uint64_t samples, lost, unknown, idle;
	struct report_counter *lost_by_cause;
	size_t lost_causes;
	char **epochs;
	size_t epoch_count;
	uint64_t start_ns, end_ns;
	char *machine;
	struct report_set *sets;
	size_t set_count;
	struct report_metric *metrics;
	size_t metric_count;
	char **notes;
	size_t note_count, notes_refused;
};

#define REPORT_NOTES_MAX 100

void report_header_free(struct report_header *h); /* what it owns (malloc), not h */
/* Copies it, but not its texts, which must outlive the header. 0 or -ENOMEM. */
int report_header_metric(struct report_header *h, const struct report_metric *m);
/* 0, -ENOMEM, or -ENOSPC past REPORT_NOTES_MAX (counted). */
int report_header_note(struct report_header *h, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Its first lines alone: events, and what was lost or stayed unknown. */
int report_header_print_samples(const struct report_header *h, FILE *out);
/* The header as lines of text, as above a table; width: as of table_print(). 0 or -ENOMEM. */
int report_header_print(const struct report_header *h, FILE *out, int width);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_RENDER_HEADER_H
#define CULPRIT_RENDER_HEADER_H

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

/* A column computed from others. In JSON: metrics [{name, formula, of, value, undefined}]. */
struct report_metric {
	const char *name, *formula;
	const char *of;		   /* what value is of, a static text; NULL: all of the report */
	double value;		   /* computed from its totals */
	bool known;		   /* it has one */
	uint64_t undefined, cells; /* how many of how many cells have no value; 0, 0: not counted */
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
	int error; /* -ENOMEM: something is missing in it, and it cannot be printed; 0: none */
};

#define REPORT_NOTES_MAX 100

/* "one in 1000"; a clock's period is a time. */
void report_print_period(const char *event, uint64_t period, FILE *out);

void report_header_free(struct report_header *h); /* what it owns (malloc), not h */
/* Copies it, but not its texts, which must outlive the header. */
void report_header_metric(struct report_header *h, const struct report_metric *m);
/* Makes a list for the header, of count zeroed entries; NULL: the header has the error. */
void *report_header_list(struct report_header *h, size_t count, size_t entry_bytes);
char *report_header_text(struct report_header *h, const char *text); /* the same: a copy */
/* Those past REPORT_NOTES_MAX are counted. */
void report_header_note(struct report_header *h, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Its first lines alone: events, and what was lost or stayed unknown. */
int report_header_print_samples(const struct report_header *h, FILE *out);
/* The header as lines of text, as above a table; width: as in table_print(). 0 or -ENOMEM: also the
 * header's own error. */
int report_header_print(const struct report_header *h, FILE *out, int width);

#endif

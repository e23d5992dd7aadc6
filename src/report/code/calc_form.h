/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_CODE_CALC_FORM_H
#define CULPRIT_REPORT_CODE_CALC_FORM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "analyze/insight.h"
#include "report/metrics.h"
#include "render/header.h"

/* How `culprit calc` prints: functions one by one, as text or JSON; CSV all at the end. */
struct calc_csv;
struct calc_form {
	FILE *out, *beside;		    /* beside: the header of CSV */
	const struct report_header *header; /* printed before the first function */
	bool json, brief;
	int width;		/* of the terminal; 0: it is none */
	struct calc_csv *csv;	/* NULL: no CSV */
	double block_percent;	/* blocks with a smaller share of their function are left out */
	uint64_t total_samples; /* of the selection */
	bool is_part;		/* ... which leaves samples out */
	uint64_t functions;	/* printed so far */
	const struct query *query;
	struct metrics_bound *metrics;
	const struct query_part *part; /* of the current function */
};

int calc_form_function(struct calc_form *c, const struct insight *i); /* 0 or -ENOMEM */
/* False for a block whose share of the function is below the cutoff; a function without samples has
 * all. */
bool calc_form_wants(double block_percent, const struct insight *i, const struct insight_block *b);
/* Whether there are metrics; then the samples of each event from start to end (the whole function:
 * 0, 0), for counts of QUERY_EVENTS_MAX. */
bool calc_form_count(const struct calc_form *c, const struct insight *i, uint64_t start,
		     uint64_t end, uint64_t *counts);
/* After the last one. */
int calc_form_end(struct calc_form *c);

/* calc_csv.c: its table. */
int calc_csv_new(bool brief, struct metrics_bound *metrics, struct calc_csv **ret);
void calc_csv_free(struct calc_csv *c);
int calc_csv_print(const struct calc_csv *c, const struct report_header *h, FILE *out);

/* calc_text.c, calc_json.c and calc_csv.c: one function. */
int calc_text_function(struct calc_form *c, const struct insight *i);
int calc_json_function(struct calc_form *c, const struct insight *i);
void calc_csv_function(struct calc_form *f, const struct insight *i);

#endif

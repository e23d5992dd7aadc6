/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_CODE_LIST_HOT_H
#define CULPRIT_REPORT_CODE_LIST_HOT_H

#include "analyze/listing.h"
#include "analyze/query/rank.h"
#include "render/header.h"

/* list --min: the hot rows of a listing and what stands near them. */
struct list_hot {
	double min_percent; /* 0: all rows are shown */
	bool *shown;	    /* of each row; NULL: of lines */
	size_t count;
	uint32_t *lines; /* that are hot, ascending: a hostile file may number one 4 billion */
	size_t line_count;
	size_t rows_left_out; /* counted when list_hot_shows is asked in order */
	uint64_t samples_left_out;
};

/* Rows before and after a hot one: a stall shows after the instruction that is to blame. */
#define LIST_HOT_CONTEXT 3

/*
 * Chooses of a function's rows those with at least h->min_percent of total, samples of the first
 * event, the rows near them, and the headings that they stand under. 0 or -ENOMEM.
 */
int list_hot_of_rows(struct list_hot *h, const struct listing_row *rows, size_t count,
		     uint64_t total);
/* As above, of a file's lines; rows by line. */
int list_hot_of_lines(struct list_hot *h, const struct rank_row *const *rows, size_t count,
		      uint64_t total);
/* Whether row (or line) number i is shown; one that is not is counted, with its samples. */
bool list_hot_shows(struct list_hot *h, size_t i, uint64_t samples);
/* The note of what was left out, when something was. */
void list_hot_describe(const struct list_hot *h, struct report_header *header);
void list_hot_free(struct list_hot *h); /* what it owns, not h */

#endif

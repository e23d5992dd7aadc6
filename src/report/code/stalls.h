/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_CODE_STALLS_H
#define CULPRIT_REPORT_CODE_STALLS_H

#include "image/lines.h"
#include "report/estimates.h"

/* The instructions that cost the most cycles, of everything that is selected. */

#define STALL_CULPRITS_TEXT 64

struct stall {
	const struct query_image *image;
	const char *function;
	uint64_t address, sampled, blame;
	uint64_t block_start, block_end;
	double samples, cycles;			/* in all; per execution */
	struct frequency_estimate count, stall; /* stall: cycles per execution */
	char culprits[STALL_CULPRITS_TEXT], cause[24];
	const struct image_frame *frame; /* NULL: no source line is known */
};

struct stalls_options {
	struct estimates_options estimates;
	uint64_t limit;		  /* of rows, at least one */
	enum culprit_cause cause; /* CULPRIT_CAUSES: any */
};

struct stalls_report {
	struct estimates estimates;
	struct stall *list; /* the largest first */
	size_t count;
	uint64_t left_out;	    /* functions without code */
	struct image_lines **lines; /* that the frames belong to */
	size_t line_sets;
	struct table *table;
};

/* Errors as in estimates_read. o must outlive ret, which stalls_free() frees if it fails, too. */
int stalls_make(struct report_session *s, const struct stalls_options *o, struct stalls_report *ret,
		struct report_header *h, struct diag *diag);
void stalls_free(struct stalls_report *r); /* what it owns */

#endif

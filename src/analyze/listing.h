/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_LISTING_H
#define CULPRIT_ANALYZE_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/source.h"
#include "find/find.h"
#include "isa/decode.h"
#include "util/diag.h"

/*
 * The annotated listing of a range of an image's code: its instructions with their samples, and the
 * source lines that they were made from. What is not available (code, lines, source) leaves its
 * rows or its text out and a note that says why.
 */
struct listing;

enum listing_kind {
	LISTING_FILE,	     /* text: the source file of the rows that follow; no counts */
	LISTING_SOURCE,	     /* a line; its counts are the sum of the instructions below it */
	LISTING_INSTRUCTION, /* text: the instruction, or why there is none */
};

enum listing_form {
	LISTING_BOTH,	  /* instructions in order of address, source lines between them */
	LISTING_ASSEMBLY, /* no source rows */
	LISTING_BY_LINE,  /* each source line of the function once, no instructions */
};

#define LISTING_MAX_BYTES (4u << 20) /* of code */

struct listing_request {
	struct image_finder *finder;
	const struct image_id *image;
	const char *image_path;
	uint64_t start, size;
	/* Samples at offsets (ascending) within the range: counts[i * event_count + event]. */
	const uint64_t *offsets, *counts;
	size_t offset_count, event_count;
	enum listing_form form;
	enum isa_syntax syntax;
	/* When the last samples were taken, ns since 1970: source newer than that is not what ran,
	 * unless the build time is known. 0: not known. */
	uint64_t sampled_ns;
};

struct listing_row {
	enum listing_kind kind;
	uint64_t address;		    /* ISA_NO_ADDRESS of a source row */
	uint32_t line;			    /* 0: not known */
	const char *file, *function, *text; /* NULL: not known; function: inlined ones too */
	enum source_age age;		    /* of a source row's text */
	const uint64_t *counts;		    /* event_count of them; NULL in a file's row */
};

/*
 * -ENOMEM; -EFBIG past LISTING_MAX_BYTES; -ESTALE when the image's file is of another build than
 * the profiled one, and its code was not kept. What is missing otherwise is not an error.
 */
int listing_new(const struct listing_request *q, struct listing **ret, struct diag *diag);
void listing_free(struct listing *l);
const struct listing_row *listing_rows(const struct listing *l, size_t *ret_count);
/* The notes, one by one; NULL after the last. */
const char *listing_note(const struct listing *l, size_t index);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_COMPARE_MATCH_H
#define CULPRIT_ANALYZE_COMPARE_MATCH_H

#include "analyze/compare/code_shape.h"
#include "analyze/query/rank.h"

/*
 * Which function of one profile corresponds to which of another, even if programs were rebuilt
 * between them: by build and address, by name, by code (doc/sets.md).
 */

enum match_how {
	MATCH_NONE, /* only one of them has it */
	MATCH_SAME, /* the same build: the same address */
	MATCH_NAME, /* another build: the same name in an image of the same name */
	MATCH_CODE, /* another name: by likeness of code; a line: by the code made from it */
	/* Of lines, see match_lines.h. */
	MATCH_PLACE,  /* moved as the one above it did */
	MATCH_NUMBER, /* nothing tells whether it moved */
};
const char *match_how_name(enum match_how how); /* "same", "name", "code", "place", "number", "" */

/* The line of the other side that a row is taken for. */
struct match_line {
	const char *file; /* NULL: the other side does not have it, or the row is of no file */
	uint32_t line;
	enum match_how how;
};

/* One side: rows of a ranking by function, image, file or line, and where their code comes from. */
struct match_side {
	const struct rank *rank;
	int (*symbols)(void *arg, const struct image_id *id, const char *path,
		       const struct image_symbols **ret, struct diag *diag);
	/* Instructions of a function; free() the data. */
	int (*code)(void *arg, const struct image_id *id, const char *path, uint64_t address,
		    size_t size, uint8_t **ret_data, size_t *ret_size, struct diag *diag);
	void (*machine)(void *arg, const struct image_id *id, const char *path,
			uint16_t *ret_machine, unsigned *ret_bits);
	void *arg;
	const struct match_line *lines; /* for each row of the ranking by line; NULL: as they are */
};

struct match_pair {
	const struct rank_row *row[2]; /* one may be NULL */
	enum match_how how;
	double similarity; /* 0 to 1 of their code; negative: not known */
};

struct match {
	struct match_pair *pairs;
	size_t count;
	size_t not_compared; /* functions past the limit up to which code is compared */
};

/* Borrows the sides, which must outlive it. 0 or -ENOMEM. */
int match_new(const struct match_side sides[2], struct match **ret);
void match_free(struct match *m);

/* The code of a function of a side, in shape; NULL when there is none. 0 or -ENOMEM. */
int match_shape(const struct match_side *side, const struct rank_row *row, struct code_shape **ret);

#endif

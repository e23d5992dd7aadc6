/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_STRUCTURE_STRUCTURE_H
#define CULPRIT_STRUCTURE_STRUCTURE_H

#include <stdbool.h>
#include <stdint.h>
#include "find/find.h"

/*
 * The static structure of an image, as its source was written: functions, what was inlined into
 * them, loops and statements, recovered from the machine code and its debug information
 * (doc/structure.md). Loops are those of the control-flow graphs; copies that the compiler made of
 * a loop are one loop, and lines that it moved out of a loop are put back. Without debug
 * information there are functions and loops by address.
 */
struct structure;

enum structure_kind {
	STRUCTURE_FUNCTION,
	STRUCTURE_INLINED, /* a function, where it was inlined */
	STRUCTURE_LOOP,
	STRUCTURE_STATEMENT, /* one line */
};

#define STRUCTURE_NO_LOOP UINT32_MAX

struct structure_scope {
	uint8_t kind; /* enum structure_kind */
	/* Of a loop: the machine code enters it, or a copy of it, at several places. */
	bool irreducible;
	uint32_t parent; /* its index; of the function: its own */
	uint32_t end;	 /* the index past all scopes inside this one, which follow it */
	uint32_t copies; /* of a loop: how many loops of the machine code it is */
	uint32_t depth;	 /* of a loop: 1 when no loop is around it */
	/* Of functions; NULL: not known. */
	const char *name, *linkage;
	/* Where its lines are; of a function's the first is that of its declaration, if known. NULL
	 * and 0: not known. */
	const char *file;
	uint32_t first_line, last_line;
	/* Of an inlined function: where it is called. */
	const char *call_file;
	uint32_t call_line;
	uint64_t address; /* of its first instruction; of a loop: of its header */
	/* Its code, ascending; none of an inlined function. Of a loop: what the machine code
	 * repeats. Of a statement: wherever it is. */
	const struct image_range *ranges;
	uint32_t range_count;
};

/* One function. Everything is gone when the visit ends. */
struct structure_function {
	bool complete;	    /* the targets of all its jumps are known */
	bool lines_refused; /* its lines were past a limit, or could not be read */
	/* In preorder, inside of each scope by line; the first is the function. */
	const struct structure_scope *scopes;
	uint32_t scope_count;
};

/* What was found, and what the limits refused; whole after structure_each(). */
struct structure_counts {
	uint64_t functions, loops, irreducible, inlined, statements;
	uint64_t incomplete;	/* functions with jumps whose targets are not known */
	uint64_t lines_refused; /* functions whose lines were past a limit, or not readable */
	uint64_t loops_refused; /* counted as part of the loop around them: nested too deeply */
	uint64_t refused;	/* functions past the limits, left out */
};

/*
 * Finds the functions of an image and their loops. The finder is borrowed until structure_free().
 * -ENOENT, -ESTALE, -ENOMEM or another errno, with the sentence in diag.
 */
int structure_new(struct image_finder *finder, const struct image_id *id, const char *path,
		  struct structure **ret, struct diag *diag);
void structure_free(struct structure *s);

/*
 * Calls visit for each function: those of one file together, files in order of their names, of
 * which the unknown one is the last, and the functions of a file by address. A visit that returns a
 * negative errno ends it, and is what is returned, without a sentence in diag; others: -ENOMEM with
 * one.
 */
int structure_each(struct structure *s, int (*visit)(void *arg, const struct structure_function *f),
		   void *arg, struct diag *diag);

struct structure_counts structure_counts(const struct structure *s);
/* Why there are no lines; "" where there are. */
const char *structure_without_lines(const struct structure *s);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_STRUCTURE_SOURCE_H
#define CULPRIT_STRUCTURE_SOURCE_H

#include "image/line_table.h"
#include "structure/machine.h"
#include "util/hash.h"

/*
 * A function's code by where it was written. A context is the function itself or one that was
 * inlined, at one call in another context; a position is a line of a context.
 */

#define SOURCE_NONE	 UINT32_MAX
#define SOURCE_DEPTH_MAX 64 /* of contexts, more than image_lines_frames() tells of */

struct source_context {
	uint32_t parent; /* stands before it; of the function, number 0, SOURCE_NONE */
	uint32_t depth;
	uint32_t call; /* the position in parent; SOURCE_NONE: not known */
	const char *name, *linkage, *file;
	uint32_t start_line; /* of its declaration; 0: not known */
};

struct source_position {
	uint32_t context;
	const char *file;
	uint32_t line;
};

struct source_piece {
	uint64_t start, end;
	uint32_t loop;		    /* of the machine code, or MACHINE_NO_LOOP */
	uint32_t context, position; /* the latter or SOURCE_NONE: line not known */
};

struct source {
	const struct machine_function *function;
	struct source_context *contexts;
	struct source_position *positions;
	struct source_piece *pieces; /* ascending, disjoint */
	uint32_t context_count, position_count, piece_count;
	size_t context_room, position_room, piece_room;
	struct intern *context_keys, *position_keys;
};

/* Names stay the table's, which must be finished; NULL: no line is known. 0 or -ENOMEM.
 * source_free() it, also after a failure. */
int source_new(const struct machine_function *f, const struct image_line_table *t,
	       struct source *ret);
void source_free(struct source *s);

/* The piece that has the address; NULL: none. */
const struct source_piece *source_piece_at(const struct source *s, uint64_t address);
/* Whether the line cannot be one of its context's function: compilers mix them up at times. It is
 * before that function's declaration, or behind that of another one which begins later. */
bool source_is_stray(const struct source *s, uint32_t position);
/* The innermost context around both. */
uint32_t source_common(const struct source *s, uint32_t a, uint32_t b);
static inline bool source_is_around(const struct source *s, uint32_t outer, uint32_t inner)
{
	while (s->contexts[inner].depth > s->contexts[outer].depth)
		inner = s->contexts[inner].parent;
	return inner == outer;
}
/* The position that a piece has in a context around its own: its line there, or that of the call.
 */
uint32_t source_position_in(const struct source *s, const struct source_piece *p, uint32_t context);

#endif

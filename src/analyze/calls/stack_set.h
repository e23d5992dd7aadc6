/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CALLS_STACK_SET_H
#define CULPRIT_ANALYZE_CALLS_STACK_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "analyze/query/query.h"
#include "analyze/query/rank.h"
#include "util/diag.h"

/*
 * The stacks that a query selects, summed, named, and weighed to the samples that they stand for:
 * the source of calling context trees (analyze/calls/tree.h), of totals with what was called
 * (analyze/calls/inclusive.h) and of exports. They are a tree of frames, each an (image, offset).
 *
 * Stacks are taken with only a part of the samples. So that all that is made of them agrees with
 * the flat profile, each function is given as much as was sampled there: doc/stacks.md, "From
 * stacks to samples". An event that has stacks and no samples (of some imports) keeps its stacks as
 * they are.
 *
 *	query_new(&selection, group, &q, diag);
 *	stack_set_new(q, &set, diag);
 *	query_read(q, reader, diag);
 *	stack_set_finish(set, &source, inlines, diag);
 */

/* How the name of a note that says why callers are missing begins. */
#define STACK_TRUNCATED "[truncated: "

/* What a frame belongs to. */
enum stack_kind {
	STACK_CODE,
	STACK_NO_SYMBOL, /* of an image that has no function there: one per image */
	STACK_UNKNOWN,	 /* of no image */
	STACK_NOTE,	 /* no code: says why frames are missing ("[truncated: no unwind rule]") */
};

struct stack_function {
	uint32_t image; /* index in images */
	enum stack_kind kind;
	bool inlined;	  /* its code was compiled into another function */
	bool by_name;	  /* it has no symbol, but a name in debug information */
	uint64_t start;	  /* address in the image; a name's number; 0 if inlined */
	const char *name; /* demangled, or RANK_NO_SYMBOL, RANK_UNKNOWN, the note */
};

/* A level of a frame: the function, and where in its source, as far as is known. */
struct stack_place {
	uint32_t function; /* index in functions */
	uint32_t line;	   /* 0: not known */
	const char *file;  /* NULL: not known */
};

/*
 * An instruction, or the last byte of a call that is under way. Its places are the function that
 * contains it, then what was inlined there, the outermost first.
 */
struct stack_frame {
	uint32_t image; /* index in images */
	uint32_t first_place, place_count;
	uint64_t offset;
	bool idle; /* of the kernel's idle functions */
};

/* The first node is the root. Under it stand the nodes of groups if the query has any, then those
 * of frames, from the threads' starts in. A parent has a smaller number than its children. */
struct stack_node {
	uint32_t parent;
	uint32_t frame; /* index in frames; STACK_NO_FRAME: the root or a group */
	uint32_t group; /* in the query's groups, or QUERY_NO_GROUP */
};

#define STACK_NO_FRAME UINT32_MAX

/*
 * Samples of stacks that end at a node. They were taken in a frame: the node's own, except for
 * Python's, which the interpreter's evaluator took (on the stack they replace it).
 */
struct stack_count {
	uint32_t node, event; /* event: index in the query's */
	uint32_t taken;	      /* index in frames */
	uint64_t count;
};

/* The note above samples whose callers no stack tells: as far as is known, they belong to what is
 * above the note. */
#define STACK_CALLERS_UNKNOWN "[callers not known]"

#define STACK_REASONS_MAX 16

struct stack_reason {
	const char *name; /* "no unwind rule" */
	uint64_t stacks;
};

/* How good the stacks of the selected subjects are, without idle ones, over all events. All numbers
 * are of stacks, not of the samples that they stand for. */
struct stack_quality {
	uint64_t stacks, complete; /* complete: reach their thread's start */
	uint64_t gapped;	   /* of stacks: with frames left out in the middle */
	struct stack_reason truncated[STACK_REASONS_MAX];
	size_t reasons;
};

/* Read only, after stack_set_finish. */
struct stack_set {
	const struct query *query;
	struct query_image *images;
	struct stack_frame *frames;
	struct stack_node *nodes;
	struct stack_count *counts;
	struct stack_function *functions;
	struct stack_place *places;
	size_t image_count, frame_count, node_count, count_count, function_count, place_count;
	/* For each event: all samples but idle ones, selected or not; the idle ones; and the
	 * selected ones of unknown callers, below STACK_CALLERS_UNKNOWN. */
	uint64_t totals[QUERY_EVENTS_MAX], idle[QUERY_EVENTS_MAX], unplaced[QUERY_EVENTS_MAX];
	struct stack_quality quality;
	size_t images_without_symbols, images_without_lines;
	struct diag symbols_reason, lines_reason; /* of the first of them */

	/* Private. */
	struct stack_reader *reader;
	struct arena *memory;
	struct intern *names, *paths;
};

struct stack_options {
	bool inlines; /* look up what was inlined, and lines; else each frame has one place */
	bool idle;    /* stacks in the kernel's idle functions are like any other */
	/* Each group of the query is weighed to its own samples; else all together, as in a query
	 * without groups. */
	bool by_group;
};

/* Takes the query's stacks; q must outlive it, and not have been read yet. */
int stack_set_new(struct query *q, struct stack_set **ret, struct diag *diag);
void stack_set_free(struct stack_set *s);
/* After query_read. What the source gave must outlive it. */
int stack_set_finish(struct stack_set *s, const struct stack_options *options,
		     const struct rank_source *source, struct diag *diag);

#endif

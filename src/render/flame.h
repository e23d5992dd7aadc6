/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_RENDER_FLAME_H
#define CULPRIT_RENDER_FLAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "render/header.h"

/*
 * A calling context tree as a page to look at: flame graph and icicle, top-down and bottom-up, with
 * search and zoom, in one HTML file that needs nothing else and asks no network for anything (its
 * own content security policy forbids it).
 *
 *	flame_new(event_count, &f);
 *	flame_add_event(f, "cycles", 0);	once for each event
 *	flame_add_function(f, &function, &number);
 *	flame_add_context(f, 0, number, samples);	in preorder
 *	flame_write(f, &look, &header, out);
 *
 * Names may hold anything. The page's data block is one JSON object: strings; functions, five
 * numbers each (name, image, file as indexes of strings; line; kind); and for the contexts in
 * preorder up (how many levels the path gets shorter before the context is added to it), frame (its
 * function) and self (an array for each event).
 */
struct flame;

#define FLAME_CONTEXTS_MAX  (8u << 20)
#define FLAME_FUNCTIONS_MAX (2u << 20)
#define FLAME_EVENTS_MAX    64

enum flame_kind {
	FLAME_USER,
	FLAME_KERNEL,
	FLAME_INLINED,
	FLAME_NOTE, /* no code: why a stack ends here, what was left out */
};

/* NULL texts are empty ones. */
struct flame_function {
	const char *name, *image, *file;
	uint32_t line;
	enum flame_kind kind;
};

/* -EINVAL: no event, or too many; -ENOMEM. */
int flame_new(size_t event_count, struct flame **ret);
void flame_free(struct flame *f);
/* sample_ns: the time that one sample stands for; 0: the event tells no time. 0 or -ENOMEM. */
int flame_add_event(struct flame *f, const char *name, double sample_ns);
/* A value that the page computes of a frame's samples. steps: JSON, an array in reverse Polish
 * order of numbers, of [event, units of a sample] and of "+", "-", "*", "/", "neg", "min", "max".
 */
int flame_add_metric(struct flame *f, const char *name, const char *steps);
/* Equal ones get the same number. 0, -ENOSPC, -ENOMEM. */
int flame_add_function(struct flame *f, const struct flame_function *function, uint32_t *ret);
/*
 * samples: of each event, in this very context. depth: 0 for a root, at most one more than that of
 * the context before (-EINVAL). 0, -ENOSPC past FLAME_CONTEXTS_MAX, -ENOMEM.
 */
int flame_add_context(struct flame *f, uint32_t depth, uint32_t function, const uint64_t *samples);
/* What stands above the graph, and the first view of it. */
struct flame_look {
	const char *title, *summary; /* summary: one line below the title */
	bool bottom_up;
};

/* 0, -ENOMEM, or what is wrong with out. */
int flame_write(const struct flame *f, const struct flame_look *look, const struct report_header *h,
		FILE *out);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_RENDER_DOT_H
#define CULPRIT_RENDER_DOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "util/buf.h"
#include "util/diag.h"

/*
 * Drawings of graphs in DOT, Graphviz's language: boxes whose area says how much time was spent in
 * them and whose type and edges' width say how often they ran. Text may hold anything.
 */

struct dot_node {
	uint32_t id;
	const char *text; /* lines end with \n, and start at the left */
	double time;	  /* share of all, 0 to 1: the area (at least the text's) and the colour */
	double frequency; /* beside the most frequent one, 0 to 1: the size of the type */
	bool doubled;	  /* a second frame */
	bool bare;	  /* no frame: where flow comes from and goes to */
	bool marked;	  /* is on the way that is shown: red */
};

enum dot_stroke { DOT_SOLID, DOT_DASHED, DOT_DOTTED };

struct dot_edge {
	uint32_t from, to;
	double frequency; /* as a node's: the width */
	const char *text;
	enum dot_stroke stroke;
	bool marked;
};

/* Errors are kept in the buffer. */
void dot_begin(struct buf *b, const char *title);
void dot_add_node(struct buf *b, const struct dot_node *n);
void dot_add_edge(struct buf *b, const struct dot_edge *e);
void dot_end(struct buf *b);

/*
 * Whether a drawing can be made as a file of this name: .svg, .pdf, .ps, .eps, .png, or .dot and
 * .gv for the text itself. -EINVAL otherwise.
 */
int dot_check_path(const char *path, struct diag *diag);
/* Whether it would be the text itself, of any size. */
bool dot_is_text(const char *path);
/* Graphviz takes minutes to place more boxes than this, or memory until it crashes. */
#define DOT_NODES_MAX 1000
/*
 * Makes the drawing, by Graphviz's dot except for the text itself. Replaces the file when it is
 * whole. -ENOENT: there is no dot, or no such directory; -EIO: dot failed; ...
 */
int dot_render(const struct buf *b, const char *path, struct diag *diag);

#endif

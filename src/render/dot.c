/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/dot.h"

#include <math.h>
#include <string.h>
#include "util/text.h"

/* Inches that a box with all the time would be wide and high, and points of type. */
#define SIDE_INCHES 7.0
#define TYPE_LEAST  8.0
#define TYPE_MOST   20.0
#define WIDTH_LEAST 0.4
#define WIDTH_MOST  7.0

/* What differs by a factor of 10^4 shall still be told apart: 1 for 1, 0 for 10^-4 and less. */
static double on_scale(double frequency)
{
	double scaled = frequency > 0 ? 1 + log10(frequency) / 4 : 0;

	return scaled < 0 ? 0 : scaled > 1 ? 1 : scaled;
}

/* A quoted string; each line of it starts at the left. */
static void put_text(struct buf *b, const char *text)
{
	char escaped[4096];

	buf_printf(b, "\"");
	while (*text) {
		size_t size = strcspn(text, "\n");

		text_escape_controls(escaped, sizeof(escaped), text, size);
		for (const char *c = escaped; *c; c++) {
			if (*c == '"' || *c == '\\')
				buf_append_u8(b, '\\');
			/* What looks like HTML's name of a character would become that. */
			if (*c == '&')
				buf_printf(b, "&amp;");
			else
				buf_append_u8(b, (uint8_t)*c);
		}
		text += size;
		if (*text == '\n') {
			buf_printf(b, "\\l");
			text++;
		}
	}
	buf_printf(b, "\"");
}

void dot_begin(struct buf *b, const char *title)
{
	buf_printf(b, "digraph cfg {\n\tlabel=");
	put_text(b, title);
	buf_printf(b, ";\n\tlabelloc=t;\n\tlabeljust=l;\n"
		      "\tfontname=\"monospace\";\n\tfontsize=10;\n\tnodesep=0.15;\n"
		      "\tranksep=0.25;\n"
		      "\tnode [shape=box, fontname=\"monospace\", margin=\"0.06,0.03\"];\n"
		      "\tedge [fontname=\"monospace\", fontsize=8, arrowsize=0.6];\n");
}

void dot_add_node(struct buf *b, const struct dot_node *n)
{
	double side = SIDE_INCHES * sqrt(n->time);

	buf_printf(b, "\tn%u [label=", n->id);
	put_text(b, n->text);
	buf_printf(b, ", fontsize=%.1f",
		   TYPE_LEAST + (TYPE_MOST - TYPE_LEAST) * on_scale(n->frequency));
	if (n->bare)
		buf_printf(b, ", shape=plaintext");
	else
		buf_printf(b,
			   ", width=%.2f, height=%.2f, style=filled, "
			   "fillcolor=\"0.02 %.3f 1.000\"",
			   side < 0.3 ? 0.3 : side, side < 0.2 ? 0.2 : side, 0.8 * sqrt(n->time));
	if (n->doubled)
		buf_printf(b, ", peripheries=2");
	if (n->marked)
		buf_printf(b, ", color=red, penwidth=2");
	buf_printf(b, "];\n");
}

void dot_add_edge(struct buf *b, const struct dot_edge *e)
{
	static const char *const strokes[] = {"solid", "dashed", "dotted"};
	double scaled = on_scale(e->frequency);

	buf_printf(b, "\tn%u -> n%u [penwidth=%.2f, weight=%u, style=%s", e->from, e->to,
		   WIDTH_LEAST + (WIDTH_MOST - WIDTH_LEAST) * scaled * scaled,
		   1 + (unsigned)(8 * scaled), strokes[e->stroke]);
	if (e->marked)
		buf_printf(b, ", color=red");
	if (e->text && *e->text) {
		buf_printf(b, ", label=");
		put_text(b, e->text);
	}
	buf_printf(b, "];\n");
}

void dot_end(struct buf *b)
{
	buf_printf(b, "}\n");
}

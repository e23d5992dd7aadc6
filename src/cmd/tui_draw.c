/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "cmd/tui.h"
#include "util/buf.h"
#include "util/text.h"

#define LINE_MAX_BYTES 4096
#define LINES_AROUND   3  /* the title, the headings, one at the bottom */
#define INDENT_MAX     40 /* levels; those further in begin with their number */
#define NARROW	       50 /* columns: below, samples are left out */

#define SGR_SELECTED "\x1b[7m"
#define SGR_TITLE    "\x1b[1m"

/* From cold to hot, as of percent of what is looked at. */
static const char *heat_of(double percent)
{
	return percent >= 20   ? "\x1b[1;31m"
	       : percent >= 5  ? "\x1b[31m"
	       : percent >= 1  ? "\x1b[33m"
	       : percent >= .1 ? "\x1b[32m"
			       : "";
}

typedef void put_fn(struct screen *s, const char *line, size_t size);

/* One line; its text is escaped, sgr is not. */
static void put(struct tui *t, put_fn *to, const char *sgr, const char *text)
{
	char escaped[LINE_MAX_BYTES], line[LINE_MAX_BYTES + 64];

	text_escape_controls(escaped, sizeof(escaped), text, strlen(text));
	snprintf(line, sizeof(line), "%s%s%s", sgr, escaped, *sgr ? "\x1b[m" : "");
	to(t->screen, line, strlen(line));
}

static __attribute__((format(printf, 4, 5))) void putf(struct tui *t, put_fn *to, const char *sgr,
						       const char *format, ...)
{
	char text[LINE_MAX_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put(t, to, sgr, text);
}

static void put_help(struct tui *t)
{
	static const char *const lines[] = {
		"v, tab         called from the start in; called by; functions by image",
		"up, down, page up, page down, home, end (or k, j)",
		"space          opens and closes what is selected; c closes all",
		"l, +, >        open it",
		"-, <           close it, or go to what is around it",
		"p              the hot path from here: the child with most, while it has half",
		"s              sorts by the next column",
		"f, u           flatten: takes the outermost level away; unflatten: brings it back",
		"/, n           searches for a part of a name; the next one",
		"enter          source and instructions of the function; there:",
		"  a            source, instructions, or both",
		"  n, p         the next hot line, the one before",
		"  enter, q     back",
		"q              end (also Ctrl-C)",
		"",
	};
	const struct report_header *h = &t->run->header;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		put(t, screen_line, "", lines[i]);
	for (size_t i = 0; i < h->note_count; i++)
		putf(t, screen_line, "", "note: %s", h->notes[i]);
}

static double percent(const struct tui *t, uint64_t samples)
{
	return t->browse.all ? 100 * (double)samples / (double)t->browse.all : 0;
}

static void write_indent(struct buf *b, uint32_t depth)
{
	if (depth > INDENT_MAX)
		buf_printf(b, "%*s(%u) ", 2 * INDENT_MAX, "", depth);
	else
		buf_printf(b, "%*s", 2 * (int)depth, "");
}

static void put_scope(struct tui *t, const struct outline_line *line, bool selected, int columns)
{
	const struct browse_tree *tree = &t->browse.trees[t->view];
	const struct browse_scope *s = &tree->scopes[line->node];
	char name[2048];
	struct buf b;

	buf_init(&b, LINE_MAX_BYTES);
	buf_printf(&b, "%6.2f %6.2f ", percent(t, s->total), percent(t, s->self));
	if (columns >= NARROW)
		buf_printf(&b, "%9llu ", (unsigned long long)s->total);
	write_indent(&b, line->depth);
	text_escape(name, sizeof(name), s->name, strlen(s->name));
	buf_printf(&b, "%s %s%s",
		   !tree->nodes[line->node].child_count	   ? " "
		   : t->outlines[t->view].open[line->node] ? "-"
							   : "+",
		   name, s->inlined ? " (inlined)" : "");
	buf_append_u8(&b, 0);
	put(t, screen_line, selected ? SGR_SELECTED : heat_of(percent(t, s->total)),
	    b.error ? s->name : (char *)b.data);
	buf_free(&b);
}

/* The first line that is shown, so that the selected one is. */
static size_t scroll_to(size_t scroll, size_t selected, size_t shown, size_t count)
{
	if (selected < scroll)
		scroll = selected;
	if (shown && selected >= scroll + shown)
		scroll = selected - shown + 1;
	if (scroll + shown > count)
		scroll = count > shown ? count - shown : 0;
	return scroll;
}

static void put_tree(struct tui *t, int columns)
{
	static const char *const views[] = {"called from the start in", "called by",
					    "functions by image"};
	static const char *const orders[] = {"total", "self", "name"};
	const struct outline *o = &t->outlines[t->view];

	putf(t, screen_line, SGR_TITLE, "%s, by %s%s%.0u: %s, %llu samples", views[t->view],
	     orders[t->order[t->view]], o->flat ? ", flattened " : "", o->flat, t->browse.event,
	     (unsigned long long)t->browse.all);
	put(t, screen_line, "",
	    columns >= NARROW ? "total%  self%   samples   scope" : "total%  self%   scope");
	t->scroll = scroll_to(t->scroll, o->selected, t->rows_shown, o->line_count);
	for (size_t i = 0; i < t->rows_shown && t->scroll + i < o->line_count; i++)
		put_scope(t, &o->lines[t->scroll + i], t->scroll + i == o->selected, columns);
}

static void put_pane(struct tui *t)
{
	const struct tui_pane *p = &t->pane;

	put(t, screen_line, SGR_TITLE, p->title);
	put(t, screen_line, "",
	    p->form == LISTING_BY_LINE
		    ? "self%   line  source"
		    : "self%    cycles  culprit               address  instruction");
	t->pane_scroll = scroll_to(t->pane_scroll, p->selected, t->rows_shown, p->count);
	for (size_t i = 0; i < t->rows_shown && t->pane_scroll + i < p->count; i++) {
		const struct tui_line *line = &p->lines[t->pane_scroll + i];

		put(t, screen_line,
		    t->pane_scroll + i == p->selected ? SGR_SELECTED : heat_of(line->heat),
		    line->text);
	}
}

static void put_last_line(struct tui *t)
{
	const struct outline *o = &t->outlines[t->view];

	if (t->typing)
		putf(t, screen_bottom_line, "", "/%s_", t->typed);
	else if (*t->message)
		put(t, screen_bottom_line, "", t->message);
	else if (t->help)
		put(t, screen_bottom_line, "", "any key: back");
	else if (t->pane.shown)
		put(t, screen_bottom_line, "", "q back  a form  n next hot line  h help");
	else if (o->refused)
		putf(t, screen_bottom_line, "", "%zu lines more are not shown: close some (c)",
		     o->refused);
	else
		put(t, screen_bottom_line, "",
		    "q end  h help  v view  s sort  p hot path  / search  enter code");
}

int tui_draw(struct tui *t)
{
	int rows, columns;

	screen_measure(t->screen, &rows, &columns);
	t->rows_shown = rows > LINES_AROUND ? (size_t)(rows - LINES_AROUND) : 0;
	screen_begin(t->screen);
	if (t->help)
		put_help(t);
	else if (t->pane.shown)
		put_pane(t);
	else
		put_tree(t, columns);
	put_last_line(t);
	return screen_end(t->screen);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "render/name_fold.h"
#include "render/table_cells.h"
#include "render/wrap.h"
#include "util/text.h"

#define GAP	       2   /* columns between columns; 1 where they would not fit otherwise */
#define NAME_MIN       8   /* a name column is never cut below this */
#define NAME_SPARE     16  /* one that can be spared is left out before it is cut below this */
#define NAME_ALIGN_MAX 60  /* off a terminal one long name does not push all others to the right */
#define TREE_LEVEL     3   /* columns of a branch of a tree */
#define NAME_IN_TREE   24  /* what the lines of a tree's branches leave to a name */
#define NAME_FOLD      120 /* bytes of a name that off a terminal, too, is not shown in full */

/* The escaped form of a name, or of text that is none. */
static size_t escape_into(bool plain, char *out, size_t room, const char *name, size_t size)
{
	return plain ? text_escape_controls(out, room, name, size)
		     : text_escape(out, room, name, size);
}

static char *escape(bool plain, const char *name, size_t size)
{
	size_t room = escape_into(plain, NULL, 0, name, size) + 1;
	char *out = malloc(room);

	if (out)
		escape_into(plain, out, room, name, size);
	return out;
}

/* The widths of all columns; 0: not shown. */
struct layout {
	size_t *widths;
	int last;     /* the last column shown */
	int left_out; /* columns */
	size_t gap;
	bool terminal;
};

static const char *cell_number(const struct table_cell *cell, enum table_type type, char out[400])
{
	if (!cell->present)
		*out = 0;
	else if (type == TABLE_FIGURE)
		snprintf(out, 400, "%.*s", (int)cell->size, cell->name);
	else if (type == TABLE_COUNT)
		snprintf(out, 400, "%" PRIu64, cell->count);
	else if (type == TABLE_ADDRESS)
		snprintf(out, 400, "%#" PRIx64, cell->count);
	else if (type == TABLE_VALUE)
		table_format_value(cell->real, out, 400);
	else
		snprintf(out, 400, "%.2f", cell->real);
	return out;
}

static int cell_width(const struct table *t, size_t row, int column, size_t *ret)
{
	const struct table_cell *cell = table_cell_at(t, row, column);
	char number[400], *name;

	if (t->columns[column].type != TABLE_NAME) {
		*ret = strlen(cell_number(cell, t->columns[column].type, number));
		return 0;
	}
	*ret = 0;
	if (!cell->present)
		return 0;
	name = escape(t->columns[column].plain, cell->name, cell->size);
	if (!name)
		return -ENOMEM;
	*ret = text_width(name);
	free(name);
	return 0;
}

/* Whether a cell is no wider than one that was measured, so that its text need not be made: a
 * number without a sign that is no greater. Remembers the cell, if it is to be measured. */
static bool is_no_wider(const struct table_cell *cell, enum table_type type,
			struct table_cell *measured)
{
	bool known = false;

	if (type == TABLE_COUNT || type == TABLE_ADDRESS)
		known = !cell->present || (measured->present && cell->count <= measured->count);
	else if (type == TABLE_PERCENT || type == TABLE_REAL)
		known = !cell->present ||
			(measured->present && !signbit(cell->real) && cell->real <= measured->real);
	if (!known)
		*measured = *cell;
	return known;
}

static size_t heading_width(const struct table_column *column)
{
	char *heading = table_escape(column->heading, strlen(column->heading));
	size_t width = heading ? text_width(heading) : 0;

	free(heading);
	return width;
}

/* A column that is as narrow as it shall be on this terminal. */
static size_t column_least(const struct table *t, const struct layout *l, int column,
			   size_t terminal_width)
{
	const struct table_column *c = &t->columns[column];
	size_t width = l->widths[column], least = terminal_width * (size_t)c->share / 100;

	if (!least)
		least = c->spare ? NAME_SPARE : NAME_MIN;
	return c->type == TABLE_NAME && width > least ? least : width;
}

static size_t layout_total(const struct table *t, const struct layout *l, size_t terminal_width,
			   bool least)
{
	size_t total = 0, width;

	for (int c = 0; c < t->column_count; c++) {
		width = least ? column_least(t, l, c, terminal_width) : l->widths[c];
		total += width ? width + (c != l->last ? l->gap : 0) : 0;
	}
	return total;
}

static void layout_leave_out(const struct table *t, struct layout *l, int column)
{
	l->widths[column] = 0;
	l->left_out++;
	for (int c = 0; c < t->column_count; c++)
		if (l->widths[c])
			l->last = c;
}

/* Leaves out what can be spared, until the rest fits. */
static void layout_spare(const struct table *t, struct layout *l, size_t width)
{
	while (layout_total(t, l, width, true) > width) {
		int first = -1;

		for (int c = 0; c < t->column_count; c++)
			if (l->widths[c] && t->columns[c].spare &&
			    (first < 0 || t->columns[c].spare < t->columns[first].spare))
				first = c;
		if (first < 0)
			return;
		layout_leave_out(t, l, first);
	}
}

/* The widest name column that can be cut; -1: none. */
static int widest_name(const struct table *t, const struct layout *l, size_t width, bool least)
{
	int widest = -1;

	for (int c = 0; c < t->column_count; c++)
		if (t->columns[c].type == TABLE_NAME && l->widths[c] > NAME_MIN &&
		    (!least || l->widths[c] > column_least(t, l, c, width)) &&
		    (widest < 0 || l->widths[c] >= l->widths[widest]))
			widest = c;
	return widest;
}

/* Takes the columns that are too many from the name columns, always from the widest. */
static void layout_fit(const struct table *t, struct layout *l, size_t width)
{
	if (layout_total(t, l, width, true) > width)
		l->gap = 1;
	layout_spare(t, l, width);
	for (size_t total = layout_total(t, l, width, false); total > width; total--) {
		int widest = widest_name(t, l, width, true);

		if (widest < 0)
			widest = widest_name(t, l, width, false);
		if (widest < 0)
			return;
		l->widths[widest]--;
	}
}

static int layout_measure(const struct table *t, struct layout *l, int terminal_width)
{
	size_t width;
	int r;

	for (int c = 0; c < t->column_count; c++) {
		struct table_cell measured = {.present = false};

		if (!t->columns[c].heading)
			continue;
		l->widths[c] = heading_width(&t->columns[c]);
		l->widths[c] += !l->widths[c];
		l->last = c;
		for (size_t row = 0; row < t->row_count; row++) {
			if (is_no_wider(table_cell_at(t, row, c), t->columns[c].type, &measured))
				continue;
			r = cell_width(t, row, c, &width);
			if (r)
				return r;
			if (!l->terminal && t->columns[c].type == TABLE_NAME &&
			    width > NAME_ALIGN_MAX)
				width = NAME_ALIGN_MAX;
			if (width > l->widths[c])
				l->widths[c] = width;
		}
	}
	if (l->terminal)
		layout_fit(t, l, (size_t)terminal_width);
	return 0;
}

static void print_spaces(FILE *out, size_t count)
{
	while (count--)
		putc(' ', out);
}

/* Cuts an escaped form to the width, with an ellipsis, from the raw name: no escape is split. */
static void cut_name(bool plain, const char *name, size_t size, char *out, size_t room,
		     size_t width)
{
	for (size_t bytes = room - 3; bytes; bytes--) {
		escape_into(plain, out, bytes, name, size);
		if (text_width(out) < width)
			break;
	}
	strcat(out, "\xe2\x80\xa6");
}

/* Of a name both ends tell: the namespace and the method. The cut form, to be freed. */
static char *cut_middle(const char *name, size_t size, size_t width)
{
	size_t tail_width = (width - 1) / 2, room = 4 * width + 4;
	size_t i = size > 4 * tail_width ? size - 4 * tail_width : 0;
	char *tail = NULL, *out;

	do {
		while (i < size && (name[i] & 0xc0) == 0x80)
			i++;
		free(tail);
		tail = escape(false, name + i, size - i);
	} while (tail && text_width(tail) > tail_width && i++ < size);
	out = tail ? malloc(room + strlen(tail)) : NULL;
	if (out) {
		cut_name(false, name, i, out, room, width - text_width(tail));
		strcat(out, tail);
	}
	free(tail);
	return out;
}

/* Of a path the end says most: "…/bin/name". The cut form, to be freed; NULL when it is no path, or
 * when not even its last part fits. */
static char *cut_path(bool plain, const char *name, size_t size, size_t width)
{
	for (size_t i = 1; name[0] == '/' && i < size; i++) {
		char *rest, *cut = NULL;

		if (name[i] != '/')
			continue;
		rest = escape(plain, name + i, size - i);
		if (rest && text_width(rest) < width && asprintf(&cut, "\xe2\x80\xa6%s", rest) < 0)
			cut = NULL;
		free(rest);
		if (cut)
			return cut;
	}
	return NULL;
}

/* What a terminal's column has room for. To be freed; NULL: out of memory. */
static char *cut_to_width(bool plain, const char *name, size_t size, size_t width)
{
	/* No more bytes than a cut form can have, however long the name. */
	size_t room = escape_into(plain, NULL, 0, name, size) + 4;
	char *text = size ? cut_path(plain, name, size, width) : NULL;

	if (text)
		return text;
	if (!plain)
		return cut_middle(name, size, width);
	room = room > 4 * width + 4 ? 4 * width + 4 : room;
	text = malloc(room);
	if (text)
		cut_name(plain, name, size, text, room, width);
	return text;
}

/* Of a tree's line so many outer levels become their number, "…12", that its name has room. To be
 * freed; NULL: it has, or it is no tree. */
static char *cut_branches(const char *name, size_t size, size_t width)
{
	size_t room = width / 2 < NAME_IN_TREE ? width / 2 : NAME_IN_TREE;
	size_t columns = 0, cut = 0, at = 0, inner = 0;
	char *out;

	for (; at + 3 <= size && (name[at] == ' ' || !memcmp(name + at, "\xe2\x94", 2)); columns++)
		at += name[at] == ' ' ? 1 : 3;
	if (columns + room <= width || columns + (size - at) <= width)
		return NULL;
	columns -= columns % TREE_LEVEL; /* a name may begin with spaces */
	while (cut < columns && (columns - cut + TREE_LEVEL + room > width || cut % TREE_LEVEL)) {
		inner += name[inner] == ' ' ? 1 : 3;
		cut++;
	}
	return asprintf(&out, "\xe2\x80\xa6%-2zu%.*s", cut / TREE_LEVEL, (int)(size - inner),
			name + inner) < 0
		       ? NULL
		       : out;
}

/* The text of a name's cell: long ones are folded, and cut where a terminal has no room even so. */
static char *fit_name(const struct layout *l, int column, bool plain, const char *name, size_t size)
{
	size_t most = l->terminal ? l->widths[column] : NAME_FOLD;
	char *shorter = NULL, *text;

	if (size > most && !plain)
		shorter = name_fold(name, size, most);
	else if (size > most && l->terminal)
		shorter = cut_branches(name, size, most);
	if (shorter) {
		name = shorter;
		size = strlen(shorter);
	}
	text = escape(plain, name, size);
	if (text && l->terminal && text_width(text) > l->widths[column]) {
		free(text);
		text = cut_to_width(plain, name, size, l->widths[column]);
	}
	free(shorter);
	return text;
}

static int print_name(const struct layout *l, int column, bool plain, const char *name, size_t size,
		      FILE *out)
{
	char *text = fit_name(l, column, plain, name, size);
	size_t width;

	if (!text)
		return -ENOMEM;
	width = text_width(text);
	fputs(text, out);
	if (column != l->last)
		print_spaces(out,
			     l->gap + (width < l->widths[column] ? l->widths[column] - width : 0));
	free(text);
	return 0;
}

static void print_number(const struct layout *l, int column, const char *number, FILE *out)
{
	size_t width = strlen(number);

	print_spaces(out, width < l->widths[column] ? l->widths[column] - width : 0);
	fputs(number, out);
	if (column != l->last)
		print_spaces(out, l->gap);
}

static int print_headings(const struct table *t, const struct layout *l, FILE *out)
{
	const char *plain = getenv("NO_COLOR"), *terminal = getenv("TERM");
	bool bold = l->terminal && !(plain && *plain) && terminal && strcmp(terminal, "dumb");
	int r = 0;

	if (bold)
		fputs("\033[1m", out);
	for (int c = 0; c < t->column_count && !r; c++) {
		const char *heading = t->columns[c].heading;
		size_t width;

		if (!l->widths[c])
			continue;
		if (t->columns[c].type != TABLE_NAME) {
			width = heading_width(&t->columns[c]);
			print_spaces(out, width < l->widths[c] ? l->widths[c] - width : 0);
		}
		r = print_name(
			&(struct layout){.widths = l->widths,
					 .last = t->columns[c].type == TABLE_NAME ? l->last : c,
					 .gap = l->gap,
					 .terminal = l->terminal},
			c, false, heading, strlen(heading), out);
		if (t->columns[c].type != TABLE_NAME && c != l->last)
			print_spaces(out, l->gap);
	}
	fputs(bold ? "\033[0m\n" : "\n", out);
	return r;
}

static int print_row(const struct table *t, const struct layout *l, size_t row, FILE *out)
{
	char number[400];
	int r = 0;

	for (int c = 0; c < t->column_count && !r; c++) {
		const struct table_cell *cell = table_cell_at(t, row, c);

		if (!l->widths[c])
			continue;
		if (t->columns[c].type != TABLE_NAME)
			print_number(l, c, cell_number(cell, t->columns[c].type, number), out);
		else
			r = print_name(l, c, t->columns[c].plain, cell->present ? cell->name : "",
				       cell->present ? cell->size : 0, out);
	}
	putc('\n', out);
	return r;
}

/* What a narrow terminal has no room for is not silently gone. */
static void print_left_out(const struct table *t, const struct layout *l, FILE *out, int width)
{
	char text[1024];
	int used = snprintf(text, sizeof(text), "(no room for:"), named = 0;

	for (int c = 0; c < t->column_count; c++) {
		const char *heading = t->columns[c].heading;

		if (heading && !l->widths[c] && strcmp(heading, "%") != 0 &&
		    used < (int)sizeof(text) - 1)
			used += snprintf(text + used, sizeof(text) - (size_t)used, "%s %.40s",
					 named++ ? "," : "", heading);
	}
	if (used < (int)sizeof(text) - 1)
		snprintf(text + used, sizeof(text) - (size_t)used, ")");
	wrap_print(out, text, 0, " ", width);
	putc('\n', out);
}

int table_print_text(const struct table *t, FILE *out, int width)
{
	struct layout l = {.terminal = width > 0, .last = -1, .gap = GAP};

	l.widths = calloc((size_t)t->column_count + 1, sizeof(*l.widths));
	if (!l.widths)
		return -ENOMEM;
	int r = layout_measure(t, &l, width);
	if (!r)
		r = print_headings(t, &l, out);
	for (size_t row = 0; row < t->row_count && !r; row++)
		r = print_row(t, &l, row, out);
	if (!r && l.left_out)
		print_left_out(t, &l, out, width);
	free(l.widths);
	return r;
}

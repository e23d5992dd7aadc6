/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "render/table_cells.h"
#include "util/array.h"
#include "util/text.h"

#define COLUMNS_MAX	1000
#define JOINED_MAX	128 /* of a key with its suffix, which are ours */
#define NAMES_MAX_BYTES ((size_t)1 << 30)

struct table *table_new(const char *report)
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->report = report;
	t->names = arena_new(NAMES_MAX_BYTES);
	if (!t->names) {
		free(t);
		return NULL;
	}
	return t;
}

void table_free(struct table *t)
{
	if (!t)
		return;
	arena_free(t->names);
	free(t->columns);
	free(t->cells);
	free(t);
}

/* The first error stays. */
static void fail(struct table *t, int error)
{
	if (!t->error)
		t->error = error;
}

static int add_column(struct table *t, const struct table_column *column)
{
	if (!t || t->error || t->row_count || t->column_count >= COLUMNS_MAX)
		return -1;
	if (array_grow_short(&t->columns, t->column_count, sizeof(*t->columns))) {
		fail(t, -ENOMEM);
		return -1;
	}
	t->columns[t->column_count] = *column;
	return t->column_count++;
}

int table_add_column(struct table *t, enum table_type type, const char *key, const char *heading)
{
	return add_column(t, &(struct table_column){type, NULL, key, heading, false});
}

int table_add_text_column(struct table *t, const char *key, const char *heading)
{
	return add_column(t, &(struct table_column){TABLE_NAME, NULL, key, heading, true});
}

/* NULL when NULL, or when there is no memory. */
static const char *copy(struct table *t, const char *text)
{
	const char *made = t && text ? arena_strndup(t->names, text, strlen(text)) : NULL;

	if (t && text && !made)
		fail(t, -ENOMEM);
	return made;
}

int table_add_group_column(struct table *t, enum table_type type, const char *group,
			   const char *name, const char *heading)
{
	struct table_column column = {type, group, copy(t, name), copy(t, heading), false};

	return add_column(t, &column);
}

int table_add_joined_column(struct table *t, enum table_type type, const char *key,
			    const char *suffix)
{
	char joined[JOINED_MAX];

	snprintf(joined, sizeof(joined), "%s%s", key, suffix);
	return add_column(t, &(struct table_column){.type = type, .key = copy(t, joined)});
}

void table_set_spare(struct table *t, int column, int order)
{
	if (t && column >= 0 && column < t->column_count)
		t->columns[column].spare = order;
}

void table_set_share(struct table *t, int column, int percent)
{
	if (t && column >= 0 && column < t->column_count)
		t->columns[column].share = percent;
}

void table_add_row(struct table *t)
{
	size_t columns, row_bytes;

	if (!t || t->error)
		return;
	columns = (size_t)t->column_count;
	row_bytes = columns * sizeof(*t->cells);
	if (array_grow(&t->cells, t->row_count, &t->row_room, row_bytes, 64)) {
		fail(t, -ENOMEM);
		return;
	}
	memset(t->cells + t->row_count * columns, 0, row_bytes);
	t->row_count++;
}

/* The cell of the last row, which will have a value; NULL when there is none. */
static struct table_cell *last_cell(struct table *t, int column)
{
	struct table_cell *cell;

	if (!t || t->error || !t->row_count || column < 0 || column >= t->column_count)
		return NULL;
	cell = &t->cells[(t->row_count - 1) * (size_t)t->column_count + (size_t)column];
	cell->present = true;
	return cell;
}

void table_set_name(struct table *t, int column, const char *name, size_t size)
{
	struct table_cell *cell = last_cell(t, column);

	if (!cell)
		return;
	cell->name = size <= UINT32_MAX ? arena_strndup(t->names, name, size) : NULL;
	cell->size = (uint32_t)size;
	if (!cell->name)
		fail(t, -ENOMEM);
}

void table_set_text(struct table *t, int column, const char *text)
{
	if (text)
		table_set_name(t, column, text, strlen(text));
}

void table_set_buf(struct table *t, int column, const struct buf *b)
{
	if (b->error && t)
		fail(t, b->error);
	else
		table_set_name(t, column, b->size ? (char *)b->data : "", b->size);
}

void table_set_count(struct table *t, int column, uint64_t value)
{
	struct table_cell *cell = last_cell(t, column);

	if (cell)
		cell->count = value;
}

void table_set_address(struct table *t, int column, uint64_t value)
{
	table_set_count(t, column, value);
}

void table_set_real(struct table *t, int column, double value)
{
	struct table_cell *cell = last_cell(t, column);

	if (cell)
		cell->real = value;
}

void table_format_value(double value, char *out, size_t room)
{
	double size = fabs(value);

	snprintf(out, room, size >= 1e4 && size < 1e15 ? "%.0f" : "%.4g", value);
}

char *table_escape(const char *name, size_t size)
{
	size_t room = text_escape(NULL, 0, name, size) + 1;
	char *out = malloc(room);

	if (out)
		text_escape(out, room, name, size);
	return out;
}

int table_print(const struct table *t, const struct report_header *h, enum table_format format,
		FILE *out, int width)
{
	int r = t ? t->error : -ENOMEM;

	if (!r && h)
		r = h->error;
	if (r)
		return r;
	switch (format) {
	case TABLE_TEXT:
		r = report_header_print(h, out, width);
		if (!r)
			r = table_print_text(t, out, width);
		break;
	case TABLE_JSON:
		r = table_print_json(t, h, out);
		break;
	case TABLE_CSV:
		r = table_print_csv(t, out);
		break;
	}
	if (!r && ferror(out))
		r = -EIO;
	return r;
}

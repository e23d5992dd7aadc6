/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "report/table_cells.h"
#include "util/array.h"
#include "util/text.h"

#define COLUMNS_MAX	1000
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

static int add_column(struct table *t, const struct table_column *column)
{
	struct table_column *columns;

	if (t->row_count || t->column_count >= COLUMNS_MAX)
		return t->row_count ? -EINVAL : -ENOSPC;
	columns = reallocarray(t->columns, (size_t)t->column_count + 1, sizeof(*columns));
	if (!columns)
		return -ENOMEM;
	t->columns = columns;
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

int table_add_group_column(struct table *t, enum table_type type, const char *group,
			   const char *name, const char *heading)
{
	struct table_column column = {type, group, NULL, NULL, false};

	column.key = arena_strndup(t->names, name, strlen(name));
	column.heading = heading ? arena_strndup(t->names, heading, strlen(heading)) : NULL;
	if (!column.key || (heading && !column.heading))
		return -ENOMEM;
	return add_column(t, &column);
}

int table_add_joined_column(struct table *t, enum table_type type, const char *key,
			    const char *suffix)
{
	struct table_column column = {.type = type};
	size_t size = strlen(key) + strlen(suffix) + 1;
	char *joined = arena_alloc(t->names, size);

	if (!joined)
		return -ENOMEM;
	snprintf(joined, size, "%s%s", key, suffix);
	column.key = joined;
	return add_column(t, &column);
}

void table_set_spare(struct table *t, int column, int order)
{
	if (column >= 0 && column < t->column_count)
		t->columns[column].spare = order;
}

int table_add_row(struct table *t)
{
	size_t columns = (size_t)t->column_count, row_bytes = columns * sizeof(*t->cells);

	if (array_grow(&t->cells, t->row_count, &t->row_room, row_bytes, 64))
		return -ENOMEM;
	memset(t->cells + t->row_count * columns, 0, row_bytes);
	t->row_count++;
	return 0;
}

/* The cell of the last row, NULL when there is none. */
static struct table_cell *last_cell(struct table *t, int column)
{
	if (!t->row_count || column < 0 || column >= t->column_count)
		return NULL;
	return &t->cells[(t->row_count - 1) * (size_t)t->column_count + (size_t)column];
}

int table_set_name(struct table *t, int column, const char *name, size_t size)
{
	struct table_cell *cell = last_cell(t, column);

	if (!cell || size > UINT32_MAX)
		return -EINVAL;
	cell->name = arena_strndup(t->names, name, size);
	if (!cell->name)
		return -ENOMEM;
	cell->size = (uint32_t)size;
	cell->present = true;
	return 0;
}

int table_set_count(struct table *t, int column, uint64_t value)
{
	struct table_cell *cell = last_cell(t, column);

	if (!cell)
		return -EINVAL;
	cell->count = value;
	cell->present = true;
	return 0;
}

int table_set_address(struct table *t, int column, uint64_t value)
{
	return table_set_count(t, column, value);
}

int table_set_real(struct table *t, int column, double value)
{
	struct table_cell *cell = last_cell(t, column);

	if (!cell)
		return -EINVAL;
	cell->real = value;
	cell->present = true;
	return 0;
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
	int r = 0;

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

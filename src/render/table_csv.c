/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "render/table_cells.h"

/*
 * RFC 4180: lines end in CRLF, a field with a comma or a quote is quoted. Names are escaped as in
 * text, so a field never holds a line break or an escape sequence of a terminal.
 */

static int print_field(const char *text, size_t size, FILE *out)
{
	char *escaped = table_escape(text, size);

	if (!escaped)
		return -ENOMEM;
	if (strpbrk(escaped, ",\"")) {
		putc('"', out);
		for (const char *p = escaped; *p; p++) {
			if (*p == '"')
				putc('"', out);
			putc(*p, out);
		}
		putc('"', out);
	} else {
		fputs(escaped, out);
	}
	free(escaped);
	return 0;
}

static int print_cell(const struct table_cell *cell, enum table_type type, FILE *out)
{
	if (!cell->present)
		return 0;
	switch (type) {
	case TABLE_NAME:
	case TABLE_FIGURE:
	case TABLE_RAW:
		return print_field(cell->name, cell->size, out);
	case TABLE_COUNT:
		fprintf(out, "%" PRIu64, cell->count);
		return 0;
	case TABLE_ADDRESS:
		fprintf(out, "0x%" PRIx64, cell->count);
		return 0;
	case TABLE_PERCENT:
	case TABLE_REAL:
	case TABLE_VALUE:
		if (isfinite(cell->real))
			fprintf(out, "%.9g", cell->real);
		return 0;
	}
	return 0;
}

static int print_keys(const struct table *t, FILE *out)
{
	const char *comma = "";
	char *key;
	int r = 0;

	for (int c = 0; c < t->column_count && !r; c++) {
		const struct table_column *column = &t->columns[c];

		if (!column->key)
			continue;
		fputs(comma, out);
		comma = ",";
		if (asprintf(&key, "%s%s%s", column->group ? column->group : "",
			     column->group ? "." : "", column->key) < 0)
			return -ENOMEM;
		r = print_field(key, strlen(key), out);
		free(key);
	}
	fputs("\r\n", out);
	return r;
}

int table_print_csv(const struct table *t, FILE *out)
{
	int r = print_keys(t, out);

	for (size_t row = 0; row < t->row_count && !r; row++) {
		const char *comma = "";

		for (int c = 0; c < t->column_count && !r; c++) {
			if (!t->columns[c].key)
				continue;
			fputs(comma, out);
			comma = ",";
			r = print_cell(table_cell_at(t, row, c), t->columns[c].type, out);
		}
		fputs("\r\n", out);
	}
	return r;
}

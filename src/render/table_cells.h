/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_RENDER_TABLE_CELLS_H
#define CULPRIT_RENDER_TABLE_CELLS_H

#include "render/table.h"
#include "util/arena.h"

/* The inside of a table, for the files that print it. */

struct table_column {
	enum table_type type;
	const char *group;   /* NULL: none */
	const char *key;     /* NULL: in text only */
	const char *heading; /* NULL: not in text */
	bool plain;	     /* TABLE_NAME: backslashes stay single in text */
	int spare;	     /* order in which it may be left out; 0: it may not */
	int share;	     /* percent of the width below which others are left out first */
};

struct table_cell {
	union {
		const char *name; /* NULL: absent */
		uint64_t count;
		double real;
	};
	uint32_t size; /* of the name */
	bool present;
};

struct table {
	const char *report;
	struct arena *names;
	struct table_column *columns;
	struct table_cell *cells; /* row by row */
	size_t row_count, row_room;
	int column_count;
	int error; /* the first; 0: none */
};

static inline const struct table_cell *table_cell_at(const struct table *t, size_t row, int column)
{
	return &t->cells[row * (size_t)t->column_count + (size_t)column];
}

/* 0, -ENOMEM or -EIO. */
int table_print_text(const struct table *t, FILE *out, int width);
int table_print_json(const struct table *t, const struct report_header *h, FILE *out);
int table_print_csv(const struct table *t, FILE *out);

/* The whole name escaped, in malloc'ed memory; NULL when out of memory. */
char *table_escape(const char *name, size_t size);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_RENDER_TABLE_H
#define CULPRIT_RENDER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "render/header.h"
#include "util/buf.h"

/*
 * A result table and its printing. Every report makes one and lets this print it as aligned text,
 * as JSON ({header..., "rows": [...]}) or as CSV. Cells hold raw values; names are escaped here.
 *
 * An error stays in the table, which takes nothing more then, and table_print() returns it: callers
 * need not check each call. NULL, what table_new() gives without memory, is such a table.
 */
struct table;

enum table_format { TABLE_TEXT, TABLE_JSON, TABLE_CSV };

enum table_type {
	TABLE_NAME,    /* bytes from outside; escaped; left aligned; takes the room that is left */
	TABLE_COUNT,   /* uint64_t */
	TABLE_PERCENT, /* double, 0 to 100 */
	TABLE_REAL,    /* double */
	TABLE_VALUE,   /* double of any size: in text four digits or more, as in 0.001234 */
	TABLE_ADDRESS, /* uint64_t, hex; a string in JSON */
	TABLE_FIGURE,  /* a number as text (table_set_name), right aligned */
	TABLE_RAW,     /* JSON (table_set_buf) for what is no single value; not in text */
};

/* A TABLE_PERCENT; 0 when whole is 0. */
static inline double table_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

struct table *table_new(const char *report); /* the report's name, static */
void table_free(struct table *t);

/* key: the name in JSON and CSV, NULL for text only; heading: of the text form, NULL for not in
 * text. Both static. All columns first, then rows. Returns the column's index; negative: there is
 * none, for lack of memory or past a thousand. */
int table_add_column(struct table *t, enum table_type type, const char *key, const char *heading);
/* A column inside the JSON object group ("events", static) under a name from outside; name and
 * heading are copied. In CSV it is GROUP.NAME. */
int table_add_group_column(struct table *t, enum table_type type, const char *group,
			   const char *name, const char *heading);

/* A column whose key is KEY and suffix, copied, and that is not in text. */
int table_add_joined_column(struct table *t, enum table_type type, const char *key,
			    const char *suffix);

/* A TABLE_NAME column of text that is no name, like source code: in the text form backslashes stay
 * single. Otherwise as table_add_column. */
int table_add_text_column(struct table *t, const char *key, const char *heading);

/* A column that a narrow terminal may do without: those of the lowest order (from 1) go first, and
 * are named below the table. */
void table_set_spare(struct table *t, int column, int order);
/* A TABLE_NAME column that is what the table is read for, like code: a narrow terminal leaves out
 * what it may do without before it cuts this one to less than so many percent of its width. */
void table_set_share(struct table *t, int column, int percent);

void table_add_row(struct table *t); /* cells start absent (JSON null, text empty) */
/* Each sets a cell of the last row; nothing where there is no such column (a negative one). Names
 * are copied; in JSON one that is not UTF-8 is escaped. */
void table_set_name(struct table *t, int column, const char *name, size_t size);
void table_set_text(struct table *t, int column, const char *text); /* NULL: none */
/* What was written, and its error. */
void table_set_buf(struct table *t, int column, const struct buf *b);
void table_set_count(struct table *t, int column, uint64_t value);
void table_set_real(struct table *t, int column, double value); /* PERCENT, REAL, VALUE */
void table_set_address(struct table *t, int column, uint64_t value);

/* A TABLE_VALUE as text: four digits, and all those before the point. */
void table_format_value(double value, char *out, size_t room);

/*
 * Prints header and rows; CSV has rows alone, see report_header_print. width: columns of the
 * terminal, 0 when it is none (nothing is cut). 0, the error of the table or of its header, or -EIO
 * when out has failed.
 */
int table_print(const struct table *t, const struct report_header *h, enum table_format format,
		FILE *out, int width);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_TABLE_H
#define CULPRIT_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "report/header.h"

/*
 * A result table and its printing. Every report makes one and lets this print it as aligned text,
 * as JSON ({header..., "rows": [...]}) or as CSV. Cells hold raw values; names are escaped here.
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
};

struct table *table_new(const char *report); /* the report's name, static */
void table_free(struct table *t);

/* key: the name in JSON and CSV, NULL for text only; heading: of the text form, NULL for not in
 * text. Both static. All columns first, then rows. Returns the column's index or a negative errno,
 * which the setters refuse in turn. */
int table_add_column(struct table *t, enum table_type type, const char *key, const char *heading);
/* A column inside the JSON object group ("events", static) under a name from outside; name and
 * heading are copied. In CSV it is GROUP.NAME. */
int table_add_group_column(struct table *t, enum table_type type, const char *group,
			   const char *name, const char *heading);

/* A column of which the key is KEY and suffix, copied, and that is not in text. */
int table_add_joined_column(struct table *t, enum table_type type, const char *key,
			    const char *suffix);

/* A TABLE_NAME column of text that is no name, like source code: in the text form backslashes stay
 * single. Otherwise as table_add_column. */
int table_add_text_column(struct table *t, const char *key, const char *heading);

/* A column that a narrow terminal may do without: those of the lowest order (from 1) go first, and
 * are named below the table. */
void table_set_spare(struct table *t, int column, int order);

int table_add_row(struct table *t); /* 0 or -ENOMEM; cells start absent (JSON null, text empty) */
/* Each sets a cell of the last row. Names are copied; in JSON one that is not UTF-8 is escaped. */
int table_set_name(struct table *t, int column, const char *name, size_t size);
int table_set_count(struct table *t, int column, uint64_t value);
int table_set_real(struct table *t, int column, double value); /* PERCENT, REAL, VALUE */
int table_set_address(struct table *t, int column, uint64_t value);

/* A TABLE_VALUE as text: four digits, and all those before the point. */
void table_format_value(double value, char *out, size_t room);

/*
 * Prints header and rows; CSV has rows alone, see report_header_print. width: columns of the
 * terminal, 0 when it is none (nothing is cut). 0, -ENOMEM, or -EIO when out has an error.
 */
int table_print(const struct table *t, const struct report_header *h, enum table_format format,
		FILE *out, int width);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_JSON_WRITER_H
#define CULPRIT_REPORT_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "report/json.h"
#include "util/buf.h"

/*
 * JSON written as it is made, for reports of a million values, for which a tree of them (json.h)
 *costs more than to compute them. Character for character what report_json_print writes of the same
 * values.
 *
 *	json_writer_open(&w, '{');
 *	json_writer_key(&w, "low");
 *	json_writer_number(&w, 0.5);
 *	json_writer_close(&w, '}');
 *
 * Whoever writes takes care that keys and values take turns. An error stays in buf.error.
 */
struct json_writer {
	struct buf buf;
	bool more; /* a comma comes before the next value or key */
};

void json_writer_init(struct json_writer *w, size_t max_bytes);
void json_writer_open(struct json_writer *w, char bracket);
void json_writer_close(struct json_writer *w, char bracket);
void json_writer_key(struct json_writer *w, const char *key); /* plain: nothing to escape */
void json_writer_number(struct json_writer *w, double value); /* null when JSON has no such */
void json_writer_count(struct json_writer *w, uint64_t value);
void json_writer_bool(struct json_writer *w, bool value);
void json_writer_text(struct json_writer *w, const char *text);	   /* null when NULL; escaped */
void json_writer_address(struct json_writer *w, uint64_t address); /* "0x..." */
/* Any other value, which it lets go. NULL is lack of memory. */
void json_writer_value(struct json_writer *w, json_t *value);
/* Prints what was written and frees it. 0 or the first error. */
int json_writer_end(struct json_writer *w, FILE *out);

#endif

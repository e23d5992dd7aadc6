/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_RENDER_JSON_WRITER_H
#define CULPRIT_RENDER_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "render/json.h"
#include "util/buf.h"

/*
 * JSON written as it is made, for reports of a million values, for which a tree of them (json.h)
 * costs more than computing them. Character for character what report_json_print writes for the
 * same values.
 *
 *	json_writer_open(&w, NULL, '{');
 *	json_writer_number(&w, "low", 0.5);
 *	json_writer_close(&w, '}');
 *
 * key: plain, nothing to escape; NULL where none stands, as in an array. An error stays in
 * buf.error.
 */
struct json_writer {
	struct buf buf;
	bool more; /* a comma comes before the next value or key */
};

void json_writer_init(struct json_writer *w, size_t max_bytes);
void json_writer_open(struct json_writer *w, const char *key, char bracket);
void json_writer_close(struct json_writer *w, char bracket);
/* null when JSON cannot hold it */
void json_writer_number(struct json_writer *w, const char *key, double value);
void json_writer_count(struct json_writer *w, const char *key, uint64_t value);
void json_writer_bool(struct json_writer *w, const char *key, bool value);
/* null when NULL; escaped */
void json_writer_text(struct json_writer *w, const char *key, const char *text);
/* "0x..." */
void json_writer_address(struct json_writer *w, const char *key, uint64_t address);
/* Any other value, which it releases. NULL: out of memory. */
void json_writer_value(struct json_writer *w, const char *key, json_t *value);
/* Prints what was written and frees it. 0 or the first error. */
int json_writer_end(struct json_writer *w, FILE *out);

#endif

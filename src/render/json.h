/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_RENDER_JSON_H
#define CULPRIT_RENDER_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "render/header.h"

/*
 * Characters past ASCII are written as \uNNNN: exact for a parser, and nothing that a
 * terminal would act on.
 */
#define REPORT_JSON_FLAGS (JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9))

/* For reports whose JSON is no plain table. Values are new references; NULL when out of memory. */
json_t *report_json_header(const char *report, const struct report_header *h);
json_t *report_json_text(const char *text); /* null when NULL; escaped when it is not UTF-8 */
json_t *report_json_count(uint64_t value);
json_t *report_json_number(double value);      /* null when JSON cannot hold it */
json_t *report_json_address(uint64_t address); /* "0x..." */
/* Prints a value and releases it; cut: this many last characters are left out. 0 or -ENOMEM. */
int report_json_print(json_t *value, size_t cut, FILE *out);

#endif

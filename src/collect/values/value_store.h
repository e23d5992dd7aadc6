/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_VALUES_VALUE_STORE_H
#define CULPRIT_COLLECT_VALUES_VALUE_STORE_H

#include <stdbool.h>
#include <stdint.h>
#include "bpf/wire_values.h"
#include "db/batch.h"
#include "util/diag.h"
#include "values/summary.h"

/*
 * From the values that windows of edge samples report (doc/values.md) to summaries in the batch.
 * Values ride on the windows of edges: they are gathered in the same turn of the interpreter.
 */

/* What of them is wanted. */
struct values_options {
	uint32_t kinds;	    /* bits of enum value_kind; 0: no values at all */
	bool with_contents; /* else only what tells nothing of the values themselves */
	bool with_sites;    /* arguments by the call, else by the function alone */
	const char *image;  /* a glob of paths; NULL: all */
};

/* Parses a list like "loads,strides"; "all" is all kinds. -EINVAL and a sentence. */
int values_parse_kinds(const char *list, uint32_t *ret, struct diag *diag);

struct value_store;

/* Where a place is in the database: the number of its image in the batch. */
struct value_spot {
	uint32_t image;
	uint64_t offset;
	const char *path;
};

struct value_store_config {
	/* Borrowed. */
	const struct values_options *options;
	struct db_batch *batch;
	int (*make_room)(void *arg); /* as in struct edge_windows_config */
	/* 0; -ENOENT: the place is in no file; or an error of the batch. */
	int (*find)(void *arg, struct wire_place place, struct value_spot *ret);
	void *arg;
	void *find_arg;
};

struct value_store *value_store_new(const struct value_store_config *config);
void value_store_free(struct value_store *s);
void value_store_take(struct value_store *s, const struct wire_values *values);

struct value_store_counters {
	uint64_t windows, values; /* that were stored */
	uint64_t lost;		  /* values that found no room */
};
void value_store_read_counters(const struct value_store *s, struct value_store_counters *ret);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_PICK_H
#define CULPRIT_CMD_PICK_H

#include "analyze/functions.h"
#include "cmd/report.h"

/* The one function that a report is about, and everything that it is found in. */
struct pick {
	struct query *query;
	struct db_reader *reader;
	struct image_finder *finder;
	struct functions *functions;
	const struct function_hit *hit;
};

/*
 * what: a name, a part of one, a regular expression, or an address of the image (0x...). When it
 * may be any of several, prints them as a table and fails with -EEXIST. Errors as of report_open
 * and query_read; -ENOENT: there is none with samples. pick_free() in any case.
 */
int pick_function(const struct report_options *o, const char *what, struct pick *ret,
		  struct diag *diag);
void pick_free(struct pick *p);

/* The operand of a command line, or --function's text. -EINVAL when there is none, or too many. */
int pick_operand(const struct report_options *o, int argc, char **argv, int operand,
		 const char **ret, struct diag *diag);

/* The header of a report on it: epochs and events. 0 or -ENOMEM. */
int pick_describe(const struct pick *p, struct report_header *h);

#endif

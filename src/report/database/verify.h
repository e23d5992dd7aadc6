/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_DATABASE_VERIFY_H
#define CULPRIT_REPORT_DATABASE_VERIFY_H

#include "db/reader.h"
#include "render/table.h"

/* Whether all of a database can be read, and what in it is damaged. */

struct verify_options {
	/* Called for each damaged part when it is found, as the rest may take long; may be NULL. */
	void (*found)(void *arg, const char *what);
	void *arg;
};

struct verify_report {
	struct db_verify_totals totals;
	char **damage; /* a sentence for each damaged part */
	size_t count;
};

/* Errors as in db_verify: with -EBADMSG, which says that there is damage, the report is made too.
 * -ENOENT: path is not a database. verify_free() in any case. */
int verify_make(const char *path, const struct verify_options *o, struct verify_report *ret,
		struct diag *diag);
void verify_free(struct verify_report *r); /* what it owns */

/* As text the totals alone; as CSV the damage, with the totals to beside. 0 or -ENOMEM. */
int verify_print(const struct verify_report *r, enum table_format format, FILE *out, FILE *beside);

#endif

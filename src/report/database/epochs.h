/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_DATABASE_EPOCHS_H
#define CULPRIT_REPORT_DATABASE_EPOCHS_H

#include "report/session.h"
#include "util/buf.h"

/* What a database holds, one epoch per row, the oldest first. */

/* What only reading an epoch tells. */
struct epochs_contents {
	struct buf events; /* "cycles, cache-misses" */
	uint64_t windows;  /* samples that were followed */
	uint64_t lost, unknown;
};

struct epochs_report {
	const struct db_epoch *const *epochs; /* of the session's reader */
	struct epochs_contents *contents;     /* of each */
	struct epochs_contents *current;      /* of the one that is read */
	size_t count;
	struct table *table;
};

/* Errors as in report_session_select and db_reader_query. epochs_free() in any case. */
int epochs_make(struct report_session *s, struct epochs_report *ret, struct report_header *h,
		struct diag *diag);
void epochs_free(struct epochs_report *r); /* what it owns */

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_EXPORT_H
#define CULPRIT_CMD_EXPORT_H

#include "cmd/insights.h"
#include "util/buf.h"

/* The kinds of what `culprit export` writes, each to a file ("-": stdout); NULL: not asked.
 */

enum export_code {
	EXPORT_FDATA,
	EXPORT_PREAGGREGATED,
	EXPORT_AUTOFDO,
	EXPORT_COUNTS,
	EXPORT_CODES
};
enum export_stacks {
	EXPORT_FOLDED,
	EXPORT_PPROF,
	EXPORT_SPEEDSCOPE,
	EXPORT_CALLGRIND,
	EXPORT_STACKS
};

/* Of one image's code: the session's report says which. */
int export_code(struct insights_session *session, const char *const files[EXPORT_CODES],
		struct diag *diag);
/* Of stacks. */
int export_stacks(struct report_options *report, const char *const files[EXPORT_STACKS],
		  struct diag *diag);
/* Of samples by line. */
int export_xml(struct report_options *report, const char *file, struct diag *diag);

/* Raw records of single samples. */
int export_raw(struct report_options *report, const char *file, struct diag *diag);

#define EXPORT_MAX_BYTES ((size_t)2 << 30)

/* Writes what was made, or says why it could not be made. */
int export_save(const struct buf *b, const char *path, struct diag *diag);

/* Everything that reading a database opens. */
struct export_source {
	struct db_reader *reader;
	struct query *query;
	struct image_finder *finder;
};
/* Opens the database and a way to symbols; the query is made, not read. */
int export_open(struct export_source *s, struct report_options *report, enum query_group group,
		struct diag *diag);
/* Tells on stderr what of the database was damaged. */
void export_close(struct export_source *s);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_PATHS_PATHS_STATE_H
#define CULPRIT_REPORT_PATHS_PATHS_STATE_H

#include "report/paths/paths.h"
#include "util/buf.h"

/* What the files of src/report/paths share. */

#define PATHS_ALL SIZE_MAX

/* find.c: reads all paths of the selection, ranks nothing. */
int paths_read(struct report_session *s, struct path_tally *t, struct diag *diag);
/* Names of all functions that have paths. -ENOMEM. */
int paths_name_functions(struct report_session *s, struct paths_report *r);
/* The one that is meant, by its number. -ENOENT, -EEXIST. */
int paths_find_function(const struct paths_report *r, const char *what, size_t *ret,
			struct diag *diag);

/* -ENOENT: it has no path of that number. */
int paths_check_number(const struct path_function *f, uint64_t number, struct diag *diag);

/* describe.c: what the header says of all paths (of: PATHS_ALL), or of a function's. */
void paths_describe(const struct paths_report *r, const struct paths_options *o, size_t of,
		    struct report_header *h);

/* way.c: a path in words. The lines in the order in which they are run, "app.c:12-14 20", and how
 * branches went, "1145 taken, 1160 not, back to 1139". */
struct path_way {
	struct buf lines, branches, blocks;
};
void path_way_free(struct path_way *w);
/* Of rows of the tally; ways: as many, all zeros. -ENOMEM. */
int paths_find_ways(struct report_session *s, const struct path_tally *t, const size_t *rows,
		    size_t count, struct path_way *ways);
/* The blocks of a path as the rows of a table. */
int paths_list_blocks(struct report_session *s, const struct path_tally *t, size_t row,
		      struct table **ret, struct diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_DESCRIBE_H
#define CULPRIT_REPORT_DESCRIBE_H

#include "analyze/calls/stack_set.h"
#include "render/header.h"
#include "report/session.h"

/* What the header of a report says, piece by piece. */

/* What a session's query, its reader and its finder say: events, losses, epochs, damage. To be
 * called when all has been read. */
void report_describe(struct report_header *h, const struct report_session *s);
/* Parts of that. */
void report_describe_epochs(struct report_header *h, const struct db_epoch *const *epochs,
			    size_t count);
void report_describe_query(struct report_header *h, const struct query *q);
/* What is damaged, missing or in the way in all that was read of the database so far. */
void report_describe_reader(struct report_header *h, struct db_reader *reader);
#define REPORT_MORE_NOTES "%llu more such %s (see: culprit db verify)"
/* How often what the database keeps of images was damaged. */
#define REPORT_KEPT_DAMAGED                                                            \
	"kept symbols, lines or code of an image could not be read %llu %s, and were " \
	"rebuilt or left out (see: culprit db verify)"
void report_describe_finder(struct report_header *h, const struct image_finder *f);

/* "no symbols of 2 images, first: why", for images that something was not found for, if any.
 * before: how the note begins, "set 1: ". */
void report_describe_absent(struct report_header *h, const char *before, const char *what,
			    size_t images, const struct diag *why);
/* The cells of an image in the last row: its path, and its identity. */
void report_set_image(struct table *t, int column, int id_column, const struct query_image *image);

/* Says so, and where to look. */
void report_nothing_matches(struct report_header *h);
/* Idle time, and what the ranking could not find. idle: as in its options. */
void report_describe_rank(struct report_header *h, const struct query *q, const struct rank *k,
			  bool idle);

/* How many stacks there are, how complete, and why the others are not. */
void report_describe_stacks(struct report_header *h, const struct stack_set *s);
/* -ENODATA, and what to do. */
int report_fail_no_stacks(struct diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_REPORT_SESSION_H
#define CULPRIT_REPORT_SESSION_H

#include "analyze/query/query.h"
#include "analyze/query/rank.h"
#include "db/reader.h"
#include "find/find.h"
#include "render/table.h"
#include "util/diag.h"

/*
 * What a report is made from: a database, the epochs and samples that are asked for, and where the
 * names and code of its images are found. For any user of reports: the program, a viewer, a
 * test.
 *
 *	struct report_session s = {.options = &options};
 *	r = NAME_make(&s, &own, &result, &header, &diag);
 *	... NAME_free(&result), report_header_free(&header)
 *	report_session_close(&s);
 *
 * A report opens what it needs of the session; another report of the same session reads again with
 * what is open, and makes earlier results void: they may only be freed. Nothing here prints or
 * exits.
 */

#define REPORT_SUBJECTS_MAX 16

struct report_options {
	const char *db;	     /* NULL: as report_find_db says */
	const char *epoch;   /* NULL: last */
	const char *machine; /* glob; NULL: all of the database */
	const char *function;
	struct query_selection selection; /* its subjects are the ones below */
	const char *subjects[REPORT_SUBJECTS_MAX];
	enum table_format format; /* that it is made for: programs are told more than people */
};

struct report_session {
	const struct report_options *options;
	/* Called again and again during long work with what is being done; NULL: no progress is
	 * reported. */
	void (*progress)(const char *format, ...) __attribute__((format(printf, 1, 2)));

	/* What is open; NULL: not yet. */
	const char *path; /* of the database, whose epochs are selected */
	struct db_reader *reader;
	struct query *query;
	struct image_finder *finder;
};

/* One more KEY=GLOB; text must outlive the options. -EINVAL: they are too many. */
int report_add_subject(struct report_options *o, const char *text, struct diag *diag);

/* The database that was meant: named, $CULPRIT_DB, or the first usual one. -ENOENT: none exists. */
int report_find_db(const char *named, const char **ret_path, struct diag *diag);

/*
 * Makes the query, selects the epochs and finds the images, of what is not open yet; the query is
 * new each time. selection: NULL for that of the options. Errors as in query_new, report_find_db,
 * db_reader_open, db_reader_select and image_finder_new. What was opened stays open after a
 * failure, too, until report_session_close().
 */
int report_session_open(struct report_session *s, const struct query_selection *selection,
			enum query_group group, struct diag *diag);
/* The query and the epochs alone, for a caller that has its own finder. */
int report_session_select(struct report_session *s, const struct query_selection *selection,
			  enum query_group group, struct diag *diag);
/* Both of these: opens, and reads what is selected. */
int report_session_read(struct report_session *s, const struct query_selection *selection,
			enum query_group group, struct diag *diag);
/* Lets go of all that is open, and with it of notes of damage that no header was told
 * (db_reader_take_notes). A session that is all zeros is fine. */
void report_session_close(struct report_session *s);

/* Symbols, lines and graphs through the session's finder, as a ranking wants them. */
struct rank_source report_session_source(const struct report_session *s);

/* When the last samples of the selected epochs were taken, ns since 1970; 0: not known. */
uint64_t report_sampled_ns(const struct db_reader *reader);

#endif

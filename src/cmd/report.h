/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_REPORT_H
#define CULPRIT_CMD_REPORT_H

#include "analyze/query.h"
#include "analyze/rank.h"
#include "analyze/stack_set.h"
#include "cmd/cmd.h"
#include "db/reader.h"
#include "image/find.h"
#include "report/table.h"

/* What all reports share: which database, which samples, which form. */

#define REPORT_SUBJECTS_MAX 16

struct report_options {
	const char *db;	     /* NULL: as report_find_db says */
	const char *epoch;   /* NULL: last */
	const char *machine; /* glob; NULL: all of the database */
	const char *function;
	struct query_selection selection; /* its subjects are the ones below */
	const char *subjects[REPORT_SUBJECTS_MAX];
	enum table_format format;
};

enum {
	REPORT_EPOCH = CMD_LONG,
	REPORT_EVENT,
	REPORT_IMAGE,
	REPORT_FUNCTION,
	REPORT_SUBJECT,
	REPORT_MACHINE,
	REPORT_JSON,
	REPORT_CSV,
	REPORT_METRIC,	   /* see cmd/metrics.h */
	REPORT_OPTION_END, /* the first value for a report's own options */
};

/* clang-format off */
/* For a report's list of options: where it reads, which form it has, and what it is about. */
#define REPORT_DB_OPTION                                                                           \
	{"input", 'i', "DB", "database; default: $CULPRIT_DB, ./culprit.db or /var/lib/culprit"}
#define REPORT_FORM_OPTIONS                                                                        \
	{"json", REPORT_JSON, NULL, "one JSON object"},                                            \
	{"csv", REPORT_CSV, NULL, "comma-separated values; header and notes go to stderr"}
#define REPORT_MACHINE_OPTION                                                                      \
	{"machine", REPORT_MACHINE, "GLOB", "of a database of several machines, these"}
#define REPORT_SELECTION_OPTIONS                                                                   \
	{"epoch", REPORT_EPOCH, "EPOCHS", "last (default), all, NAME or its beginning, FROM..TO", "last all"},  \
	{"event", REPORT_EVENT, "GLOB", "events by name"},                                         \
	{"image", REPORT_IMAGE, "GLOB", "images by path, file name or build-id"},                  \
	{"function", REPORT_FUNCTION, "REGEX", "functions by (demangled) name"},                   \
	{"subject", REPORT_SUBJECT, "KEY=GLOB", SUBJECT_KEYS "; may be repeated"}, \
	REPORT_MACHINE_OPTION
/* clang-format on */

/* Takes one of the options above. 0, -EINVAL, or -ENOENT when it is none of them. */
int report_take_option(struct report_options *o, int value, const char *text, struct diag *diag);

/* The database that was meant. -ENOENT when none was named and none of the usual ones exists. */
int report_find_db(const char *named, const char **ret_path, struct diag *diag);
/* Opens it and chooses the epochs. */
int report_open(const struct report_options *o, const char **ret_path, struct db_reader **ret,
		struct diag *diag);

/* When the last samples of the selected epochs were taken, ns since 1970; 0: not known. */
uint64_t report_sampled_ns(const struct db_reader *reader);

/* Symbols and lines through the finder, as a ranking wants them. */
struct rank_source report_source(struct image_finder *finder);

/* Fills the header with what a query, its reader and its finder say: events, losses, epochs,
 * damage. -ENOMEM. */
int report_describe(struct report_header *h, struct db_reader *reader, const struct query *q,
		    const struct image_finder *finder);
/* Parts of that. */
int report_describe_epochs(struct report_header *h, const struct db_epoch *const *epochs,
			   size_t count);
int report_describe_query(struct report_header *h, const struct query *q);
/* What is damaged, missing or in the way of all that was read of the database until now: to be
 * called when it was read. */
void report_describe_reader(struct report_header *h, struct db_reader *reader);
/* Says on stderr what a header notes of damage, for a form that has no place for notes. */
void report_tell_damage(const struct report_header *h);
/* Frees it (NULL: nothing), and says on stderr what no header has said: the report failed, or its
 * form has no place for it. */
void report_close(struct db_reader *reader);
#define REPORT_MORE_NOTES "%zu more such places (see: culprit db verify)"
/* How often what the database keeps of images was damaged. */
#define REPORT_KEPT_DAMAGED                                                                    \
	"%llu times kept symbols, lines or code of an image could not be read, and were made " \
	"anew or left out (see: culprit db verify)"
void report_describe_finder(struct report_header *h, const struct image_finder *f);
/* The same on stderr, for a form that has no place for notes. */
void report_tell_finder(const struct image_finder *f);
/* Says so, and where to look. */
void report_nothing_matches(struct report_header *h);
/* Idle time, and what the ranking could not find. idle: as in its options. */
void report_describe_rank(struct report_header *h, const struct query *q, const struct rank *k,
			  bool idle);

/* How many stacks there are, how complete, and why the others are not. */
void report_describe_stacks(struct report_header *h, const struct stack_set *s);
/* -ENODATA, and what to do. */
int report_fail_no_stacks(struct diag *diag);

/* Prints to stdout; for CSV the header goes to stderr. Returns an exit status. */
int report_print(const struct table *t, const struct report_header *h, enum table_format format);

#endif

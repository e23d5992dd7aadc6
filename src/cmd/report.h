/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_REPORT_H
#define CULPRIT_CMD_REPORT_H

#include "cmd/cmd.h"
#include "report/code/pick.h"
#include "report/compare/sets.h"
#include "report/describe.h"
#include "report/estimates.h"
#include "report/session.h"

/* What the subcommands that make reports share: options, printing, finishing. */

enum {
	REPORT_SUBJECT = CMD_LONG,
	REPORT_OPTION_END, /* the first value for a report's own options */
};

/* clang-format off */
/* For a report's list of options: where it reads, which form it has, and what it is about. They fill
 * the struct report_options that a command's own options begin with. */
#define REPORT_DB_OPTION                                                                           \
	{"input", 'i', "DB", "database; default: $CULPRIT_DB, ./culprit.db or /var/lib/culprit", \
	 CMD_AT(NAME, report_options, db)}
#define REPORT_FORM_OPTION(name, form, help)                                                       \
	{name, 0, NULL, help, CMD_AT(FORM, report_options, format), .number = form}
#define REPORT_FORM_OPTIONS                                                                        \
	REPORT_FORM_OPTION("json", TABLE_JSON, "one JSON object"),                                 \
	REPORT_FORM_OPTION("csv", TABLE_CSV, "comma-separated values; header and notes go to stderr")
#define REPORT_MACHINE_OPTION                                                                      \
	{"machine", 0, "GLOB", "machines by name, in a database of several",                \
	 CMD_AT(TEXT, report_options, machine)}
#define REPORT_EPOCH_OPTION(help)                                                                  \
	{"epoch", 0, "EPOCHS", help, "last all", CMD_AT(TEXT, report_options, epoch)}
#define REPORT_SELECTION_OPTIONS                                                                   \
	REPORT_EPOCH_OPTION("last (default), all, NAME or its beginning, FROM..TO"),               \
	{"event", 0, "GLOB", "events by name", CMD_AT(TEXT, report_options, selection.event)},    \
	{"image", 0, "GLOB", "images by path, file name or build ID",                       \
	 CMD_AT(TEXT, report_options, selection.image)},                                                 \
	{"function", 0, "REGEX", "functions by (demangled) name",                           \
	 CMD_AT(TEXT, report_options, function)},                                                        \
	{"subject", REPORT_SUBJECT, "KEY=GLOB", SUBJECT_KEYS "; may be repeated"}, \
	REPORT_MACHINE_OPTION
#define REPORT_CLASSIC_OPTION(type, estimates)                                                     \
	{"classic", 0, NULL, "frequencies by the rule of DCPI, from samples alone",         \
	 CMD_AT(FLAG, type, estimates.classic)}
#define REPORT_METRIC_OPTION(type, metrics)                                                        \
	{"metric", 0, "NAME=FORMULA",                                                     \
	 "a column computed from events, 'ipc = instructions / cycles'", CMD_AT(METRIC, type, metrics)}
/* Both, of the reports on instructions. */
#define REPORT_ESTIMATES_OPTIONS(type, estimates)                                                  \
	REPORT_CLASSIC_OPTION(type, estimates), REPORT_METRIC_OPTION(type, estimates.metrics)
#define REPORT_CAUSE_OPTION(type, cause, help)                                                     \
	{"cause", 0, "CAUSE", help, CULPRIT_NAMES, CMD_AT(CHOICE, type, cause)}
/* clang-format on */

/* For cmd_parse: takes the only one that is not stored, --subject. -ENOSYS: it is another. */
int report_take_option(void *options, int value, const char *text, struct diag *diag);

/* The one operand, or --function's text. -EINVAL when there is none, or too many. */
int report_take_function(const struct report_options *o, char *const *operands, const char **ret,
			 struct diag *diag);

/* Says on stderr what a header notes of damage, for a form that has no place for notes. */
void report_tell_damage(const struct report_header *h);
/* The same of what no header was told: of the database (NULL: nothing), and of images. */
void report_tell_reader(struct db_reader *reader);
void report_tell_finder(const struct image_finder *f);

/* Prints to stdout; for CSV the header goes to stderr. Returns an exit status. */
int report_print(const struct table *t, const struct report_header *h, enum table_format format);

/* When r is -EEXIST of pick_function, prints the functions to choose from. */
void report_print_choices(const struct report_session *s, const struct pick *p, int r);

/* What a subcommand that makes a report works with. */
struct report_run {
	struct report_session session;
	struct report_header header;
	struct diag diag;
	char **operands; /* NULL ends them */
};
/*
 * Such a subcommand from its command line to its exit status. options: begins with a struct
 * report_options; metrics: among them, NULL: none. show: makes and prints the report; 0 or an exit
 * status, or a negative errno with the sentence.
 */
int report_run(const struct cmd_spec *spec, int argc, char **argv,
	       int (*take)(void *options, int value, const char *text, struct diag *diag),
	       int (*show)(void *options, struct report_run *run), void *options,
	       struct metrics *metrics);

/* The exit status for r: a negative errno, whose sentence it prints, or an exit status already.
 * command: the one that -EINVAL is wrong usage of; NULL: none. */
int report_finish(const char *command, int r, const struct diag *diag);
/* The same at the end of a session: tells of damage that no header was told of, and closes it. */
int report_end(struct report_session *s, const char *command, int r, const struct diag *diag);
/* Of sets: tells the same of each, and frees them. */
void report_end_sets(struct sets *s);

#endif

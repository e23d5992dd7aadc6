/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_CMD_H
#define CULPRIT_CMD_CMD_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include "util/diag.h"

/*
 * What the subcommands share. A subcommand gets its own name as argv[0] and returns the program's
 * exit status. To add one: a line in cmd/commands.inc and its file, which holds both its command
 * line's syntax (cmd_NAME_spec) and what it does (cmd_NAME).
 */
enum { CMD_OK = 0, CMD_FAILURE = 1, CMD_USAGE = 2 };

struct cmd_spec;
#define CMD(name, help)                                 \
	extern const struct cmd_spec cmd_##name##_spec; \
	int cmd_##name(int argc, char **argv);
#include "cmd/commands.inc"
#undef CMD

/* The program behind main(): finds the subcommand, runs it, and makes sure of its output. */
int cmd_main(int argc, char **argv);

/* Prints the sentence as "culprit: ..." to stderr. Returns CMD_FAILURE. */
int cmd_fail(const struct diag *diag);
/* The same for a wrong command line, with a pointer to the help. Returns CMD_USAGE. */
int cmd_fail_usage(const char *command, const struct diag *diag);

/* Writes to the standard output, all of it. CMD_OK, or CMD_FAILURE: cmd_main says why. */
int cmd_write(const void *data, size_t size);

/*
 * What becomes of an option. Most are stored in the struct that cmd_parse() fills, each read, and
 * refused, the same way everywhere; the others are for its take().
 */
enum cmd_kind {
	CMD_TAKEN,
	CMD_FLAG,
	CMD_SET,
	CMD_FORM,
	CMD_TEXT,
	CMD_NAME,
	CMD_COUNT,
	CMD_PERCENT,
	CMD_SOME_PERCENT,
	CMD_CHOICE,
	CMD_METRIC
};

/* The type of the field that each is stored in, which may be an enum where it is unsigned. */
#define CMD_FLAG_TYPE	      bool     /* true */
#define CMD_SET_TYPE	      unsigned /* .number */
#define CMD_FORM_TYPE	      unsigned /* the same, where none is chosen yet */
#define CMD_TEXT_TYPE	      const char *
#define CMD_NAME_TYPE	      const char *   /* of a FILE or DB, and not empty */
#define CMD_COUNT_TYPE	      uint64_t	     /* from 1 to .number (0: any) */
#define CMD_PERCENT_TYPE      double	     /* from 0 to 100, with or without % */
#define CMD_SOME_PERCENT_TYPE double	     /* the same, but 0 is not allowed */
#define CMD_CHOICE_TYPE	      unsigned	     /* the number of one of .values */
#define CMD_METRIC_TYPE	      struct metrics /* one more */

/* CMD_AT(TEXT, report_options, epoch), in an option: it is a CMD_TEXT, stored in that field, whose
 * type must be that kind's. */
#define CMD_AT(as, type, field)                                                                   \
	.kind = CMD_##as,                                                                         \
	.at = offsetof(struct type, field) +                                                      \
	      0 * sizeof(struct {                                                                 \
		      _Static_assert(                                                             \
			      __builtin_types_compatible_p(                                       \
				      __typeof__(((struct type *)NULL)->field), CMD_##as##_TYPE), \
			      "an option's field has another type than its kind needs");          \
		      int unused;                                                                 \
	      })

#define CMD_LONG 256 /* the first value without a letter, for take() */

struct cmd_option {
	const char *name; /* long; NULL ends the list */
	int value;	  /* its letter; 0, or CMD_LONG + n: has none */
	/* What stands for it in help; NULL: takes none. "[=PERCENT]": may have one, long only. */
	const char *argument;
	const char *help;
	const char *values; /* allowed ones, space-separated, for a shell to offer; NULL: no list */
	enum cmd_kind kind;
	size_t at; /* where it is stored */
	uint64_t number;
};

/* 0: it has none. */
static inline char cmd_option_letter(const struct cmd_option *o)
{
	return (char)(o->value < CMD_LONG ? o->value : 0);
}

struct cmd_spec {
	const char *name;     /* of the subcommand */
	const char *operands; /* of its synopsis, after the options: "[FUNCTION...]", "" */
	const char *help;     /* one sentence or more: what it does */
	const struct cmd_option *options;
	bool stops_at_operand; /* what follows the first operand is not ours: record -- CMD */
};

/*
 * Reads a command line into arg: take(arg, value, text, diag) is called for each option that is not
 * stored, and returns 0 or a negative errno with the sentence in diag. --help (-h) is understood
 * everywhere. Returns -1 to go on, with the index of the first operand in ret_operand, or the exit
 * status when there is nothing more to do. ret_operand NULL: operands are refused.
 */
int cmd_parse(const struct cmd_spec *spec, int argc, char **argv,
	      int (*take)(void *arg, int value, const char *text, struct diag *diag), void *arg,
	      int *ret_operand);

/* The one of the names (NULL ends them) that was probably meant, NULL when none is near. */
const char *cmd_nearest(const char *name, const char *const *names);

/* For an option of its own, by its long name. 0, or -EINVAL with the sentence: as in CMD_PERCENT,
 * and the number of one of the names, which are separated by spaces, as in CMD_CHOICE. */
int cmd_take_percent(const char *option, const char *text, double *ret, struct diag *diag);
int cmd_take_choice(const char *option, const char *text, const char *names, unsigned *ret,
		    struct diag *diag);
/* One more --label to a list that has room for max. 0, or a negative errno with the sentence. */
int cmd_take_label(const char *text, const char **labels, size_t *count, size_t max,
		   struct diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_CMD_H
#define CULPRIT_CMD_CMD_H

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include "util/diag.h"

/*
 * What the subcommands share. A subcommand gets its own name as argv[0] and returns the program's
 * exit status. To add one: a line in cmd/commands.inc and its file, which has both what its command
 * line may be (cmd_NAME_spec) and what it does (cmd_NAME).
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

struct cmd_option {
	const char *name; /* long; NULL ends the list */
	int value;	  /* a letter when it has a short form, else CMD_LONG + n */
	/* What stands for it in the help; NULL: takes none. "[=PERCENT]": may have one, long only.
	 */
	const char *argument;
	const char *help;
	const char *values; /* that it may have, by spaces, for a shell to offer; NULL: no list */
};

#define CMD_LONG 256

struct cmd_spec {
	const char *name;     /* of the subcommand */
	const char *operands; /* of its synopsis, after the options: "[FUNCTION...]", "" */
	const char *help;     /* one sentence or more: what it does */
	const struct cmd_option *options;
	bool stops_at_operand; /* what follows the first operand is not ours: record -- CMD */
};

/*
 * Reads a command line: take(arg, value, text, diag) is called for each option, and returns 0 or a
 * negative errno with the sentence in diag. --help (-h) is understood everywhere. Returns -1 to go
 * on, with the index of the first operand in ret_operand, or the exit status when there is nothing
 * more to do. ret_operand NULL: operands are refused.
 */
int cmd_parse(const struct cmd_spec *spec, int argc, char **argv,
	      int (*take)(void *arg, int value, const char *text, struct diag *diag), void *arg,
	      int *ret_operand);

/* The one of the names (NULL ends them) that was probably meant, NULL when none is near. */
const char *cmd_nearest(const char *name, const char *const *names);

/*
 * Values that options of several subcommands have, so that each is read, and refused, the same
 * way everywhere. option: its long name. 0, or -EINVAL with the sentence.
 */

/* From 0 to 100, with or without %. */
int cmd_take_percent(const char *option, const char *text, double *ret, struct diag *diag);
/* The same, but 0 makes no sense. */
int cmd_take_some_percent(const char *option, const char *text, double *ret, struct diag *diag);
/* A number from 1 to most; UINT64_MAX: any. */
int cmd_take_count(const char *option, const char *text, uint64_t most, uint64_t *ret,
		   struct diag *diag);

#endif

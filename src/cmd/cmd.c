/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cmd/hints.h"
#include "cmd/pager.h"
#include "cmd/progress.h"
#include "collect/host/rights.h"
#include "config.h"
#include "util/log.h"

struct cmd {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

static const struct cmd commands[] = {
#define CMD(name, help) {#name, cmd_##name, help},
#include "cmd/commands.inc"
#undef CMD
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

int cmd_fail(const struct diag *diag)
{
	progress_clear();
	/* A service manager wants to know how bad it is; people see it. */
	if (log_goes_to_journal())
		log_error("%s", diag->text);
	else
		fprintf(stderr, "culprit: %s\n", diag->text);
	return CMD_FAILURE;
}

int cmd_fail_usage(const char *command, const struct diag *diag)
{
	fprintf(stderr, "culprit %s: %s (see: culprit help %s)\n", command, diag->text, command);
	return CMD_USAGE;
}

static int show_help(FILE *out)
{
	fputs("usage: culprit COMMAND [OPTION...]\n"
	      "Where the cycles of the whole machine go, and what is to blame.\n\n",
	      out);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		fprintf(out, "  %-8s  %s\n", commands[i].name, commands[i].help);
	fputs("\nculprit help COMMAND shows its options; culprit --version the version.\n", out);
	return out == stderr ? CMD_USAGE : CMD_OK;
}

static const struct cmd *find_command(const char *name)
{
	const char *names[COMMAND_COUNT + 1], *nearest, *hint;
	struct diag diag;

	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (!strcmp(commands[i].name, name))
			return &commands[i];
		names[i] = commands[i].name;
	}
	names[COMMAND_COUNT] = NULL;
	nearest = cmd_nearest(name, names);
	hint = hints_command(name);
	if (hint)
		diag_fail(&diag, EINVAL, "there is no command '%s': %s", name, hint);
	else if (nearest)
		diag_fail(&diag, EINVAL, "there is no command '%s'; did you mean '%s'?", name,
			  nearest);
	else
		diag_fail(&diag, EINVAL, "there is no command '%s' (see: culprit help)", name);
	cmd_fail(&diag);
	return NULL;
}

static const struct cmd_option no_options[] = {{NULL}};
const struct cmd_spec cmd_help_spec = {
	"help", "[COMMAND]", "Shows the commands, or the options of one.", no_options, false};

int cmd_help(int argc, char **argv)
{
	char *help[] = {argv[argc - 1], "--help", NULL};
	const struct cmd *c;
	struct diag diag;

	if (argc > 2) {
		diag_fail(&diag, EINVAL, "one command at a time");
		return cmd_fail_usage("help", &diag);
	}
	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "help"))
		return show_help(stdout);
	c = find_command(argv[1]);
	return c ? c->run(2, help) : CMD_USAGE;
}

/* What whoever runs them may be given rights for by the program's file; the others have his own. */
static bool samples(const char *name)
{
	static const char *const sampling[] = {"daemon", "doctor", "record", "top"};

	for (size_t i = 0; i < sizeof(sampling) / sizeof(sampling[0]); i++)
		if (!strcmp(sampling[i], name))
			return true;
	return false;
}

/* Reports, which may be longer than the screen. */
static bool is_paged(const char *name)
{
	static const char *const paged[] = {"calc",  "calls",	"diff",	  "epochs", "fleet",
					    "inst",  "list",	"paths",  "prof",   "stalls",
					    "stats", "summary", "values", "why"};

	for (size_t i = 0; i < sizeof(paged) / sizeof(paged[0]); i++)
		if (!strcmp(paged[i], name))
			return true;
	return false;
}

static int run(int argc, char **argv)
{
	const struct cmd *c;

	if (argc < 2)
		return show_help(stderr);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("culprit " CULPRIT_VERSION);
		return CMD_OK;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return show_help(stdout);
	c = find_command(argv[1]);
	if (c && is_paged(c->name))
		pager_start();
	return c ? c->run(argc - 1, argv + 1) : CMD_USAGE;
}

/* Descriptors 0 to 2 that are closed would be given to a database's files. The wrong mode for each
 * use, so that writing to a closed output still fails. */
static void hold_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
			return;
	}
}

/* The reader of the standard output, a pipe, has left. */
static bool reader_left(void)
{
	struct pollfd out = {.fd = STDOUT_FILENO};

	return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

static int write_error; /* of cmd_write: the stream itself forgets it */

int cmd_write(const void *data, size_t size)
{
	errno = 0;
	if ((!size || fwrite(data, size, 1, stdout) == 1) && !fflush(stdout))
		return CMD_OK;
	write_error = errno;
	return CMD_FAILURE;
}

/* What was printed has arrived, or the user hears of it. A reader that left needs no message. */
static int finish_output(int status)
{
	bool failed = ferror(stdout);
	struct diag diag;

	progress_clear();
	errno = 0;
	if (fflush(stdout) || write_error)
		failed = true;
	if (!failed)
		return status;
	if (write_error)
		errno = write_error;
	/* Who left a pager has read enough: that is no failure either. */
	if (pager_was_started() && (errno == EPIPE || reader_left()))
		return CMD_OK;
	if (errno != EPIPE && !reader_left()) {
		diag_fail(&diag, EIO, "cannot write to the standard output: %s",
			  errno ? strerror(errno) : "a write failed");
		cmd_fail(&diag);
	}
	return status ? status : CMD_FAILURE;
}

int cmd_main(int argc, char **argv)
{
	struct diag diag;

	hold_standard_descriptors();
	/* A parent that ignored the ends of its children would have us lose those of ours. */
	signal(SIGCHLD, SIG_DFL);
	if (rights_begin(argc > 1 && samples(argv[1]), &diag))
		return cmd_fail(&diag);
	return pager_finish(finish_output(run(argc, argv)));
}

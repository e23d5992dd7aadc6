/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cmd/cmd.h"
#include "util/num.h"

#define STATUS_NOT_RUN 126 /* and one more: what sh says of a command that it cannot run */

static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/* One per process, as the standard output is: a signal has to find it. */
static pid_t pager;
static int stderr_behind = -1; /* what stderr was before it went through the pager too */

bool pager_was_started(void)
{
	return pager > 0;
}

int pager_terminal_fd(void)
{
	if (stderr_behind >= 0)
		return stderr_behind;
	return isatty(STDERR_FILENO) ? STDERR_FILENO : -1;
}

static int measure_width(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t n;

	if (columns && !num_parse_u64(columns, &n) && n && n < 10000)
		return (int)n;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		return size.ws_col;
	return 80;
}

static int width_before; /* of the terminal that the pager writes to */

int pager_width(void)
{
	if (pager > 0)
		return width_before;
	return isatty(STDOUT_FILENO) ? measure_width() : 0;
}

static bool is_in_path(const char *name)
{
	const char *path = getenv("PATH");
	char file[4096];
	size_t size;

	for (; path && *path; path += size + (path[size] == ':')) {
		size = strcspn(path, ":");
		snprintf(file, sizeof(file), "%.*s/%s", (int)size, path, name);
		if (!access(file, X_OK))
			return true;
	}
	return false;
}

/* What the user wants to read with; NULL: nothing. */
static const char *choose_command(void)
{
	const char *command = getenv("PAGER"), *terminal = getenv("TERM");

	if (!isatty(STDOUT_FILENO) || !terminal || !strcmp(terminal, "dumb"))
		return NULL;
	if (!command)
		return is_in_path("less") ? "less" : NULL;
	return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

/* Closes our ends of the pipe, so that the pager sees the end. Safe in a signal handler. */
static void let_go(void)
{
	close(STDOUT_FILENO);
	if (stderr_behind >= 0)
		dup2(stderr_behind, STDERR_FILENO);
}

static int wait_for_pager(void)
{
	int status = 0;

	while (waitpid(pager, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* The terminal is the pager's until it ends: to leave before would give its keys to the shell. */
static void end_by_signal(int number)
{
	let_go();
	wait_for_pager();
	signal(number, SIG_DFL);
	raise(number);
}

/* With pipe[0] as its standard input. 0 or an errno. */
static int spawn(const char *command, const int pipe[2])
{
	char *argv[] = {"sh", "-c", (char *)command, NULL};
	posix_spawn_file_actions_t files;
	int r = posix_spawn_file_actions_init(&files);

	if (r)
		return r;
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	r = posix_spawn_file_actions_adddup2(&files, pipe[0], STDIN_FILENO);
	if (!r)
		r = posix_spawn(&pager, "/bin/sh", &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	return r;
}

void pager_start(void)
{
	const char *command = choose_command();
	int ends[2];

	if (!command || pipe2(ends, O_CLOEXEC))
		return;
	width_before = measure_width();
	if (isatty(STDERR_FILENO))
		stderr_behind = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (spawn(command, ends)) {
		pager = 0;
	} else {
		dup2(ends[1], STDOUT_FILENO);
		if (stderr_behind >= 0)
			dup2(ends[1], STDERR_FILENO);
		signal(SIGPIPE, SIG_IGN);
		for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
			signal(endings[i], end_by_signal);
	}
	close(ends[0]);
	close(ends[1]);
}

int pager_finish(int status)
{
	struct diag diag;
	int ended;

	if (pager <= 0)
		return status;
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++)
		signal(endings[i], SIG_IGN);
	let_go();
	ended = wait_for_pager();
	pager = 0;
	if (!WIFEXITED(ended) || WEXITSTATUS(ended) < STATUS_NOT_RUN)
		return status;
	diag_fail(&diag, ENOENT,
		  "the pager '%s' cannot be run; set PAGER to one that can, or to nothing",
		  getenv("PAGER") ?: "less");
	return cmd_fail(&diag);
}

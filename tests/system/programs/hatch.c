/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * hatch COUNT PROGRAM [ARGUMENT...]: runs it COUNT times, one after the other.
 * hatch -p COUNT PROGRAM OTHER [ARGUMENT...]: all with one PID, PROGRAM and OTHER in turns.
 */
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "spin.h"

/* fork, or with the PID that is wished. */
static pid_t fork_as(pid_t pid)
{
	struct clone_args args = {.exit_signal = SIGCHLD};

	if (pid) {
		args.set_tid = (uintptr_t)&pid;
		args.set_tid_size = 1;
	}
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

int main(int argc, char **argv)
{
	int same = argc > 1 && !strcmp(argv[1], "-p");
	char **words = argv + 1 + same;
	int count = argc > 2 + same ? atoi(words[0]) : 0, status;
	char *programs[2] = {words[1], words[1 + same]}, **arguments = words + 1 + same;
	char ticks[32];
	pid_t first = 0;

	snprintf(ticks, sizeof(ticks), "%.0f", ticks_a_ns() * 1e3);
	setenv("TICKS_A_US", ticks, 1);
	for (int i = 0; i < count; i++) {
		pid_t pid;

		arguments[0] = programs[i % 2];
		pid = fork_as(same ? first : 0);
		if (pid == 0) {
			execv(arguments[0], arguments);
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
			fprintf(stderr, "hatch: turn %d of %s: %s\n", i, arguments[0],
				strerror(errno));
			return 1;
		}
		first = pid;
	}
	printf("%d\n", (int)first);
	return 0;
}

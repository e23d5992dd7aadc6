/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef NATIVE_START_H
#define NATIVE_START_H

#include <sys/types.h>
#include <unistd.h>

/* Starts a program that waits, before it becomes itself, for a byte written to *ret_go: so it can
 * be traced from its first instruction on. -1: it cannot be. */
static inline pid_t start(char **argv, int *ret_go)
{
	int go[2];
	pid_t pid;
	char c;

	if (pipe(go))
		return -1;
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &c, 1) == 1) {
			close(go[0]);
			execv(argv[0], argv);
		}
		_exit(127);
	}
	close(go[0]);
	*ret_go = go[1];
	return pid;
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * repeat SECONDS RUNS OUTPUT COMMAND...: runs the command again and again until the seconds are
 * over, at least once and always whole, with its output in the file OUTPUT, and writes the number
 * of runs and the seconds to the file RUNS. posix_spawn, because a copied address space would be
 * sampled too.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int run_once(char **argv)
{
	pid_t pid;
	int status, error;

	/* Grep stops early when it sees /dev/null there, so it is a file, empty at each start. */
	if (ftruncate(STDOUT_FILENO, 0) || lseek(STDOUT_FILENO, 0, SEEK_SET))
		return -1;
	error = posix_spawn(&pid, argv[0], NULL, NULL, argv, environ);

	if (error) {
		errno = error;
		return -1;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	double begin = now_s();
	long runs = 0;
	FILE *out;
	int null, output;

	if (argc < 5) {
		fprintf(stderr, "usage: repeat SECONDS RUNS OUTPUT COMMAND...\n");
		return 2;
	}
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	output = open(argv[3], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	out = fopen(argv[2], "we");
	if (!out || null < 0 || output < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(output, STDOUT_FILENO) < 0) {
		perror("repeat");
		return 1;
	}
	do {
		if (run_once(argv + 4) != 0) {
			fprintf(stderr, "repeat: %s failed\n", argv[4]);
			return 1;
		}
		runs++;
	} while (now_s() - begin < atof(argv[1]));
	fprintf(out, "%ld %.6f\n", runs, now_s() - begin);
	return fclose(out) == 0 ? 0 : 1;
}

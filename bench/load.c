/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Something to sample: N processes that for some seconds sort, hash, format and call the kernel in
 * turn, sleeping in between, so that together they use a given share of the machine.
 *
 *     load PROCESSES SECONDS PERCENT
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS 1000000u /* of work between two sleeps */
#define WORDS	 512

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void sort_words(uint32_t *words)
{
	for (size_t i = 0; i < WORDS; i++)
		words[i] = (uint32_t)rand();
	qsort(words, WORDS, sizeof(*words), compare);
}

static void format_words(const uint32_t *words)
{
	char text[64];

	for (size_t i = 0; i < WORDS / 8; i++)
		snprintf(text, sizeof(text), "%u %x %g", words[i], words[i], (double)words[i]);
}

static void call_kernel(int fd, uint32_t *words)
{
	for (int i = 0; i < 16; i++)
		if (pread(fd, words, WORDS * sizeof(*words), 0) < 0)
			_exit(1);
}

static void work_once(int fd, uint32_t *words)
{
	sort_words(words);
	format_words(words);
	call_kernel(fd, words);
}

/* Works for the percentage given of one CPU's time, as it sees it itself. */
static void work_for(uint64_t end_ns, double percent, unsigned seed)
{
	static uint32_t words[WORDS];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	srand(seed);
	while (now_ns() < end_ns) {
		uint64_t start = now_ns(), slept_ns;
		struct timespec pause;

		while (now_ns() - start < SLICE_NS)
			work_once(fd, words);
		if (percent >= 100)
			continue;
		slept_ns = (uint64_t)(SLICE_NS * (100 - percent) / percent);
		pause = (struct timespec){.tv_sec = (time_t)(slept_ns / 1000000000u),
					  .tv_nsec = (long)(slept_ns % 1000000000u)};
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 0, started = 0;
	double seconds = argc > 2 ? atof(argv[2]) : 0, percent = argc > 3 ? atof(argv[3]) : 0;
	uint64_t end_ns = now_ns() + (uint64_t)(seconds * 1e9);

	if (count < 1 || count > 100000 || !(seconds > 0) || !(percent > 0)) {
		fprintf(stderr, "usage: load PROCESSES SECONDS PERCENT-OF-ALL-CPUS\n");
		return 2;
	}
	percent *= (double)sysconf(_SC_NPROCESSORS_ONLN) / (double)count;
	for (; started < count; started++) {
		pid_t pid = fork();

		if (pid < 0)
			break;
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			work_for(end_ns, percent, (unsigned)started);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	return started == count ? 0 : 1;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * By how much sampling slows a loop down: slices of the same work on one CPU, in turn without
 * sampling, with an empty handler (the floor), with the sampling program, and under perf record.
 * Time is the thread's CPU time, which has the interrupts in it and other programs' turns not.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sampler_cost.h"

#define HZ	 10000
#define SLICE_NS 20000000.0
#define ROUNDS	 80
#define WAYS	 4 /* none, floor, ours, perf */

enum { NONE, FLOOR, OURS, PERF };

struct perf {
	pid_t pid;
	int control, ack;
};

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double work(uint64_t rounds)
{
	double start = cpu_ns();
	uint64_t x = rounds | 1;

	for (uint64_t i = 0; i < rounds; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x));
	}
	return cpu_ns() - start;
}

/* perf record on all CPUs, waiting to be enabled. -1 in pid where there is no perf. */
static void perf_start(struct perf *p)
{
	char hz[16];

	*p = (struct perf){.pid = -1};
	snprintf(hz, sizeof(hz), "%d", HZ);
	if (mkfifo("control", 0600) || mkfifo("ack", 0600))
		return;
	p->control = open("control", O_RDWR | O_CLOEXEC);
	p->ack = open("ack", O_RDWR | O_CLOEXEC);
	p->pid = fork();
	if (p->pid)
		return;
	execlp("perf", "perf", "record", "-q", "-a", "-B", "-e", "cpu-clock", "-F", hz, "-D", "-1",
	       "--control", "fifo:control,ack", "-o", "slowdown.data", (char *)NULL);
	_exit(127);
}

static int perf_say(struct perf *p, const char *what)
{
	char answer[16];

	return write(p->control, what, strlen(what)) > 0 && read(p->ack, answer, sizeof(answer)) > 0
		       ? 0
		       : -1;
}

static void perf_stop(struct perf *p)
{
	if (p->pid <= 0)
		return;
	kill(p->pid, SIGINT);
	waitpid(p->pid, NULL, 0);
}

static int new_sampler(bool nothing, struct sampler **ret, struct diag *diag)
{
	uint64_t period = 1000000000u / HZ;
	struct event clock;
	int r = event_parse("cpu-clock", &clock, diag);
	struct sampler_config config = {.events = &clock, .periods = &period, .event_count = 1};

	if (!r)
		r = sampler_new(&config, ret, diag);
	return !r && nothing ? sampler_nothing(*ret, diag) : r;
}

/* One slice; a negative number when it could not be. */
static double slice(int way, struct sampler *const samplers[2], struct perf *p, uint64_t rounds)
{
	struct diag diag;
	double took;

	if (way == PERF && (p->pid <= 0 || perf_say(p, "enable\n")))
		return -1;
	if ((way == FLOOR || way == OURS) && sampler_start(samplers[way == OURS], &diag))
		return -1;
	work(rounds / 20); /* the first interrupts, and what the start left in the caches */
	took = work(rounds);
	if (way == PERF)
		perf_say(p, "disable\n");
	if (way == FLOOR || way == OURS)
		sampler_stop(samplers[way == OURS]);
	return took;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void sort_and_note(double *values, int count, const char *what)
{
	qsort(values, (size_t)count, sizeof(*values), compare);
	printf("note slowdown at %d Hz, %s: %.2f%% (middle half %.2f to %.2f, %d rounds)\n", HZ,
	       what, values[count / 2], values[count / 4], values[count * 3 / 4], count);
}

static void show(double (*times)[WAYS], int count, bool has_perf)
{
	static const char *const names[] = {"", "empty handler", "sampling program", "perf record"};
	double slowdown[WAYS][ROUNDS], extra[2][ROUNDS];

	for (int i = 0; i < count; i++) {
		for (int way = FLOOR; way < WAYS; way++)
			slowdown[way][i] = (times[i][way] / times[i][NONE] - 1) * 100;
		extra[0][i] = slowdown[OURS][i] - slowdown[FLOOR][i];
		extra[1][i] = slowdown[PERF][i] - slowdown[FLOOR][i];
	}
	for (int way = FLOOR; way < (has_perf ? WAYS : PERF); way++)
		sort_and_note(slowdown[way], count, names[way]);
	sort_and_note(extra[0], count, "sampling program less empty handler");
	if (has_perf)
		sort_and_note(extra[1], count, "perf record less empty handler");
	printf("row\tslowdown of a spin loop at %d Hz\t%%\t%.2f\tthe empty handler\t%.2f\t-\n", HZ,
	       slowdown[OURS][count / 2], slowdown[FLOOR][count / 2]);
	if (has_perf)
		printf("row\tthe same, above the empty handler\t%%\t%.2f\tperf\t%.2f\t-\n",
		       extra[0][count / 2], extra[1][count / 2]);
}

int main(void)
{
	static double times[ROUNDS][WAYS];
	struct sampler *samplers[2] = {NULL, NULL};
	int count = 0, rounds = getenv("CULPRIT_BENCH_QUICK") ? ROUNDS / 4 : ROUNDS, r;
	uint64_t units = 1000000;
	struct diag diag = {0};
	struct perf perf;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)(sysconf(_SC_NPROCESSORS_ONLN) - 1), &one);
	perf_start(&perf);
	sched_setaffinity(0, sizeof(one), &one);
	r = new_sampler(true, &samplers[0], &diag);
	if (!r)
		r = new_sampler(false, &samplers[1], &diag);
	units = (uint64_t)((double)units * SLICE_NS / work(units));
	for (int i = 0; !r && i < rounds; i++) {
		bool good = true;

		for (int k = 0; k < WAYS; k++) {
			int way = i % 2 ? k : WAYS - 1 - k;

			times[count][way] = slice(way, samplers, &perf, units);
			good &= times[count][way] > 0 || (way == PERF && perf.pid <= 0);
		}
		count += good;
	}
	if (!r && count > 4)
		show(times, count, perf.pid > 0);
	else
		fprintf(stderr, "slowdown: %s\n", r ? diag.text : "too few good rounds");
	perf_stop(&perf);
	sampler_free(samplers[0]);
	sampler_free(samplers[1]);
	return r || count <= 4;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What one sample costs in the kernel: the handler's own run time by the kernel's BPF statistics,
 * against the floor (the handler that does nothing, whose time is what the statistics cost), at
 * several rates, on one PC and on many, with every CPU at work.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sampler_cost.h"

#define REPEAT	    3
#define BURNERS_MAX 1024

/* One hot loop: every sample hits its entry. */
static void spin(void)
{
	for (volatile int i = 0; i < 10000; i++)
		;
}

/* Much code and memory, so that tables and buckets are cold: libc's sort over fresh data. */
static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(int));
}

static void churn(void)
{
	static int data[1 << 20];

	for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++)
		data[i] = rand();
	qsort(data, 1 << 16, sizeof(data[0]), compare);
}

/* A process for each CPU that does the work for ever, so that no CPU is idle. */
static void start_work(void (*work)(void), pid_t *pids, int cpus)
{
	for (int i = 0; i < cpus; i++) {
		cpu_set_t one;

		pids[i] = fork();
		if (pids[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		CPU_ZERO(&one);
		CPU_SET((size_t)i, &one);
		sched_setaffinity(0, sizeof(one), &one);
		for (;;)
			work();
	}
}

static void stop_work(const pid_t *pids, int cpus)
{
	for (int i = 0; i < cpus; i++) {
		if (pids[i] < 0)
			continue;
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

static void ignore(void *arg, const struct sampler_entry *e)
{
	(void)e;
	++*(uint64_t *)arg;
}

/* The mean run time of the handler, or of the one that does nothing, over a second. */
static int measure(const struct event *clock, uint64_t hz, bool nothing, double *ret_ns)
{
	uint64_t period = 1000000000u / hz, ns, runs, drained = 0;
	struct sampler_config config = {.events = clock, .periods = &period, .event_count = 1};
	struct sampler *s;
	struct diag diag;
	int r = sampler_new(&config, &s, &diag);

	if (r) {
		fprintf(stderr, "%s\n", diag.text);
		return r;
	}
	if (nothing)
		r = sampler_nothing(s, &diag);
	if (!r)
		r = sampler_start(s, &diag);
	for (int i = 0; !r && i < 5; i++) {
		usleep(200000);
		r = sampler_flip(s, 0, sampler_cpus(s), &diag);
		sampler_drain(s, 0, sampler_cpus(s), ignore, &drained);
	}
	sampler_stop(s);
	if (!r)
		r = sampler_read_cost(s, nothing, &ns, &runs);
	*ret_ns = !r && runs ? (double)ns / (double)runs : 0;
	sampler_free(s);
	return r;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Both handlers in turn, medians; the difference is what counting costs, without the statistics'
 * own cost. */
static int compare_handlers(const struct event *clock, uint64_t hz, const char *name)
{
	double floor[REPEAT], ours[REPEAT], differ[REPEAT];
	int r = 0;

	for (int i = 0; !r && i < REPEAT; i++) {
		r = measure(clock, hz, true, &floor[i]);
		if (!r)
			r = measure(clock, hz, false, &ours[i]);
		differ[i] = ours[i] - floor[i];
	}
	if (r)
		return r;
	qsort(floor, REPEAT, sizeof(double), compare_doubles);
	qsort(ours, REPEAT, sizeof(double), compare_doubles);
	qsort(differ, REPEAT, sizeof(double), compare_doubles);
	printf("row\tkernel time per sample, %s, %llu Hz\tns\t%.0f\tthe empty handler\t%.0f\t120 "
	       "warm\n",
	       name, (unsigned long long)hz, ours[REPEAT / 2], floor[REPEAT / 2]);
	printf("note %s, %llu Hz: above the empty handler %.0f ns (%.0f to %.0f of %d)\n", name,
	       (unsigned long long)hz, differ[REPEAT / 2], differ[0], differ[REPEAT - 1], REPEAT);
	fflush(stdout);
	return 0;
}

int main(void)
{
	static const uint64_t rates[] = {1000, 4000, 20000};
	const struct {
		const char *name;
		void (*run)(void);
	} works[] = {{"one hot loop", spin}, {"sorting 4 MB", churn}};
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), stats, r;
	size_t count = getenv("CULPRIT_BENCH_QUICK") ? 1 : 2;
	struct event clock;
	struct diag diag;
	pid_t pids[BURNERS_MAX];

	cpus = cpus < BURNERS_MAX ? cpus : BURNERS_MAX;
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats < 0) {
		fprintf(stderr, "cannot enable BPF statistics: %s\n", strerror(errno));
		return 1;
	}
	r = event_parse("cpu-clock", &clock, &diag);
	for (size_t w = 0; !r && w < count; w++) {
		start_work(works[w].run, pids, cpus);
		for (size_t i = 0; !r && i < 3; i++)
			r = compare_handlers(&clock, rates[i], works[w].name);
		stop_work(pids, cpus);
	}
	close(stats);
	return r ? 1 : 0;
}

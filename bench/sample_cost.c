/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What one sample costs in the kernel: the handler's own run time by the kernel's BPF statistics,
 * against the floor (the handler that does nothing, whose time is what the statistics cost), at
 * several rates, on one PC and on many.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "collect/sampler.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One hot loop: every sample hits its entry. */
static void spin(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		for (volatile int i = 0; i < 10000; i++)
			;
}

/* Much code and memory, so that tables and buckets are cold: libc's sort over fresh data. */
static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(int));
}

static void churn(uint64_t ns)
{
	uint64_t end = now_ns() + ns;
	static int data[1 << 20];

	while (now_ns() < end) {
		for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++)
			data[i] = rand();
		qsort(data, 1 << 16, sizeof(data[0]), compare);
	}
}

static void ignore(void *arg, const struct sampler_entry *e)
{
	(void)e;
	++*(uint64_t *)arg;
}

static int measure(const struct event *clock, uint64_t hz, bool nothing, void (*work)(uint64_t),
		   double *ret_ns)
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
	for (int i = 0; !r && i < 10; i++) {
		work(100000000);
		r = sampler_flip(s, 0, sampler_cpus(s), &diag);
		sampler_drain(s, 0, sampler_cpus(s), ignore, &drained);
	}
	sampler_stop(s);
	if (!r)
		r = sampler_read_cost(s, nothing, &ns, &runs);
	*ret_ns = runs ? (double)ns / (double)runs : 0;
	sampler_free(s);
	return r;
}

int main(void)
{
	static const uint64_t rates[] = {1000, 4000, 20000};
	const struct {
		const char *name;
		void (*run)(uint64_t);
	} works[] = {{"one hot loop", spin}, {"sorting 4 MB", churn}};
	struct event clock;
	struct diag diag;
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME), r;

	if (stats < 0) {
		fprintf(stderr, "cannot enable BPF statistics: %s\n", strerror(errno));
		return 1;
	}
	r = event_parse("cpu-clock", &clock, &diag);
	for (size_t w = 0; !r && w < 2; w++) {
		for (size_t i = 0; !r && i < 3; i++) {
			double floor, ours;

			r = measure(&clock, rates[i], true, works[w].run, &floor);
			if (!r)
				r = measure(&clock, rates[i], false, works[w].run, &ours);
			if (!r)
				printf("row\tkernel time per sample, %s, %llu Hz\tns\t%.0f\tthe "
				       "empty "
				       "handler\t%.0f\t120 warm\n",
				       works[w].name, (unsigned long long)rates[i], ours, floor);
		}
	}
	close(stats);
	return r ? 1 : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What a stack costs in the kernel while nothing of it is cold: a loop below 20 frames of two
 * functions, a stack of every sample. By the unwinder's own clock, and by the kernel's statistics
 * of the sampling program, above the same without stacks, in turn. bench/stacks.py has the cold
 * ones.
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

#include "collect/session_state.h"
#include "sampler_cost.h"
#include "collect/stacks/stacks.h"
#include "image/worker/worker.h"
#include "util/clock.h"

#define CALLS	   15 /* of two functions: with the thread's start 20 frames */
#define ROUNDS_MAX 15
#define WINDOW_NS  200000000ull
#define WARM_NS	   1500000000ull /* for the tables of the program and of libc */

static volatile unsigned long sink;
static int rounds = ROUNDS_MAX;

__attribute__((noinline)) static void spin(void)
{
	for (;;)
		sink++;
}

__attribute__((noinline)) static void call(int left);

__attribute__((noinline)) static void call_again(int left)
{
	if (left)
		call(left - 1);
	else
		spin();
	sink++; /* so that it is no jump */
}

static void call(int left)
{
	if (left)
		call_again(left - 1);
	else
		spin();
	sink++;
}

static pid_t start_work(void)
{
	pid_t pid = fork();
	cpu_set_t one;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	call(CALLS - 1);
	_exit(0);
}

/* What was counted until now. */
struct counted {
	uint64_t stacks, frames, spent_ns, handler_ns, handler_runs;
};

static struct counted read_counted(const struct session *s)
{
	struct stacks_status status;
	struct counted c = {0};

	stacks_read_status(session_follower(s, &stacks_follower, NULL), &status);
	c.stacks = status.stacks;
	c.frames = status.frames;
	c.spent_ns = status.spent_ns;
	sampler_read_cost(s->sampler, false, &c.handler_ns, &c.handler_runs);
	return c;
}

/* One in so many samples has a stack, whatever the pace says; what was counted meanwhile. */
static struct counted window(struct session *s, uint32_t one_in, uint64_t ns)
{
	uint64_t end_ns = clock_monotonic_ns() + ns;
	struct counted before, after;

	sampler_follow(s->sampler, WIRE_FOLLOW_STACK, one_in);
	before = read_counted(s);
	while (clock_monotonic_ns() < end_ns) {
		session_wait(s, NULL, 0, 10);
		sampler_follow(s->sampler, WIRE_FOLLOW_STACK, one_in);
	}
	after = read_counted(s);
	return (struct counted){after.stacks - before.stacks, after.frames - before.frames,
				after.spent_ns - before.spent_ns,
				after.handler_ns - before.handler_ns,
				after.handler_runs - before.handler_runs};
}

static double ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void tell(const char *what, double hz, double frames, double *us, const char *goal)
{
	qsort(us, rounds, sizeof(*us), compare_doubles);
	printf("row\ta stack in the kernel, warm, %.0f frames, %.0f Hz, %s\tus\t%.2f\t-\t-\t%s\n",
	       frames, hz, what, us[rounds / 2], goal);
	printf("note warm, %.0f Hz, %s: %.2f us (%.2f to %.2f of %d)\n", hz, what, us[rounds / 2],
	       us[0], us[rounds - 1], rounds);
}

static int measure(const char *db, pid_t work, double hz, struct diag *diag)
{
	double own[ROUNDS_MAX], above[ROUNDS_MAX], frames = 0;
	struct session_config config = {.db_path = db,
					.event_count = 1,
					.rate_hz = hz,
					.budget_percent = 100,
					.scoped = true,
					.followers = {{.ops = &stacks_follower, .needed = true}},
					.follower_count = 1};
	struct session *s = NULL;
	struct event clock;
	int r = event_parse("cpu-clock", &clock, diag);

	config.events = &clock;
	r = r ?: session_new(&config, &s, diag);
	r = r ?: session_follow(s, work, diag);
	r = r ?: session_start(s, diag);
	if (!r)
		window(s, 1, WARM_NS);
	for (int i = 0; !r && i < rounds; i++) {
		struct counted without = window(s, 0, WINDOW_NS), with = window(s, 1, WINDOW_NS);

		own[i] = ratio(with.spent_ns, with.stacks) / 1e3;
		above[i] = (ratio(with.handler_ns, with.handler_runs) -
			    ratio(without.handler_ns, without.handler_runs)) *
			   ratio(with.handler_runs, with.stacks) / 1e3;
		frames = ratio(with.frames, with.stacks);
	}
	if (!r) {
		tell("by its own clock", hz, frames, own, "3 of 20 frames");
		tell("above the handler without", hz, frames, above, "3 of 20 frames");
		fflush(stdout);
	}
	session_free(s);
	return r;
}

int main(int argc, char **argv)
{
	static const double rates[] = {10000, 5000, 20000};
	const char *tmp = getenv("TMPDIR");
	bool quick = getenv("CULPRIT_BENCH_QUICK");
	size_t count = quick ? 1 : 3;
	struct diag diag = {""};
	int stats, r = 0;
	char db[4096];
	pid_t work;

	image_worker_dispatch(argc, argv);
	rounds = quick ? 5 : ROUNDS_MAX;
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	work = start_work();
	snprintf(db, sizeof(db), "%s/stack-cost.db", tmp ? tmp : "/tmp");
	if (stats < 0) {
		fprintf(stderr, "cannot enable BPF statistics: %s\n", strerror(errno));
		r = 1;
	}
	for (size_t i = 0; !r && i < count; i++)
		r = measure(db, work, rates[i], &diag);
	if (r && diag.text[0])
		fprintf(stderr, "%s\n", diag.text);
	kill(work, SIGKILL);
	waitpid(work, NULL, 0);
	return r ? 1 : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The in-kernel program on the real kernel. Needs the rights to load it; skipped without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/sampler.h"
#include "collect/sampler_state.h"

static struct event clock_event;
static struct diag clock_why;
static int clock_refused; /* why there is none, 0 if there is */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void spin_ns(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		;
}

static bool is_refusal(int r)
{
	return r == -EPERM || r == -EACCES || r == -EOPNOTSUPP;
}

static struct sampler *start(bool scoped, uint64_t period)
{
	struct sampler_config config = {
		.events = &clock_event,
		.periods = &period,
		.event_count = 1,
		.scoped = scoped,
		.randomize = true,
		.seed = 1,
	};
	struct sampler *s = NULL;
	struct diag diag;
	int r = clock_refused;

	if (r)
		diag = clock_why;
	else
		r = sampler_new(&config, &s, &diag);
	if (is_refusal(r)) {
		print_message("skipped: %s\n", diag.text);
		skip();
	}
	if (r)
		fail_msg("%s", diag.text);
	return s;
}

struct sums {
	uint64_t entries, samples, mine, others, outside_time;
	uint64_t from_ns, to_ns;
	pid_t me;
};

static void add_entry(void *arg, const struct sampler_entry *e)
{
	struct sums *sums = arg;

	assert_int_equal(e->event, 0);
	assert_true(e->count > 0);
	sums->entries++;
	sums->samples += e->count;
	*((pid_t)e->tgid == sums->me ? &sums->mine : &sums->others) += e->count;
	sums->outside_time += e->first_ns + 2048 < sums->from_ns || e->first_ns > sums->to_ns;
}

static void drain_all(struct sampler *s, struct sums *sums)
{
	struct diag diag;

	assert_int_equal(sampler_flip(s, 0, sampler_cpus(s), &diag), 0);
	sums->to_ns = now_ns();
	sampler_drain(s, 0, sampler_cpus(s), add_entry, sums);
}

/* Whatever was counted in the kernel comes out, once, over many flips. */
static void test_every_sample_is_drained_once(void **state)
{
	struct sampler *s = start(false, 100000);
	struct sums sums = {.me = getpid(), .from_ns = now_ns()};
	struct sampler_counters c;
	struct diag diag;

	(void)state;
	assert_int_equal(sampler_start(s, &diag), 0);
	for (int i = 0; i < 20; i++) {
		spin_ns(10000000);
		drain_all(s, &sums);
		if (i % 4 == 0)
			sampler_redraw(s, now_ns());
	}
	sampler_stop(s);
	drain_all(s, &sums);
	drain_all(s, &sums);
	sampler_read_counters(s, &c);
	assert_int_equal(c.samples, sums.samples + c.lost_spill);
	assert_int_equal(c.samples, c.hits + c.inserts);
	assert_int_equal(c.lost_spill, 0);
	assert_int_equal(sums.outside_time, 0);
	assert_true(sums.mine > 0);
	sampler_free(s);
}

/* A flip after which the handlers could not be waited for is followed by another, not by a drain.
 */
static void test_what_was_not_drained_keeps_its_times(void **state)
{
	struct sampler *s = start(false, 100000);
	struct sums sums = {.me = getpid(), .from_ns = now_ns()};
	struct diag diag;

	(void)state;
	assert_int_equal(sampler_start(s, &diag), 0);
	spin_ns(50000000);
	assert_int_equal(sampler_flip(s, 0, sampler_cpus(s), &diag), 0);
	assert_int_equal(sampler_flip(s, 0, sampler_cpus(s), &diag), 0);
	drain_all(s, &sums);
	assert_true(sums.mine > 0);
	assert_int_equal(sums.outside_time, 0);
	sampler_stop(s);
	sampler_free(s);
}

static void check_late(void *arg, const struct sampler_entry *e)
{
	struct sums *sums = arg;

	/* From the table's start as far as its entries can tell. */
	assert_int_equal(e->first_ns, sums->from_ns + ((uint64_t)WIRE_FIRST_MAX << 10 | 1023));
	sums->samples += e->count;
}

/* A collector that was stopped for hours: what was sampled then is not of the hour before. */
static void test_samples_after_hours_are_late(void **state)
{
	struct sampler *s = start(false, 100000);
	struct sums sums = {.from_ns = now_ns() - 2 * 3600 * 1000000000ull}, unused = {0};
	struct diag diag;

	(void)state;
	assert_int_equal(sampler_start(s, &diag), 0);
	sampler_stop(s);
	drain_all(s, &unused);
	drain_all(s, &unused);
	for (unsigned i = 0; i < 2 * sampler_cpus(s); i++)
		s->tables[i].start_ns = sums.from_ns;
	for (unsigned i = 0; i < sampler_cpus(s); i++)
		assert_int_equal(ioctl(s->fds[i], PERF_EVENT_IOC_ENABLE, 0), 0);
	spin_ns(50000000);
	sampler_stop(s);
	assert_int_equal(sampler_flip(s, 0, sampler_cpus(s), &diag), 0);
	sampler_drain(s, 0, sampler_cpus(s), check_late, &sums);
	assert_true(sums.samples > 0);
	sampler_free(s);
}

static void test_scope_holds_only_its_processes(void **state)
{
	struct sampler *s = start(true, 100000);
	struct sums sums = {.from_ns = now_ns()};
	struct sampler_counters c;
	struct diag diag;
	int go[2];

	(void)state;
	assert_int_equal(pipe(go), 0);
	pid_t parent = fork();
	if (parent == 0) {
		char byte;

		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		/* The child's child is followed too, and not before the fork. */
		if (fork() == 0) {
			spin_ns(50000000);
			_exit(0);
		}
		wait(NULL);
		_exit(0);
	}
	sums.me = parent;
	assert_int_equal(sampler_scope_add(s, parent, &diag), 0);
	assert_int_equal(sampler_start(s, &diag), 0);
	assert_int_equal(write(go[1], "g", 1), 1);
	spin_ns(20000000); /* not in the scope */
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	sampler_stop(s);
	drain_all(s, &sums);
	sampler_read_counters(s, &c);
	assert_true(sums.others > 0); /* the grandchild's spinning */
	assert_true(c.outside > 0);
	assert_int_equal(c.samples, sums.samples);
	assert_int_equal(c.scope_refused, 0);
	close(go[0]);
	close(go[1]);
	sampler_free(s);
}

static void test_event_times(void **state)
{
	struct sampler *s = start(false, 1000000);
	struct sampler_event_times t;
	struct diag diag;

	(void)state;
	assert_int_equal(sampler_start(s, &diag), 0);
	spin_ns(20000000);
	sampler_stop(s);
	assert_int_equal(sampler_read_event(s, 0, &t), 0);
	assert_true(t.enabled_ns >= 20000000);
	assert_int_equal(t.enabled_ns, t.running_ns);
	sampler_free(s);
}

/* CPUs whose events do not go on; stopping all of them stands for the loss of a CPU. */
static void test_missed_cpus(void **state)
{
	struct sampler *s = start(false, 1000000);
	struct sampler_counters c;
	struct diag diag;

	(void)state;
	assert_int_equal(sampler_start(s, &diag), 0);
	spin_ns(2000000);
	assert_int_equal(sampler_watch_cpus(s, 1000), 0);
	spin_ns(2000000);
	assert_int_equal(sampler_watch_cpus(s, 2000), 0);
	sampler_stop(s);
	sampler_watch_cpus(s, 3000);
	sampler_read_counters(s, &c);
	assert_int_equal(c.missed_ns, 0);
	assert_int_equal(sampler_watch_cpus(s, 4000), sampler_cpus(s));
	assert_int_equal(sampler_watch_cpus(s, 6000), sampler_cpus(s));
	sampler_read_counters(s, &c);
	assert_int_equal(c.missed_ns, 3000 * sampler_cpus(s));
	sampler_free(s);
}

/* One that came online later has no tables; a tracepoint is hit there all the same. */
static void test_a_cpu_without_tables_is_counted(void **state)
{
	struct sampler *s = start(false, 100000);
	unsigned last = s->cpus.number[s->cpus.count - 1];
	struct sampler_counters c;
	struct diag diag;
	cpu_set_t one;

	(void)state;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	if (s->cpus.count < 2 || sched_setaffinity(0, sizeof(one), &one)) {
		sampler_free(s);
		skip();
	}
	assert_int_equal(sampler_start(s, &diag), 0);
	s->state[last].slot = WIRE_NO_SLOT;
	spin_ns(50000000);
	sampler_stop(s);
	s->cpus.count--;
	sampler_read_counters(s, &c);
	s->cpus.count++;
	assert_true(c.lost_spill > 0);
	sampler_free(s);
}

static int parse_clock(void **state)
{
	(void)state;
	clock_refused = event_parse("cpu-clock", &clock_event, &clock_why);
	return clock_refused && !is_refusal(clock_refused);
}

static int free_clock(void **state)
{
	(void)state;
	if (!clock_refused)
		event_free(&clock_event);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_sample_is_drained_once),
		cmocka_unit_test(test_what_was_not_drained_keeps_its_times),
		cmocka_unit_test(test_samples_after_hours_are_late),
		cmocka_unit_test(test_scope_holds_only_its_processes),
		cmocka_unit_test(test_event_times),
		cmocka_unit_test(test_missed_cpus),
		cmocka_unit_test(test_a_cpu_without_tables_is_counted),
	};

	return cmocka_run_group_tests(tests, parse_clock, free_clock);
}

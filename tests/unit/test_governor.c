/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "collect/events/event_name.h"
#include "collect/cost/governor.h"
#include "collect/cost/governor_work.h"

#define PLAIN TEST_DATA "/machines/plain"

static void check_rate(struct governor_rate r, double hz, const char *bound)
{
	if (fabs(r.hz - hz) > hz * 1e-9 || strcmp(r.bound, bound))
		fail_msg("%g Hz by %s, wanted %g by %s", r.hz, r.bound, hz, bound);
}

static void test_rate(void **state)
{
	double least = GOVERNOR_MIN_HZ, most = GOVERNOR_MAX_HZ;

	(void)state;
	/* 1% of a second is 10 ms. */
	check_rate(governor_choose_rate(15000 - GOVERNOR_DRAIN_NS, 1, 1, 100000), 10e6 / 15000,
		   "budget");
	check_rate(governor_choose_rate(15000 - GOVERNOR_DRAIN_NS, 1, 4, 0), 2.5e6 / 15000,
		   "budget");
	check_rate(governor_choose_rate(100, 5, 1, 0), most, "maximum");
	check_rate(governor_choose_rate(100, 5, 1, 1000), 875, "kernel");
	/* Below the kernel's limit, but its shortest period would not be. */
	check_rate(governor_choose_rate(15000 - GOVERNOR_DRAIN_NS, 1.45, 1, 1000), 875, "kernel");
	check_rate(governor_choose_rate(1e6, 0.00001, 1, 0), least, "minimum");
	check_rate(governor_choose_rate(1e6, 1, 1, 0.5), least, "minimum");
	check_rate(governor_choose_rate(NAN, NAN, 0, NAN), least, "minimum");
	check_rate(governor_choose_rate(-5, 1, 1, 0), most, "maximum");
	/* What it promises is what it costs. */
	for (double cost = 300; cost < 1e5; cost *= 3) {
		struct governor_rate r = governor_choose_rate(cost, 0.7, 3, 100000);

		assert_true(r.slowdown_percent <= 0.7 + 1e-9);
		assert_true(fabs(r.hz * 3 * (cost + GOVERNOR_DRAIN_NS) / 1e7 - r.slowdown_percent) <
			    1e-9);
	}
}

static uint64_t period_of(const char *name, double hz)
{
	struct event e = {0};
	uint64_t period;

	assert_int_equal(event_name_parse(PLAIN, name, &e, NULL), 0);
	period = governor_period(PLAIN, &e, hz);
	event_free(&e);
	return period;
}

static void test_period(void **state)
{
	(void)state;
	assert_int_equal(period_of("cpu-clock", 1000), 1000000);
	assert_int_equal(period_of("task-clock:u", 250), 4000000);
	/* The tree says nothing of frequency: 3 GHz. */
	assert_int_equal(period_of("cycles:p", 1000), 3000000);
	assert_int_equal(period_of("instructions", 1000), 12000000);
	assert_int_equal(period_of("page-faults", 1000), 100);
	assert_int_equal(period_of("page-faults", 1e9), 1);
	assert_int_equal(period_of("sched:sched_switch", 1000), 1);
	assert_true(period_of("cycles", 0) >= 1);
	assert_true(period_of("cycles", NAN) >= 1);
	assert_true(period_of("cycles", 1e-300) <= INT64_MAX);
}

static void test_summary(void **state)
{
	double values[] = {100, 102, 98, 104, 96, 1e9, -1e9};
	struct governor_cost c = {0};

	(void)state;
	governor_summarize(values, 7, &c);
	assert_true(c.cost_ns == 100 && c.pairs == 7);
	assert_true(c.error_ns > 1 && c.error_ns < 3);
	governor_summarize(values, 1, &c);
	assert_true(c.cost_ns == -1e9 && c.error_ns == 0);
	governor_summarize(values, 0, &c);
	assert_int_equal(c.pairs, 0);
}

/* What is paid is the mean: an interrupt in three costs three times as much. */
static void test_mean(void **state)
{
	double values[90];
	struct governor_cost c = {0};

	(void)state;
	for (unsigned i = 0; i < 90; i++)
		values[i] = i < 3 ? -1e9 : i < 6 ? 1e9 : i % 3 ? 10000 : 30000;
	governor_summarize(values, 90, &c);
	assert_true(fabs(c.cost_ns - 50000.0 / 3) < 1000);
	assert_true(c.error_ns > 700 && c.error_ns < 1500);
}

static void test_trust(void **state)
{
	(void)state;
	assert_true(governor_trust(10000, 25000) == 25000);
	assert_true(governor_trust(10000, 3000) == 3000);
	assert_true(governor_trust(10000, 300000) == 40000);
	assert_true(governor_trust(10000, 20) == 2500);

	/* A cost that is not well known is charged with what it may be. */
	assert_true(governor_charge(&(struct governor_cost){.cost_ns = 10000}) == 10000);
	assert_true(
		fabs(governor_charge(&(struct governor_cost){.cost_ns = 10000, .error_ns = 1000}) -
		     11645) < 1);

	/* Known to a tenth; or far off what was believed, however noisy the machine is. */
	assert_true(
		governor_tells(&(struct governor_cost){.cost_ns = 10000, .error_ns = 900}, 10000));
	assert_false(
		governor_tells(&(struct governor_cost){.cost_ns = 10000, .error_ns = 2000}, 17000));
	assert_true(
		governor_tells(&(struct governor_cost){.cost_ns = 10000, .error_ns = 2000}, 19000));
	assert_true(
		governor_tells(&(struct governor_cost){.cost_ns = 10000, .error_ns = 2000}, 1000));
}

/* A machine whose slices take as long as it is told. */
struct machine {
	double now_ns, slice_ns, drift; /* each slice is so much longer than the one before */
	double cost_ns[GOVERNOR_SETS], noise_ns;
	unsigned slices, disturbed; /* one in so many */
	unsigned begun[GOVERNOR_SETS], on[GOVERNOR_SETS];
	uint32_t draw;
};

static double make_slice(void *arg, enum governor_set set, bool on, double *ret_samples)
{
	struct machine *m = arg;
	double took = m->slice_ns * (1 + m->drift * m->slices);

	m->draw = m->draw * 1664525 + 1013904223;
	took += m->noise_ns * ((double)m->draw / UINT32_MAX - 0.5);
	if (on) {
		took += 10 * m->cost_ns[set];
		*ret_samples = 10;
		m->on[set]++;
	}
	m->now_ns += took;
	return m->disturbed && m->slices++ % m->disturbed == 0 ? -1 : took;
}

static void begin_set(void *arg, enum governor_set set)
{
	((struct machine *)arg)->begun[set]++;
}

static double read_machine(void *arg)
{
	return ((struct machine *)arg)->now_ns;
}

static enum governor_set measure_machine(struct machine *m, double patience_ns,
					 struct governor_cost *ret)
{
	struct governor_bench b = {make_slice, begin_set, read_machine, m};

	m->slice_ns = m->slice_ns ?: 1e6;
	return governor_measure_sets(&b, patience_ns, 60000, ret);
}

/* The largest is what counts, whichever it is of. */
static void test_sets(void **state)
{
	static const double costs[][GOVERNOR_SETS] = {
		{15000, 20000, 48000}, {15000, 22000, 14000}, {900, 450, 600}};
	struct governor_cost c;

	(void)state;
	for (enum governor_set most = 0; most < GOVERNOR_SETS; most++) {
		const double *cost = costs[GOVERNOR_SETS - 1 - most];
		struct machine m = {.noise_ns = 200, .drift = 1e-5, .disturbed = 17};

		memcpy(m.cost_ns, cost, sizeof(m.cost_ns));
		assert_int_equal(measure_machine(&m, 1e9, &c), most);
		assert_true(c.measured && c.discarded > 0 && c.pairs >= 24);
		assert_true(fabs(c.cost_ns - cost[most]) < 0.03 * cost[most]);
		assert_true(m.begun[0] >= 2 && m.begun[1] >= 2 && m.begun[2] >= 2);
		/* 24 pairs of three sets, and what was disturbed. */
		assert_true(m.now_ns < 300e6);
	}
}

/* Time that is left goes to the set that decides, until it is known. */
static void test_sets_noise(void **state)
{
	struct machine m = {.cost_ns = {15000, 20000, 48000}, .noise_ns = 600000};
	struct governor_cost c;

	(void)state;
	assert_int_equal(measure_machine(&m, 1e9, &c), GOVERNOR_SECOND_LEVEL);
	assert_true(c.measured && c.pairs > 24 && c.pairs <= 144);
	assert_true(m.on[GOVERNOR_REGISTERS] == 24 && m.on[GOVERNOR_FIRST_LEVEL] == 24);
	assert_true(m.on[GOVERNOR_SECOND_LEVEL] == c.pairs);
}

/* While it is sampled a few pairs are had at a time, and the last ones count. */
static void test_again(void **state)
{
	struct machine m = {.cost_ns = {0, 0, 30000}, .slice_ns = 1e6, .noise_ns = 2000};
	struct governor_bench b = {make_slice, begin_set, read_machine, &m};
	struct governor_recent recent = {.count = 0};
	struct governor_cost c = {0};
	unsigned looks = 1;

	(void)state;
	while (!governor_measure_again(&b, GOVERNOR_SECOND_LEVEL, &recent, &c))
		looks++;
	assert_int_equal(looks, 6);
	assert_true(c.measured && fabs(c.cost_ns - 30000) < 300);
	assert_true(m.now_ns < looks * 12e6);
	m.cost_ns[GOVERNOR_SECOND_LEVEL] = 60000;
	for (looks = 0; looks < 36; looks++)
		assert_true(governor_measure_again(&b, GOVERNOR_SECOND_LEVEL, &recent, &c));
	assert_true(c.pairs == 144 && fabs(c.cost_ns - 60000) < 300);
}

/* A set that could not be measured may be the dearest: the least that is assumed is the default. */
static void test_sets_busy(void **state)
{
	struct machine m = {.cost_ns = {15000, 20000, 48000}, .disturbed = 1};
	struct machine late = {.cost_ns = {15000, 20000, 48000}};
	struct machine dear = {.cost_ns = {90000, 90000, 90000}};
	struct machine absurd = {.cost_ns = {-5000, 15000, 20000}};
	struct governor_cost c;

	(void)state;
	measure_machine(&m, 1e8, &c);
	assert_true(!c.measured && strstr(c.why, "busy") && c.cost_ns == 60000);
	assert_true(m.now_ns < 1.1e8);
	/* Time for the first set and a half. */
	measure_machine(&late, 75e6, &c);
	assert_true(!c.measured && c.cost_ns == 60000);
	measure_machine(&dear, 100e6, &c);
	assert_true(!c.measured && fabs(c.cost_ns - 90000) < 1);
	measure_machine(&absurd, 1e9, &c);
	assert_true(!c.measured && strstr(c.why, "noisy") && c.cost_ns == 60000);
}

/* The measurement's own CPU is never idle; a blip on another does not count. */
static void test_was_busy(void **state)
{
	const uint64_t passed = 300000000;

	(void)state;
	assert_false(governor_was_busy(passed, passed, 2));
	assert_false(governor_was_busy(passed * 9 / 10, passed, 2));
	assert_true(governor_was_busy(passed / 2, passed, 2));
	assert_true(governor_was_busy(0, passed, 2));
	assert_false(governor_was_busy(61 * passed, passed, 64));
	assert_true(governor_was_busy(40 * passed, passed, 64));
	assert_false(governor_was_busy(0, passed, 1));
}

/* Half of each level, as sysfs says, and something usable where it says nothing. */
static void test_set_bytes(void **state)
{
	(void)state;
	assert_int_equal(governor_set_bytes(PLAIN, 0, GOVERNOR_REGISTERS), 0);
	assert_int_equal(governor_set_bytes(PLAIN, 0, GOVERNOR_FIRST_LEVEL), 24 << 10);
	assert_int_equal(governor_set_bytes(PLAIN, 0, GOVERNOR_SECOND_LEVEL), 1 << 20);
	assert_int_equal(governor_set_bytes(PLAIN, 99, GOVERNOR_FIRST_LEVEL), 16 << 10);
	assert_int_equal(governor_set_bytes(PLAIN, 99, GOVERNOR_SECOND_LEVEL), 512 << 10);
	assert_in_range(governor_set_bytes("", 0, GOVERNOR_SECOND_LEVEL), 32 << 10, 4 << 20);
}

static void test_work(void **state)
{
	struct governor_work w;
	void **line;
	uint64_t round = 0;

	(void)state;
	assert_int_equal(governor_work_new(0, &w), 0);
	assert_true(!w.lines && governor_work_round(&w) == 0);
	governor_work_run(&w, 100);
	governor_work_free(&w);
	assert_int_equal(governor_work_new(96 << 10, &w), 0);
	/* One ring through all of it. */
	line = w.lines;
	do
		round++;
	while ((line = *line) != w.lines && round < 1 << 20);
	assert_true(round == (96 << 10) / 64 && round == governor_work_round(&w));
	governor_work_run(&w, 100);
	governor_work_free(&w);
}

static int refuse(void *arg, int fd)
{
	*(int *)arg = fd;
	return -EPERM;
}

/* The real thing: whatever it gives is usable, and the thread's affinity is as before. */
static void test_measure(void **state)
{
	struct governor_cost c = {0};
	struct event e;
	cpu_set_t before, after;
	int fd = -1;

	(void)state;
	if (event_parse("cpu-clock", &e, NULL))
		skip();
	sched_getaffinity(0, sizeof(before), &before);
	assert_int_equal(governor_measure(&e, -1, NULL, NULL, &c, NULL), 0);
	assert_true(c.cost_ns > 0 && c.cost_ns < 1e6);
	assert_true(c.measured == !c.why[0]);
	c.pairs = 12345;
	assert_int_equal(governor_measure(&e, -1, refuse, &fd, &c, NULL), -EPERM);
	assert_true(fd >= 0 && c.pairs == 12345);
	sched_getaffinity(0, sizeof(after), &after);
	assert_true(CPU_EQUAL(&before, &after));
	event_free(&e);
}

static void test_watch(void **state)
{
	struct governor_watch *w;
	struct governor_cost c = {0};
	struct event e;
	cpu_set_t before, after;
	uint64_t took_ns;
	int fd = -1;

	(void)state;
	if (event_parse("cpu-clock", &e, NULL))
		skip();
	sched_getaffinity(0, sizeof(before), &before);
	assert_int_equal(governor_watch_new(&e, 0, refuse, &fd, &w, NULL), -EPERM);
	assert_int_equal(governor_watch_new(&e, 0, NULL, NULL, &w, NULL), 0);
	for (unsigned i = 0; i < 300 && !governor_watch_look(w, &c, &took_ns); i++)
		usleep(20000);
	assert_true(!c.measured || (c.cost_ns > 0 && c.cost_ns < 1e6 && c.set_bytes == 0));
	governor_watch_free(w);
	sched_getaffinity(0, sizeof(after), &after);
	assert_true(CPU_EQUAL(&before, &after));
	event_free(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate),	   cmocka_unit_test(test_period),
		cmocka_unit_test(test_summary),	   cmocka_unit_test(test_sets),
		cmocka_unit_test(test_sets_noise), cmocka_unit_test(test_sets_busy),
		cmocka_unit_test(test_was_busy),   cmocka_unit_test(test_set_bytes),
		cmocka_unit_test(test_work),	   cmocka_unit_test(test_measure),
		cmocka_unit_test(test_mean),	   cmocka_unit_test(test_trust),
		cmocka_unit_test(test_again),	   cmocka_unit_test(test_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

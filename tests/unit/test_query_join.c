/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Ticks and random samples made one, of programs that are in step with the ticks and of some that
 * are not: made up, with seeds that are fixed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/query/query_join.h"
#include "profile_feed.h"

#define TICK_NS	    4000000.0
#define TIMER_NS    40000000.0
#define SECONDS	    60.0
#define RUNS	    200
#define FUNCTIONS   4
#define FUNCTION(i) (0x1000u * ((unsigned)(i) + 1))
#define ERRORS	    3.0 /* standard errors of the random samples alone */

static uint64_t state;

static double draw(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (double)(state >> 11) * 0x1p-53;
}

/* Who runs at a phase of the tick, 0 to 1, and in what share of the time; a number below
 * FUNCTIONS. */
struct program {
	unsigned (*at)(double phase);
	double share[FUNCTIONS];
	bool drifts; /* in step with nothing */
};

/* All work of 0 right after the tick, which therefore sees nobody else. */
static unsigned after(double phase)
{
	return phase < 0.3 ? 0 : phase < 0.6 ? 1 : phase < 0.9 ? 2 : 3;
}

/* All work of 0 right before it: it is gone when the tick comes. */
static unsigned before(double phase)
{
	return phase > 0.7 ? 0 : phase > 0.4 ? 1 : phase > 0.1 ? 2 : 3;
}

/* 0 sleeps when the tick comes, and works in a fifth of the time; 1 to 3 are taken at random. */
static unsigned sleeper(double phase)
{
	return phase > 0.5 && phase < 0.7 ? 0 : 1 + (unsigned)(3 * draw());
}

/* Four with a slice each, from one tick to the next. */
static unsigned slices(double phase)
{
	(void)phase;
	return (unsigned)(FUNCTIONS * draw());
}

static const struct program programs[] = {
	{after, {0.3, 0.3, 0.3, 0.1}, false},
	{before, {0.3, 0.3, 0.3, 0.1}, false},
	{sleeper, {0.2, 0.8 / 3, 0.8 / 3, 0.8 / 3}, false},
	{slices, {0.25, 0.25, 0.25, 0.25}, false},
	{after, {0.3, 0.3, 0.3, 0.1}, true},
};

struct counts {
	uint64_t tick[FUNCTIONS], timer[FUNCTIONS];
};

static struct counts run(const struct program *p)
{
	struct counts c = {0};
	double timers = SECONDS * 1e9 / TIMER_NS;

	for (unsigned i = 0; i < SECONDS * 1e9 / TICK_NS; i++)
		c.tick[p->at(p->drifts ? draw() : 1e-6)]++;
	/* At times that are independent. */
	for (double t = -log(1 - draw()); t < timers; t += -log(1 - draw()))
		c.timer[p->at(draw())]++;
	return c;
}

static struct feed_profile ticks = {IMAGE_BUILD_ID, 1, "/bin/a", "cpu-clock:tick",
				    (uint64_t)TICK_NS};
static struct feed_profile timers = {IMAGE_BUILD_ID, 1, "/bin/a", "cpu-clock", (uint64_t)TIMER_NS};

static struct query *ask(const struct counts *c)
{
	struct query_selection s = {0};
	struct query *q = NULL;

	assert_int_equal(query_new(&s, QUERY_WHOLE, &q, NULL), 0);
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		if (c->tick[i])
			feed(q, &ticks, FUNCTION(i), c->tick[i]);
		if (c->timer[i])
			feed(q, &timers, FUNCTION(i), c->timer[i]);
	}
	assert_int_equal(query_finish(q, NULL), 0);
	return q;
}

static double share_of(const struct query *q, unsigned function)
{
	uint64_t counts[QUERY_EVENTS_MAX] = {0};

	query_part_count(&q->parts[0], FUNCTION(function), FUNCTION(function) + 1, counts);
	return (double)counts[0] / (double)q->events[0].samples;
}

/* Of all runs and functions, how many are further off than chance allows the random samples. */
struct misses {
	unsigned joined, ticks, all;
	double square, square_timers; /* of the errors */
};

static struct misses try_program(const struct program *p)
{
	struct misses m = {0};

	state = 1;
	for (unsigned i = 0; i < RUNS; i++) {
		struct counts c = run(p);
		struct query *q = ask(&c);
		double sum[2] = {0};

		for (unsigned f = 0; f < FUNCTIONS; f++) {
			sum[0] += (double)c.tick[f];
			sum[1] += (double)c.timer[f];
		}
		assert_int_equal(q->event_count, 1);
		for (unsigned f = 0; f < FUNCTIONS; f++) {
			double truth = p->share[f], off = share_of(q, f) - truth;
			double error = sqrt(truth * (1 - truth) / sum[1]);

			m.all++;
			m.joined += fabs(off) > ERRORS * error;
			m.ticks += fabs((double)c.tick[f] / sum[0] - truth) > ERRORS * error;
			m.square += off * off;
			off = (double)c.timer[f] / sum[1] - truth;
			m.square_timers += off * off;
		}
		query_free(q);
	}
	print_message(
		"%u of %u over %g standard errors, by ticks alone %u; errors of %.2f of those "
		"by random samples alone\n",
		m.joined, m.all, ERRORS, m.ticks, sqrt(m.square / m.square_timers));
	return m;
}

static void test_in_step(void **unused)
{
	(void)unused;
	for (unsigned i = 0; i < 3; i++) {
		struct misses m = try_program(&programs[i]);

		/* 0.27% of them are so by chance. */
		assert_true(m.joined <= m.all / 100);
		assert_true(m.ticks >= m.all / 4);
		assert_true(m.square < 1.5 * m.square_timers);
	}
}

static void test_out_of_step(void **unused)
{
	(void)unused;
	for (unsigned i = 3; i < 5; i++) {
		struct misses m = try_program(&programs[i]);

		assert_true(m.joined <= m.all / 100);
		/* What the ticks are for: half the error of as many random samples, or less. */
		assert_true(m.square < 0.5 * m.square_timers);
	}
}

#define PLACES 2000

/* Half of the time in one place, half in so many: no luck of the rare ones is believed. */
static double dense_share(void)
{
	uint64_t tick[PLACES + 1] = {0}, timer[PLACES + 1] = {0}, counts[QUERY_EVENTS_MAX] = {0};
	struct query_selection s = {0};
	struct query *q = NULL;
	double share;

	for (unsigned i = 0; i < SECONDS * 1e9 / TICK_NS; i++)
		tick[draw() < 0.5 ? PLACES : (unsigned)(PLACES * draw())]++;
	for (unsigned i = 0; i < SECONDS * 1e9 / TIMER_NS; i++)
		timer[draw() < 0.5 ? PLACES : (unsigned)(PLACES * draw())]++;
	assert_int_equal(query_new(&s, QUERY_WHOLE, &q, NULL), 0);
	for (unsigned i = 0; i <= PLACES; i++) {
		if (tick[i])
			feed(q, &ticks, 8 * i, tick[i]);
		if (timer[i])
			feed(q, &timers, 8 * i, timer[i]);
	}
	assert_int_equal(query_finish(q, NULL), 0);
	query_part_count(&q->parts[0], 8 * PLACES, 8 * PLACES + 1, counts);
	share = (double)counts[0] / (double)q->events[0].samples;
	query_free(q);
	return share;
}

static void test_rare_places(void **unused)
{
	double sum = 0;

	(void)unused;
	state = 1;
	for (unsigned i = 0; i < RUNS / 4; i++)
		sum += dense_share();
	print_message("half of the time: %.4f\n", sum / (RUNS / 4));
	assert_true(fabs(sum / (RUNS / 4) - 0.5) < 0.005);
}

static void test_weight(void **unused)
{
	struct join_periods p = {4e6, 36e6};
	struct join_sums same = {1e9, 1e9}, near = {1e9, 1.1e9}, far = {0, 1e9}, none = {0, 0};

	(void)unused;
	assert_true(fabs(join_weight(&p, &same) - 0.9) < 1e-9);
	assert_true(fabs(join_weight(&p, &near) - 0.9) < 1e-9);
	assert_true(join_weight(&p, &far) < 0.01);
	assert_true(join_weight(&p, &none) >= 0);
}

/* Nothing comes or goes: the sum of the rows is that of the event, in samples of both. */
static void test_sums(void **unused)
{
	struct counts c = {{15000, 10, 0, 3}, {1400, 90, 10, 0}};
	struct query *q = ask(&c);
	const struct query_event *e = &q->events[0];
	uint64_t sum = 0;

	(void)unused;
	assert_string_equal(e->label, "cpu-clock");
	assert_int_equal(e->period, llround(TICK_NS * TIMER_NS / (TICK_NS + TIMER_NS)));
	assert_int_equal(e->joined.ticks, 15013);
	assert_int_equal(e->joined.timers, 1500);
	for (size_t i = 0; i < q->parts[0].row_count; i++) {
		assert_int_equal(q->parts[0].rows[i].event, 0);
		assert_true(!i || q->parts[0].rows[i].offset > q->parts[0].rows[i - 1].offset);
		sum += q->parts[0].rows[i].count;
	}
	assert_int_equal(sum, e->samples);
	assert_int_equal(sum, e->selected);
	assert_true(fabs((double)sum - 16513) < 300);
	query_free(q);
}

/* One kind alone stays what it is, and so does a clock of two periods. */
static void test_left_alone(void **unused)
{
	struct counts only_ticks = {{5, 0, 0, 0}, {0}}, both = {{5, 0, 0, 0}, {6, 0, 0, 0}};
	struct feed_profile other = timers;
	struct query_selection s = {.event = "*:tick"};
	struct query *q = ask(&only_ticks);

	(void)unused;
	assert_string_equal(q->events[0].label, "cpu-clock:tick");
	assert_int_equal(q->events[0].samples, 5);
	query_free(q);
	other.period *= 2;
	other.event = "cpu-clock";
	assert_int_equal(query_new(&(struct query_selection){0}, QUERY_WHOLE, &q, NULL), 0);
	feed(q, &ticks, 1, 5);
	feed(q, &timers, 1, 6);
	feed(q, &other, 1, 7);
	assert_int_equal(query_finish(q, NULL), 0);
	assert_int_equal(q->event_count, 3);
	query_free(q);
	assert_int_equal(query_new(&s, QUERY_WHOLE, &q, NULL), 0);
	feed(q, &ticks, 1, both.tick[0]);
	feed(q, &timers, 1, both.timer[0]);
	assert_int_equal(query_finish(q, NULL), 0);
	assert_int_equal(q->event_count, 1);
	assert_null(q->events[0].joined.name);
	query_free(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_weight),	    cmocka_unit_test(test_in_step),
		cmocka_unit_test(test_out_of_step), cmocka_unit_test(test_rare_places),
		cmocka_unit_test(test_sums),	    cmocka_unit_test(test_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

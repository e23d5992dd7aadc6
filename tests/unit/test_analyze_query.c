/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profile_feed.h"

static const struct feed_profile a = {IMAGE_BUILD_ID, 1, "/bin/a", "cycles", 1000, "make", "7"};
static const struct feed_profile a_misses = {IMAGE_BUILD_ID, 1,	 "/bin/a", "cache-misses", 50,
					     "make",	     "7"};
static const struct feed_profile a_gcc = {IMAGE_BUILD_ID, 1, "/bin/a", "cycles", 1000, "gcc", "8"};
static const struct feed_profile libc = {IMAGE_BUILD_ID, 2,  "/lib/libc.so.6", "cycles", 1000,
					 "gcc",		 "8"};
static const struct feed_profile kernel = {IMAGE_KERNEL, 3,  "[kernel.kallsyms]", "cycles", 1000,
					   "swapper",	 "0"};

static struct query *start(const struct query_selection *s, enum query_group group)
{
	struct query *q = NULL;

	assert_int_equal(query_new(s, group, &q, NULL), 0);
	return q;
}

static void sums_runs_in_order(void **state)
{
	static const uint64_t one[] = {1, 5, 9}, two[] = {5, 6, 9, 10},
			      ones[] = {1, 1, 1, UINT64_MAX};
	static const uint64_t offsets[] = {1, 5, 6, 9, 10}, counts[] = {2, 3, 1, 3, UINT64_MAX};
	struct query_selection s = {0};
	struct query *q = start(&s, QUERY_WHOLE);

	(void)state;
	feed_rows(q, &a, one, ones, 3);
	feed_rows(q, &a, two, ones, 4);
	feed_rows(q, &a_gcc, one, ones, 3);
	assert_int_equal(query_finish(q, NULL), 0);
	assert_int_equal(q->part_count, 1);
	assert_int_equal(q->parts[0].row_count, 5);
	for (size_t i = 0; i < 5; i++) {
		assert_true(q->parts[0].rows[i].offset == offsets[i]);
		assert_true(q->parts[0].rows[i].count == counts[i]);
	}
	assert_true(q->events[0].samples == UINT64_MAX); /* saturates */
	query_free(q);
	query_free(NULL);
}

/* Many unordered runs against an array. */
static void sums_like_an_array(void **state)
{
	enum { OFFSETS = 500 };
	struct query_selection s = {0};
	struct query *q = start(&s, QUERY_WHOLE);
	uint64_t want[OFFSETS][2] = {0}, random = 3;
	size_t row = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t offset, count;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		offset = (random >> 33) % OFFSETS;
		count = (random >> 50) % 7 + 1;
		feed(q, random >> 63 ? &a : &a_misses, offset, count);
		want[offset][!(random >> 63)] += count;
	}
	assert_int_equal(query_finish(q, NULL), 0);
	assert_string_equal(q->events[0].name, "cycles");
	for (uint64_t offset = 0; offset < OFFSETS; offset++) {
		for (uint32_t event = 0; event < 2; event++) {
			const struct query_row *r = &q->parts[0].rows[row];

			if (!want[offset][event])
				continue;
			assert_true(r->offset == offset && r->event == event);
			assert_true(r->count == want[offset][event]);
			row++;
		}
	}
	assert_int_equal(q->parts[0].row_count, row);
	/* Merged as it went: not 20000 rows at once. */
	assert_true(q->parts[0].row_room <= 4096);
	query_free(q);
}

static void selects_by_image(void **state)
{
	static const char *const globs[] = {"/lib/*", "libc*", "02"};
	struct query *q;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct query_selection s = {.image = globs[i]};

		q = start(&s, QUERY_WHOLE);
		feed(q, &a, 1, 10);
		feed(q, &libc, 2, 5);
		assert_int_equal(query_finish(q, NULL), 0);
		assert_int_equal(q->part_count, 1);
		assert_string_equal(q->images[q->parts[0].image].path, "/lib/libc.so.6");
		assert_int_equal(q->events[0].samples, 15);
		assert_int_equal(q->events[0].selected, 5);
		query_free(q);
	}
}

static void selects_by_subject_and_event(void **state)
{
	static const char *const subjects[] = {"comm=g*", "pid=8"}, *const none[] = {"container=*"};
	struct query_selection s = {.subjects = subjects, .subject_count = 2, .event = "cyc*"};
	struct query_selection absent = {.subjects = none, .subject_count = 1};
	struct query *q = start(&s, QUERY_WHOLE);

	(void)state;
	feed(q, &a, 1, 10);
	feed(q, &a_gcc, 1, 3);
	feed(q, &a_misses, 1, 99);
	assert_int_equal(query_finish(q, NULL), 0);
	assert_int_equal(q->event_count, 1);
	assert_int_equal(q->events[0].samples, 13);
	assert_int_equal(q->events[0].selected, 3);
	assert_int_equal(q->parts[0].rows[0].count, 3);
	query_free(q);
	q = start(&absent, QUERY_WHOLE);
	feed(q, &a, 1, 10);
	assert_int_equal(query_finish(q, NULL), 0);
	assert_int_equal(q->part_count, 0);
	query_free(q);
}

/* A subject has one value of each key: globs of one key are alternatives. What a set's own leave
 * out is in no total. */
static void globs_of_one_key_are_alternatives(void **state)
{
	static const char *const subjects[] = {"comm=g*", "pid=*", "comm=make"};
	struct query_selection either = {.subjects = subjects, .subject_count = 3};
	struct query_selection own = either;
	struct query *q = start(&either, QUERY_WHOLE);

	(void)state;
	feed(q, &a, 1, 10);
	feed(q, &a_gcc, 1, 3);
	feed(q, &kernel, 1, 5);
	assert_int_equal(query_finish(q, NULL), 0);
	assert_int_equal(q->events[0].selected, 13);
	query_free(q);
	own.subject_own = 1;
	q = start(&own, QUERY_WHOLE);
	feed(q, &a, 1, 10);
	feed(q, &a_gcc, 1, 3);
	assert_int_equal(query_finish(q, NULL), 0);
	assert_int_equal(q->events[0].selected, 0);
	assert_int_equal(q->events[0].samples, 10);
	query_free(q);
}

static void kernel_is_kept_to_tell_idle(void **state)
{
	struct query_selection s = {.image = "a"};
	struct query *q = start(&s, QUERY_PROCESS);

	(void)state;
	feed(q, &kernel, 1, 10);
	feed(q, &a, 1, 1);
	assert_int_equal(query_finish(q, NULL), 0);
	assert_int_equal(q->part_count, 2);
	assert_false(q->parts[0].selected);
	assert_true(q->parts[1].selected);
	assert_int_equal(q->events[0].selected, 1);
	query_free(q);
}

static void groups_keep_processes_apart(void **state)
{
	struct query_selection s = {0};
	struct query *q = start(&s, QUERY_PROCESS);

	(void)state;
	feed(q, &a, 1, 10);
	feed(q, &a_gcc, 1, 3);
	feed(q, &libc, 1, 3);
	assert_int_equal(query_finish(q, NULL), 0);
	assert_int_equal(intern_count(q->groups), 2);
	assert_int_equal(q->part_count, 3);
	query_free(q);
}

static void events_are_ordered_and_told_apart(void **state)
{
	struct feed_profile slow = a, other = a_misses;
	struct query_selection s = {0};
	struct query *q = start(&s, QUERY_WHOLE);

	(void)state;
	slow.period = 5000;
	other.event = "branch-misses";
	feed(q, &other, 1, 7);
	feed(q, &a_misses, 1, 90);
	feed(q, &slow, 1, 5);
	feed(q, &a, 1, 2);
	assert_int_equal(query_finish(q, NULL), 0);
	assert_int_equal(q->event_count, 4);
	assert_string_equal(q->events[0].label, "cycles:5000");
	assert_string_equal(q->events[1].label, "cycles:1000");
	assert_string_equal(q->events[2].label, "cache-misses");
	assert_string_equal(q->events[3].label, "branch-misses");
	assert_int_equal(q->parts[0].row_count, 4);
	assert_int_equal(q->parts[0].rows[0].count, 5);
	assert_int_equal(q->parts[0].rows[3].count, 7);
	query_free(q);
}

/* So is where accesses of memory were served, and what they cost. */
static void memory_of_other_periods_is_added(void **state)
{
	struct db_event often = {"loads", 1000, 0}, seldom = {"loads", 4000, 0};
	struct feed_profile first = a, second = a;
	struct query_selection s = {0};
	struct query *q = start(&s, QUERY_WHOLE);
	struct db_visitor v = query_visitor(q);
	const struct query_event *e = q->events;

	(void)state;
	first.event = second.event = "loads";
	second.period = 4000;
	second.epoch = "f";
	feed(q, &first, 1, 10);
	assert_int_equal(v.counter(q, &often, "memory.L1 hit", 9), 0);
	assert_int_equal(v.counter(q, &often, "weights", 10), 0);
	assert_int_equal(v.counter(q, &often, "weights.sum", 50), 0);
	feed(q, &second, 1, 2);
	assert_int_equal(v.counter(q, &seldom, "memory.L1 hit", 1), 0);
	assert_int_equal(v.counter(q, &seldom, "memory.RAM hit", 1), 0);
	assert_int_equal(v.counter(q, &seldom, "weights", 2), 0);
	assert_int_equal(v.counter(q, &seldom, "weights.sum", 600), 0);
	assert_int_equal(query_finish(q, NULL), 0);
	assert_int_equal(q->event_count, 1);
	assert_int_equal(e->samples, 18);
	assert_int_equal(e->memory_count, 2);
	assert_int_equal(e->memory[0].value, 13);
	assert_string_equal(e->memory[1].name, "RAM hit");
	assert_int_equal(e->memory[1].value, 4);
	assert_int_equal(e->weights, 18);
	assert_int_equal(e->weight_sum, 2450);
	query_free(q);
}

/* What was sampled at another rate on another day is added by its weight, to the sample. */
static void periods_of_other_epochs_are_added(void **state)
{
	struct feed_profile slow = a, both = a, elsewhere = libc;
	struct query_selection s = {.image = "/bin/a"};
	struct query *q = start(&s, QUERY_WHOLE);
	uint64_t sum = 0;

	(void)state;
	slow.period = elsewhere.period = 800;
	slow.epoch = elsewhere.epoch = "f";
	both.epoch = "g";
	for (uint64_t offset = 0; offset < 1000; offset++) {
		feed(q, &a, offset, 2);
		if (offset % 2)
			feed(q, &slow, offset, 1);
	}
	feed(q, &elsewhere, 5, 10);
	feed(q, &both, 5, 3);
	assert_int_equal(query_finish(q, NULL), 0);
	assert_int_equal(q->event_count, 1);
	assert_int_equal(q->events[0].period, 1000);
	assert_int_equal(q->events[0].periods, 2);
	assert_string_equal(q->events[0].label, "cycles");
	assert_int_equal(q->events[0].samples, 2003 + 408);
	assert_int_equal(q->events[0].selected, 2003 + 400);
	for (size_t i = 0; i < q->parts[0].row_count; i++)
		sum += q->parts[0].rows[i].count;
	assert_int_equal(sum, 2003 + 400);
	query_free(q);

	/* Twice in one epoch: counted twice. */
	q = start(&s, QUERY_WHOLE);
	feed(q, &a, 1, 2);
	slow.epoch = NULL;
	feed(q, &slow, 1, 1);
	slow.epoch = "f";
	feed(q, &slow, 1, 1);
	assert_int_equal(query_finish(q, NULL), 0);
	assert_int_equal(q->event_count, 2);
	query_free(q);
}

/* The collector lowers its rate to keep its budget: nothing was counted twice. */
static void periods_of_the_governor_are_added(void **state)
{
	struct feed_profile slow = a, often = a;
	struct query_selection s = {0};
	struct query *q = start(&s, QUERY_WHOLE);

	(void)state;
	often.flags = slow.flags = DB_EVENT_GOVERNED | DB_EVENT_USER;
	slow.period = 2000;
	feed(q, &often, 1, 20);
	feed(q, &slow, 1, 3);
	feed(q, &slow, 7, 1);
	assert_int_equal(query_finish(q, NULL), 0);
	assert_int_equal(q->event_count, 1);
	assert_int_equal(q->events[0].period, 1000);
	assert_int_equal(q->events[0].periods, 2);
	assert_int_equal(q->events[0].samples, 28);
	query_free(q);
}

static void too_many_events_are_counted(void **state)
{
	struct query_selection s = {0};
	struct query *q = start(&s, QUERY_WHOLE);
	struct feed_profile p = a;

	(void)state;
	for (p.period = 1; p.period <= QUERY_EVENTS_MAX + 2; p.period++)
		assert_int_equal(feed(q, &p, 1, 3), 0);
	assert_int_equal(query_finish(q, NULL), 0);
	assert_int_equal(q->event_count, QUERY_EVENTS_MAX);
	assert_int_equal(q->refused, 6);
	query_free(q);
}

static void counters_are_sorted_out(void **state)
{
	struct query_selection s = {.event = "cycles"};
	struct query *q = start(&s, QUERY_WHOLE);
	struct db_visitor v = query_visitor(q);
	struct db_event cycles = {"cycles", 1000, 0}, other = {"other", 1, 0};
	char name[32];

	(void)state;
	v.counter(v.arg, &cycles, "samples", 10);
	v.counter(v.arg, &cycles, "enabled_ns", 40);
	v.counter(v.arg, &cycles, "running_ns", 10);
	v.counter(v.arg, &cycles, "lost.ring", 3);
	v.counter(v.arg, NULL, "lost.ring", 4);
	v.counter(v.arg, NULL, "lost.throttled", 0);
	v.counter(v.arg, NULL, "idle", 6);
	v.counter(v.arg, &cycles, "unknown.process", 2);
	v.counter(v.arg, &other, "lost.ring", 1000);
	for (int i = 0; i < 2 * QUERY_COUNTERS_MAX; i++) {
		snprintf(name, sizeof(name), "unknown.%d", i);
		v.counter(v.arg, NULL, name, 1);
	}
	assert_int_equal(query_finish(q, NULL), 0);
	assert_int_equal(q->event_count, 1);
	assert_int_equal(q->events[0].counted, 10);
	assert_int_equal(q->events[0].lost, 3);
	assert_true(query_event_scale(&q->events[0]) == 4);
	assert_int_equal(q->lost_count, 1);
	assert_int_equal(q->lost_samples, 7);
	assert_int_equal(q->idle_skipped, 6);
	assert_int_equal(q->unknown_count, QUERY_COUNTERS_MAX);
	query_free(q);
}

static void bad_subjects_are_refused(void **state)
{
	static const char *const bad[] = {"comm", "=x", ""};
	struct query *q;
	struct diag d;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct query_selection s = {.subjects = &bad[i], .subject_count = 1};

		assert_int_equal(query_new(&s, QUERY_WHOLE, &q, &d), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_runs_in_order),
		cmocka_unit_test(sums_like_an_array),
		cmocka_unit_test(selects_by_image),
		cmocka_unit_test(selects_by_subject_and_event),
		cmocka_unit_test(globs_of_one_key_are_alternatives),
		cmocka_unit_test(kernel_is_kept_to_tell_idle),
		cmocka_unit_test(groups_keep_processes_apart),
		cmocka_unit_test(events_are_ordered_and_told_apart),
		cmocka_unit_test(periods_of_other_epochs_are_added),
		cmocka_unit_test(periods_of_the_governor_are_added),
		cmocka_unit_test(memory_of_other_periods_is_added),
		cmocka_unit_test(too_many_events_are_counted),
		cmocka_unit_test(counters_are_sorted_out),
		cmocka_unit_test(bad_subjects_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collect/cost/skid_cache.h"
#include "collect/cost/skid_loops.h"
#include "machine/skid.h"

static struct machine_skid sample_skid(void)
{
	struct machine_skid s = {.event = "cpu-clock:u", .unevenness = 0.125};
	for (unsigned c = 0; c < MACHINE_SKID_CASES; c++) {
		s.samples[c] = 1000 + c;
		s.shares[c][0] = 0.125;
		s.shares[c][1] = 0.75;
		s.shares[c][3] = 0.125;
	}
	return s;
}

static void test_text(void **state)
{
	struct machine_skid s = sample_skid(), back, untouched;
	char text[MACHINE_SKID_TEXT];
	(void)state;
	machine_skid_format(&s, text);
	assert_true(strlen(text) + 1 < sizeof(text));
	assert_int_equal(machine_skid_parse(text, &back), 0);
	assert_memory_equal(&s, &back, sizeof(s));
	s.samples[MACHINE_SKID_MEMORY] = 0;
	machine_skid_format(&s, text);
	assert_null(strstr(text, "mem="));
	assert_int_equal(machine_skid_parse(text, &back), 0);
	assert_int_equal(back.samples[MACHINE_SKID_MEMORY], 0);
	/* The longest that can be written fits. */
	memset(s.event, 'x', sizeof(s.event) - 1);
	for (unsigned c = 0; c < MACHINE_SKID_CASES; c++) {
		s.samples[c] = 999999999;
		for (unsigned p = 0; p < MACHINE_SKID_PLACES; p++)
			s.shares[c][p] = 0.25;
	}
	machine_skid_format(&s, text);
	assert_true(strlen(text) + 1 < sizeof(text));
	assert_int_equal(machine_skid_parse(text, &back), 0);
	untouched = back;
	static const char *const bad[] = {
		"",
		";",
		"cpu-clock",
		"cpu-clock;",
		"cpu-clock;2000",
		"cpu-clock;nan",
		"cpu-clock;100;dep=1000/0/0/0",
		"cpu-clock;100;dep=1000/1000/0/0/5",
		"cpu-clock;100;dep=-1000/1000/1000/0/5",
		"cpu-clock;100;dep=nan/0/0/1000/5",
		"cpu-clock;100 dep=1000/0/0/0/5",
		"cpu-clock;0.296;dep=0/1/0/0/505",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(machine_skid_parse(bad[i], &back), -EINVAL);
	assert_memory_equal(&untouched, &back, sizeof(back));
	/* A case of a later version. */
	assert_int_equal(machine_skid_parse("cycles;0;new=1000/0/0/0/5;div=0/1000/0/0/7", &back),
			 0);
	assert_int_equal(back.samples[MACHINE_SKID_DIVISION], 7);
}

static void test_back(void **state)
{
	struct machine_skid s;
	(void)state;
	machine_skid_default(false, &s);
	assert_true(machine_skid_back(&s) == 1);
	machine_skid_default(true, &s);
	assert_true(machine_skid_back(&s) == 0);
	s = sample_skid();
	assert_true(machine_skid_back(&s) == 0.75);
	assert_false(machine_skid_shows_divisions(&s));
}

/* Zen 4: a division shows itself. The others are shown late all the same. */
static void test_one_case_that_differs(void **state)
{
	static const char text[] = "cpu-clock;613;dep=0/997/3/0/729;div=940/0/0/60/736;"
				   "mem=4/992/3/1/733;loc=0/986/12/1/734";
	struct machine_skid s;
	(void)state;
	assert_int_equal(machine_skid_parse(text, &s), 0);
	assert_true(machine_skid_back(&s) > 0.98);
	assert_true(machine_skid_shows_divisions(&s));
}

static void test_cache(void **state)
{
	char top[] = "/tmp/culprit-skid.XXXXXX", directory[64], command[128];
	struct machine_skid s = sample_skid();
	struct skid_facts facts = {.clock_hz = 3.5e9}, back;
	(void)state;
	assert_non_null(mkdtemp(top));
	snprintf(directory, sizeof(directory), "%s/a/b", top);
	machine_skid_format(&s, facts.skid);
	assert_int_equal(skid_cache_read(directory, "cycles", &back), -ENOENT);
	assert_int_equal(skid_cache_write(directory, "cycles", &facts), 0);
	assert_int_equal(skid_cache_read(directory, "cpu-clock", &back), -ENOENT);
	assert_int_equal(skid_cache_read(directory, "cycles", &back), 0);
	assert_string_equal(back.skid, facts.skid);
	assert_true(back.clock_hz == facts.clock_hz);
	/* A damaged file is none. */
	snprintf(command, sizeof(command), "for f in %s/*; do echo broken >$f; done", directory);
	assert_int_equal(system(command), 0);
	assert_int_equal(skid_cache_read(directory, "cycles", &back), -ENOENT);
	/* Where nothing can be written. */
	assert_true(skid_cache_write("/proc/nowhere", "cycles", &facts) < 0);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	assert_int_equal(system(command), 0);
}

/* The loops return, and their places are inside of them, in order. */
static void test_loops(void **state)
{
	static void *ring[16];
	const struct skid_loop *l;
	unsigned seen = 0;
	(void)state;
	ring[0] = ring;
	for (unsigned i = 0; (l = skid_loop_at(i)); i++) {
		seen |= 1u << l->kind;
		l->run(100, ring);
		assert_true(l->begin < l->end && l->end - l->begin < 512);
		for (unsigned p = 0; l->places[0][0] && p < MACHINE_SKID_PLACES - 1; p++)
			assert_true(l->places[0][p] >= l->begin && l->places[0][p] < l->end &&
				    (!p || l->places[0][p] > l->places[0][p - 1]));
	}
#ifdef __x86_64__
	assert_int_equal(seen, (1u << MACHINE_SKID_CASES) - 1);
	assert_true(ring[0] == ring);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_back),
		cmocka_unit_test(test_one_case_that_differs),
		cmocka_unit_test(test_cache),
		cmocka_unit_test(test_loops),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

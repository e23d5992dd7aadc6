/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* doctor's checks against trees of files of machines that are not this one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "collect/check/check.h"

#define PLAIN  TEST_DATA "/machines/plain"
#define OLD    TEST_DATA "/machines/old"
#define HYBRID TEST_DATA "/machines/hybrid"

static void expect(const struct check_list *l, const char *name, enum check_state state,
		   const char *value, const char *mend)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct check *c = &l->rows[i];

		if (strcmp(c->name, name))
			continue;
		if (c->state != state || !strstr(c->value, value) || !strstr(c->mend, mend))
			fail_msg("%s: %s '%s' '%s'", name, check_state_name(c->state), c->value,
				 c->mend);
		return;
	}
	fail_msg("no row %s", name);
}

static void test_old_machine(void **state)
{
	static struct check_list l;

	(void)state;
	l = (struct check_list){.root = OLD};
	check_kernel(&l);
	check_privilege(&l);
	check_symbols(&l);
	expect(&l, "version", CHECK_BAD, "5.10.0-30", "5.15 or later");
	expect(&l, "config", CHECK_BAD, "CONFIG_DEBUG_INFO_BTF", "kernel built with");
	expect(&l, "config_wishes", CHECK_PARTIAL, "CONFIG_MEMBARRIER", "kernel built with");
	expect(&l, "btf", CHECK_BAD, "vmlinux", "CONFIG_DEBUG_INFO_BTF=y");
	expect(&l, "tracefs", CHECK_PARTIAL, "not mounted", "mount -t tracefs");
	expect(&l, "clocksource", CHECK_PARTIAL, "hpet", "echo tsc");
	expect(&l, "nohz_full", CHECK_PARTIAL, "2-7", "");
	expect(&l, "virtual_machine", CHECK_FACT, "yes", "");
	if (geteuid() == 0)
		expect(&l, "perf_event_paranoid", CHECK_FACT, "4: only root", "");
	else
		expect(&l, "perf_event_paranoid", CHECK_PARTIAL, "4: only root",
		       "sysctl kernel.perf_event_paranoid=2");
	expect(&l, "lockdown", CHECK_PARTIAL, "confidentiality", "lockdown=integrity");
	expect(&l, "kallsyms", CHECK_PARTIAL, "hidden", "CAP_SYSLOG");
	expect(&l, "kcore", CHECK_FACT, "read through BPF", "");
	assert_false(check_passed(&l));
}

static void test_bare_tree(void **state)
{
	static struct check_list l;

	(void)state;
	l = (struct check_list){.root = PLAIN};
	check_kernel(&l);
	check_symbols(&l);
	expect(&l, "version", CHECK_PARTIAL, "/proc is not mounted", "");
	expect(&l, "config", CHECK_FACT, "not provided", "");
	expect(&l, "tracefs", CHECK_GOOD, "/sys/kernel/tracing", "");
	expect(&l, "nohz_full", CHECK_GOOD, "off", "");
	expect(&l, "virtual_machine", CHECK_FACT, "no", "");
	expect(&l, "kallsyms", CHECK_PARTIAL, "cannot be read", "");
}

static void test_addresses_after_zeroes(void **state)
{
	static struct check_list l;

	(void)state;
	l = (struct check_list){.root = HYBRID};
	check_symbols(&l);
	expect(&l, "kallsyms", CHECK_GOOD, "readable", "");
}

static void test_list_limits(void **state)
{
	static struct check_list l;
	char big[1000];

	(void)state;
	l = (struct check_list){.root = "", .group = "g"};
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = 0;
	for (int i = 0; i < CHECKS_MAX + 5; i++)
		check_mend(check_add(&l, "n", CHECK_GOOD, "%s", big), "%s", big);
	assert_int_equal(l.count, CHECKS_MAX);
	assert_int_equal(l.refused, 5);
	assert_true(check_passed(&l));
	check_add(&l, "n", CHECK_BAD, "x");
	assert_false(check_passed(&l));
}

/* Trying things must end and say something, whoever runs it. */
static void test_this_machine(void **state)
{
	static struct check_list l;

	(void)state;
	l = (struct check_list){.root = ""};
	check_sampling(&l);
	assert_true(l.count >= 3 && !l.refused);
	for (size_t i = 0; i < l.count; i++)
		assert_true(l.rows[i].value[0] && l.rows[i].group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_old_machine),
		cmocka_unit_test(test_bare_tree),
		cmocka_unit_test(test_addresses_after_zeroes),
		cmocka_unit_test(test_list_limits),
		cmocka_unit_test(test_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Where the kernel's types say that the tick is, and who has none to offer. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "collect/events/tick.h"

/* All that is looked for, with others before it; without, for one that is left out. */
static struct btf *make(const char *without)
{
	static const struct {
		const char *name;
		unsigned offset, size;
		int type; /* of those below */
	} variables[] = {
		{"other", 0, 8, 1},
		{"hrtimer_bases", 640, 640, 3},
		{"tick_cpu_sched", 2048, 232, 2},
		{"bpf_prog_active", 4096, 4, 1},
		{"__irq_regs", 8192, 8, 1},
	};
	struct btf *b = btf__new_empty();
	int number[sizeof(variables) / sizeof(variables[0])];

	btf__add_int(b, "long", 8, BTF_INT_SIGNED);
	btf__add_struct(b, "tick_sched", 232);
	btf__add_field(b, "flags", 1, 0, 0);
	btf__add_field(b, "sched_timer", 1, 192, 0);
	btf__add_struct(b, "hrtimer_cpu_base", 640);
	btf__add_field(b, "cpu", 1, 0, 0);
	btf__add_field(b, "clock_base", 1, 512, 0);
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		number[i] = btf__add_var(b, variables[i].name, BTF_VAR_GLOBAL_ALLOCATED,
					 variables[i].type);
	btf__add_datasec(b, TICK_SECTION, 16384);
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		if (strcmp(variables[i].name, without) != 0)
			btf__add_datasec_var_info(b, number[i], variables[i].offset,
						  variables[i].size);
	return b;
}

static void test_places(void **state)
{
	struct btf *b = make("");
	struct wire_tick t;
	struct diag diag;

	(void)state;
	assert_int_equal(tick_find(b, &t, &diag), 0);
	assert_int_equal(t.base, 640 + 64 - (2048 + 24));
	assert_int_equal(t.registers, 8192 - (2048 + 24));
	assert_int_equal(t.running, 4096 - (2048 + 24));
	btf__free(b);
}

static void test_unknown_places(void **state)
{
	struct btf *b = btf__new_empty();
	struct wire_tick t;
	struct diag diag;

	(void)state;
	assert_int_equal(tick_find(b, &t, &diag), -EOPNOTSUPP);
	btf__free(b);
	for (size_t i = 0; tick_variables[i]; i++) {
		b = make(tick_variables[i]);
		assert_int_equal(tick_find(b, &t, &diag), -EOPNOTSUPP);
		assert_non_null(strstr(diag.text, "do not say where its tick is"));
		btf__free(b);
	}
}

/* With a file that says which CPUs run without ticks; NULL: there is none. */
static int check_with(const char *full, struct diag *diag)
{
	char root[] = "/tmp/culprit-tick-XXXXXX", path[128];
	const char *const folders[] = {"/sys", "/sys/devices", "/sys/devices/system",
				       "/sys/devices/system/cpu"};
	FILE *f = NULL;
	int r;

	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s%s", root, folders[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/nohz_full", root);
	if (full && (f = fopen(path, "we"))) {
		fputs(full, f);
		fclose(f);
	}
	r = tick_check(root, diag);
	unlink(path);
	for (size_t i = 4; i-- > 0;) {
		snprintf(path, sizeof(path), "%s%s", root, folders[i]);
		rmdir(path);
	}
	rmdir(root);
	return r;
}

static void test_kernels_without(void **state)
{
	struct diag diag;

	(void)state;
	if (check_with(NULL, &diag)) {
		assert_non_null(strstr(diag.text, "coarse"));
		skip(); /* timers of low resolution */
	}
	assert_int_equal(check_with("", &diag), 0);
	assert_int_equal(check_with("\n", &diag), 0);
	assert_int_equal(check_with("  (null)\n", &diag), 0);
	assert_int_equal(check_with("(null)\n", &diag), 0);
	assert_int_equal(check_with("2-7\n", &diag), -EOPNOTSUPP);
	assert_non_null(strstr(diag.text, "nohz_full=2-7"));
}

static void test_period(void **state)
{
	uint64_t period = tick_period_ns();

	(void)state;
	/* HZ from 24 to 1200 or so, as kernels are built. */
	assert_true(period >= 800000 && period <= 42000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_unknown_places),
		cmocka_unit_test(test_kernels_without),
		cmocka_unit_test(test_period),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

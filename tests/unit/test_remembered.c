/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What was measured comes back only where it holds, and only from whom it may come. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "collect/cost/cost_cache.h"
#include "collect/host/remembered.h"

static char top[64], directory[96];

static int begin(void **state)
{
	(void)state;
	strcpy(top, "/tmp/culprit-remembered.XXXXXX");
	assert_non_null(mkdtemp(top));
	snprintf(directory, sizeof(directory), "%s/a/b", top);
	return 0;
}

static int end(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

/* Runs a shell command on every file that was written, as $f. */
static void damage(const char *how)
{
	char command[512];

	snprintf(command, sizeof(command), "for f in %s/*; do %s; done", directory, how);
	assert_int_equal(system(command), 0);
}

static void test_text(void **state)
{
	char text[REMEMBERED_TEXT], large[REMEMBERED_TEXT + 1];

	(void)state;
	memset(large, 'x', REMEMBERED_TEXT);
	large[REMEMBERED_TEXT] = 0;
	assert_int_equal(remembered_read(directory, "one", text), -ENOENT);
	assert_int_equal(remembered_write(directory, "one", "1\n2"), 0);
	assert_int_equal(remembered_write(directory, "two", large + 1), 0);
	assert_int_equal(remembered_read(directory, "one", text), 0);
	assert_string_equal(text, "1\n2");
	assert_int_equal(remembered_read(directory, "two", text), 0);
	assert_string_equal(text, large + 1);
	assert_int_equal(remembered_read(directory, "tw", text), -ENOENT);
	/* Too long, or not a line. */
	assert_int_equal(remembered_write(directory, "one", large), -EINVAL);
	assert_int_equal(remembered_write(directory, "a\nb", "c"), -EINVAL);
	assert_true(remembered_write("/proc/nowhere", "one", "1") < 0);
	/* Another key's text under this key's name. */
	damage("sed -i s/one/eno/ $f");
	assert_int_equal(remembered_read(directory, "one", text), -ENOENT);
}

static void test_owner(void **state)
{
	char text[REMEMBERED_TEXT], link[128];

	(void)state;
	assert_int_equal(remembered_write(directory, "one", "1"), 0);
	damage("chmod g+w $f");
	assert_int_equal(remembered_read(directory, "one", text), -ENOENT);
	damage("chmod g-w $f");
	assert_int_equal(remembered_read(directory, "one", text), 0);
	assert_int_equal(chmod(directory, 0777), 0);
	assert_int_equal(remembered_read(directory, "one", text), -ENOENT);
	assert_int_equal(remembered_write(directory, "one", "1"), -EPERM);
	assert_int_equal(chmod(directory, 0755), 0);
	snprintf(link, sizeof(link), "%s/link", top);
	assert_int_equal(symlink(directory, link), 0);
	assert_int_equal(remembered_read(link, "one", text), -ENOENT);
	assert_true(remembered_write(link, "one", "1") < 0);
	damage("mv $f $f.away && ln -s $f.away $f");
	assert_int_equal(remembered_read(directory, "one", text), -ENOENT);
	damage("rm $f && mkfifo $f");
	assert_int_equal(remembered_read(directory, "one", text), -ENOENT);
	if (geteuid() == 0) {
		damage("rm -r $f");
		assert_int_equal(remembered_write(directory, "one", "1"), 0);
		damage("chown 65534 $f");
		assert_int_equal(remembered_read(directory, "one", text), -ENOENT);
	}
}

static void test_cost(void **state)
{
	struct governor_cost cost = {.cost_ns = 15000,
				     .error_ns = 200,
				     .set_bytes = 1 << 20,
				     .measured = true,
				     .why = ""};
	struct governor_cost back = {0};
	struct event clock, scheduler;
	struct timespec now;
	char command[256];
	uint64_t age = 77;

	(void)state;
	if (event_parse("cpu-clock", &clock, NULL) || event_parse("task-clock", &scheduler, NULL))
		skip();
	assert_int_equal(cost_cache_read(directory, &clock, true, &back, &age), -ENOENT);
	assert_int_equal(cost_cache_write(directory, &clock, true, &cost), 0);
	assert_int_equal(cost_cache_read(directory, &clock, false, &back, &age), -ENOENT);
	assert_int_equal(cost_cache_read(directory, &scheduler, true, &back, &age), -ENOENT);
	assert_int_equal(age, 77);
	assert_int_equal(cost_cache_read(directory, &clock, true, &back, &age), 0);
	assert_true(back.cost_ns == 15000 && back.error_ns == 200 && back.measured && age <= 60);
	assert_int_equal(back.set_bytes, 1 << 20);
	/* Of another boot, and of a day ago, it says nothing. */
	damage("sed -i.kept \"s/| $(cat /proc/sys/kernel/random/boot_id) |/| other |/\" $f");
	assert_int_equal(cost_cache_read(directory, &clock, true, &back, &age), -ENOENT);
	damage("case $f in *.kept) mv $f ${f%.kept};; esac");
	assert_int_equal(cost_cache_read(directory, &clock, true, &back, &age), 0);
	clock_gettime(CLOCK_BOOTTIME, &now);
	damage("sed -i 's/^15000.*/15000 200 0 99999999999 0/' $f");
	assert_int_equal(cost_cache_read(directory, &clock, true, &back, &age), -ENOENT);
	snprintf(command, sizeof(command), "sed -i 's/^15000.*/15000 200 0 %lld 0/' $f",
		 (long long)now.tv_sec - COST_CACHE_S / 2);
	damage(command);
	assert_int_equal(cost_cache_read(directory, &clock, true, &back, &age),
			 now.tv_sec < COST_CACHE_S / 2 ? -ENOENT : 0);
	if (now.tv_sec > COST_CACHE_S) {
		damage("sed -i 's/^15000.*/15000 200 0 1 0/' $f");
		assert_int_equal(cost_cache_read(directory, &clock, true, &back, &age), -ENOENT);
	}
	/* What was measured beside other work is not believed for long. */
	cost.busy = true;
	assert_int_equal(cost_cache_write(directory, &clock, true, &cost), 0);
	assert_int_equal(cost_cache_read(directory, &clock, true, &back, &age), 0);
	assert_true(back.busy);
	if (now.tv_sec > COST_CACHE_BUSY_S) {
		snprintf(command, sizeof(command), "sed -i 's/^15000.*/15000 200 0 %lld 1/' $f",
			 (long long)now.tv_sec - COST_CACHE_BUSY_S);
		damage(command);
		assert_int_equal(cost_cache_read(directory, &clock, true, &back, &age), -ENOENT);
		damage("sed -i '2s/1$/0/' $f");
		assert_int_equal(cost_cache_read(directory, &clock, true, &back, &age), 0);
		assert_false(back.busy);
	}
	cost.busy = false;
	/* What no machine has. */
	static const char *const nonsense[] = {"nan 200 0 1 0",	   "inf 200 0 1 0",
					       "1 0 0 1 0",	   "15000 nan 0 1 0",
					       "15000 9000 0 1 0", "15000 -1 0 1 0",
					       "1e9 200 0 1 0",	   "15000 200 0 1 0 more",
					       "15000 200 0 1",	   ""};
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(*nonsense); i++) {
		snprintf(command, sizeof(command), "sed -i '2s/.*/%s/' $f", nonsense[i]);
		damage(command);
		assert_int_equal(cost_cache_read(directory, &clock, true, &back, &age), -ENOENT);
	}
	cost.measured = false;
	assert_int_equal(cost_cache_write(directory, &clock, true, &cost), -EINVAL);
	cost = (struct governor_cost){.cost_ns = NAN, .measured = true};
	assert_int_equal(cost_cache_write(directory, &clock, true, &cost), -EINVAL);
	event_free(&clock);
	event_free(&scheduler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_text, begin, end),
		cmocka_unit_test_setup_teardown(test_owner, begin, end),
		cmocka_unit_test_setup_teardown(test_cost, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

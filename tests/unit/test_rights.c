/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What a daemon that was started with CAP_SYS_ADMIN has left, in processes of their own. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "collect/host/rights.h"

#define STRICT TEST_DATA "/machines/old"    /* paranoid is 4 */
#define MILD   TEST_DATA "/machines/hybrid" /* and 2 here */
#define USER   64123

static const cap_value_t given[] = {
	CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_SETPCAP, CAP_NET_RAW,
};
#define GIVEN (int)(sizeof(given) / sizeof(given[0]))

/* Another user with these in all sets, as a service is started. */
static bool become_service(const cap_value_t *of, int count)
{
	cap_t set = cap_init();
	bool done;

	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setresgid(USER, USER, USER) ||
	    setresuid(USER, USER, USER))
		return false;
	cap_set_flag(set, CAP_PERMITTED, count, of, CAP_SET);
	cap_set_flag(set, CAP_EFFECTIVE, count, of, CAP_SET);
	cap_set_flag(set, CAP_INHERITABLE, count, of, CAP_SET);
	done = !cap_set_proc(set);
	for (int i = 0; i < count; i++)
		done = done && !prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, of[i], 0, 0);
	cap_free(set);
	return done;
}

/* Whether exactly these are permitted, the first of them effective, and none is left elsewhere. */
static bool has_only(const cap_value_t *wanted, int permitted, int effective)
{
	cap_t now = cap_get_proc(), only = cap_init();
	bool same;

	cap_set_flag(only, CAP_PERMITTED, permitted, wanted, CAP_SET);
	cap_set_flag(only, CAP_EFFECTIVE, effective, wanted, CAP_SET);
	same = now && !cap_compare(now, only);
	for (cap_value_t c = 0; c <= CAP_LAST_CAP; c++)
		same = same && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, c, 0, 0) <= 0 &&
		       prctl(PR_CAPBSET_READ, c, 0, 0, 0) <= 0;
	cap_free(now);
	cap_free(only);
	return same;
}

static bool can_take_back(void)
{
	const cap_value_t admin = CAP_SYS_ADMIN;
	cap_t set = cap_get_proc();
	bool taken;

	cap_set_flag(set, CAP_PERMITTED, 1, &admin, CAP_SET);
	cap_set_flag(set, CAP_EFFECTIVE, 1, &admin, CAP_SET);
	taken = !cap_set_proc(set);
	cap_free(set);
	return taken;
}

/* The number of the step that went wrong, 0 when none did. */
static int limit_strict(void)
{
	if (!become_service(given, GIVEN))
		return 1;
	if (rights_limit(STRICT, RIGHTS_TO_OPEN, NULL))
		return 2;
	if (!has_only(given, 4, 3))
		return 3;
	if (rights_limit(STRICT, RIGHTS_TO_RUN, NULL))
		return 4;
	if (!has_only(given, 3, 3))
		return 5;
	return can_take_back() ? 6 : 0;
}

static int limit_mild(void)
{
	if (!become_service(given, GIVEN))
		return 1;
	if (rights_limit(MILD, RIGHTS_TO_OPEN, NULL))
		return 2;
	return has_only(given, 3, 3) ? can_take_back() : 3;
}

/* Of all processes on a CPU: wants CAP_PERFMON, or else CAP_SYS_ADMIN. */
static int open_everyones(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
	};
	int fd = rights_open_event(&attr, -1, 0, -1);

	if (fd >= 0)
		close(fd);
	return fd;
}

static int open_with_admin(void)
{
	static const cap_value_t admin[] = {CAP_SYS_ADMIN};

	if (!become_service(admin, 1))
		return 1;
	if (rights_limit(STRICT, RIGHTS_TO_OPEN, NULL))
		return 2;
	if (open_everyones() < 0)
		return 3;
	/* Only for the call. */
	cap_t now = cap_get_proc();
	cap_flag_value_t v = CAP_SET;

	cap_get_flag(now, CAP_SYS_ADMIN, CAP_EFFECTIVE, &v);
	cap_free(now);
	if (v == CAP_SET)
		return 4;
	if (rights_limit(STRICT, RIGHTS_TO_RUN, NULL))
		return 5;
	return open_everyones() == -EACCES ? 0 : 6;
}

/* Where mappings are read by CAP_SYS_PTRACE it is in use for no more than the call. */
static int open_maps_of_parent(void)
{
	static const cap_value_t ptrace[] = {CAP_SYS_PTRACE};
	cap_t set = cap_init();
	int fd;

	if (!become_service(ptrace, 1))
		return 1;
	cap_set_flag(set, CAP_PERMITTED, 1, ptrace, CAP_SET);
	if (cap_set_proc(set)) /* permitted, and nothing else */
		return 2;
	fd = rights_open_maps(getppid());
	if (fd < 0)
		return 3;
	close(fd);
	if (cap_compare(cap_get_proc(), set))
		return 4;
	cap_clear(set);
	return !cap_set_proc(set) && rights_open_maps(getppid()) == -EACCES ? 0 : 5;
}

/* Nobody gets what he did not have, and nothing to give up is no failure. */
static int limit_nobody(void)
{
	if (setresgid(USER, USER, USER) || setresuid(USER, USER, USER))
		return 1;
	if (rights_limit(STRICT, RIGHTS_TO_OPEN, NULL) || rights_limit(STRICT, RIGHTS_TO_RUN, NULL))
		return 2;
	cap_t now = cap_get_proc(), none = cap_init();

	return cap_compare(now, none) ? 3 : 0;
}

static void expect_zero(int (*steps)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(steps());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_strict(void **state)
{
	(void)state;
	assert_true(rights_want_admin(STRICT));
	if (geteuid())
		skip();
	expect_zero(limit_strict);
}

static void test_mild(void **state)
{
	(void)state;
	assert_false(rights_want_admin(MILD));
	if (geteuid())
		skip();
	expect_zero(limit_mild);
}

static void test_nobody(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	expect_zero(limit_nobody);
}

static void test_maps(void **state)
{
	(void)state;
	if (geteuid())
		skip();
	expect_zero(open_maps_of_parent);
}

static void test_open(void **state)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = -1;

	(void)state;
	if (!f || fscanf(f, "%d", &level) != 1)
		level = -1;
	if (f)
		fclose(f);
	/* Where everyone may, nothing is to be seen. */
	if (geteuid() || level < 1)
		skip();
	expect_zero(open_with_admin);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strict), cmocka_unit_test(test_mild),
		cmocka_unit_test(test_nobody), cmocka_unit_test(test_maps),
		cmocka_unit_test(test_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

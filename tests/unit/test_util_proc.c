/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <sys/prctl.h>
#include <sys/times.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "util/proc.h"

#define WORK_S 0.05 /* some ticks */

static void work(void)
{
	while ((double)clock() / CLOCKS_PER_SEC < WORK_S)
		;
}

/* The kernel's word for both, and of a program that has named itself to mislead. */
static void test_stat(void **state)
{
	struct proc_stat before, after, child;
	struct tms times_now;
	int hold[2];
	pid_t pid;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "a) R 1 2 (b)", 0, 0, 0), 0);
	assert_int_equal(proc_read_stat(getpid(), &before), 0);
	assert_int_equal(before.children_ticks, 0);
	assert_int_equal(pipe(hold), 0);
	pid = fork();
	if (!pid) {
		work();
		close(hold[1]);
		_exit(read(hold[0], &pid, 1) != 0);
	}
	assert_int_equal(proc_read_stat(pid, &child), 0);
	assert_true(child.start_ticks >= before.start_ticks);
	assert_int_equal(child.children_ticks, 0);
	close(hold[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(proc_read_stat(getpid(), &after), 0);
	times(&times_now);
	assert_int_equal(after.start_ticks, before.start_ticks);
	assert_true(after.children_ticks > 0);
	assert_int_equal(after.children_ticks, times_now.tms_cutime + times_now.tms_cstime);
	assert_true(proc_read_stat(pid, &child) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_stat)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

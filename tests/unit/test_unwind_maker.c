/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The maker of unwind tables: what it makes, when it tries again, what it leaves for the next. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "collect/stacks/unwind_maker.h"
#include "util/clock.h"

#define SECOND_NS 1000000000ull

struct test {
	char cache[64];
	struct unwind_maker *maker;
	int fd; /* a file with a large table, that was not changed just now */
};

static struct unwind_maker *new_maker(const struct test *t, uint64_t time_ns)
{
	struct unwind_maker_config config = {
		.limits = {.time_ns = time_ns, .wait_ns = 10 * time_ns},
		.cache = t->cache,
		.again_ns = 1000000,
		.tries = 3,
	};
	struct unwind_maker *m = unwind_maker_new(&config);

	assert_non_null(m);
	return m;
}

static int set_up(void **state)
{
	struct test *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	snprintf(t->cache, sizeof(t->cache), "/tmp/culprit-unwind-maker-XXXXXX");
	assert_non_null(mkdtemp(t->cache));
	t->fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(t->fd >= 0);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct test *t = *state;
	char command[96];

	unwind_maker_free(t->maker, 0);
	close(t->fd);
	snprintf(command, sizeof(command), "rm -rf '%s'", t->cache);
	assert_int_equal(system(command), 0);
	free(t);
	return 0;
}

static struct unwind_made *await(struct unwind_maker *m)
{
	struct pollfd p = {.fd = unwind_maker_fd(m), .events = POLLIN};
	struct unwind_made *made;

	while (!(made = unwind_maker_take(m)))
		assert_true(poll(&p, 1, 60000) == 1);
	return made;
}

static struct unwind_maker_counters count(struct unwind_maker *m)
{
	struct unwind_maker_counters c;

	unwind_maker_count(m, &c);
	return c;
}

static void answers_each_wish(void **state)
{
	struct test *t = *state;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct unwind_made *made;

	t->maker = new_maker(t, 30 * SECOND_NS);
	assert_null(unwind_maker_take(t->maker));
	assert_int_equal(unwind_maker_ask(t->maker, 7, t->fd), 0);
	/* Its copy is enough. */
	assert_int_equal(unwind_maker_ask(t->maker, UINT64_MAX, null), 0);
	close(null);
	made = await(t->maker);
	assert_int_equal(made->wish, 7);
	assert_true(made->u && made->u->row_count > 1000 && !made->is_kept &&
		    !made->python.version);
	unwind_maker_give_back(t->maker, made);
	made = await(t->maker);
	assert_true(made->wish == UINT64_MAX && !made->u);
	unwind_maker_give_back(t->maker, made);
	assert_int_equal(count(t->maker).late, 0);
}

/* What it took is told, and who spent too much waits: until nothing more comes. */
static void keeps_to_its_allowance(void **state)
{
	struct test *t = *state;
	/* 1 ns at once, and a second's work in a year. */
	struct allowance *a = allowance_new(30, 1, clock_monotonic_ns());
	struct unwind_maker_config config = {
		.cache = t->cache, .tries = 1, .again_ns = 1, .allowance = a};
	struct allowance_totals totals;
	struct pollfd p;

	assert_non_null(a);
	t->maker = unwind_maker_new(&config);
	assert_non_null(t->maker);
	assert_int_equal(unwind_maker_ask(t->maker, 1, t->fd), 0);
	unwind_maker_give_back(t->maker, await(t->maker));
	do {
		usleep(1000);
		allowance_read(a, &totals);
	} while (!totals.waits);
	assert_true(totals.thread_ns > 0 && totals.worker_ns > 0);
	assert_int_equal(unwind_maker_ask(t->maker, 2, t->fd), 0);
	p = (struct pollfd){.fd = unwind_maker_fd(t->maker), .events = POLLIN};
	assert_int_equal(poll(&p, 1, 200), 0);
	assert_null(unwind_maker_take(t->maker));
	/* Its end makes what was asked for all the same. */
	unwind_maker_free(t->maker, 60 * SECOND_NS);
	t->maker = NULL;
	allowance_free(a);
}

/* Whether anybody takes it or not: the next recording has it. */
static void keeps_what_it_makes(void **state)
{
	struct test *t = *state;
	siginfo_t child;

	for (int i = 0; i < 3; i++) {
		struct unwind_made *made;

		t->maker = new_maker(t, 30 * SECOND_NS);
		assert_int_equal(unwind_maker_ask(t->maker, 1, t->fd), 0);
		if (i == 0) {
			unwind_maker_free(t->maker, 60 * SECOND_NS);
			t->maker = NULL;
			continue;
		}
		made = await(t->maker);
		assert_true(made->u && made->is_kept);
		unwind_maker_give_back(t->maker, made);
		/* Without a worker, whose start takes longer than all else. */
		assert_int_equal(waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT), -1);
		assert_int_equal(count(t->maker).cache.read, 1);
		unwind_maker_free(t->maker, 60 * SECOND_NS);
		t->maker = NULL;
	}
}

/* Symbols of an interpreter whose version lies where a file has no bytes; and a file without, which
 * shows that either could be kept by then. */
static void keeps_no_guess_about_the_interpreter(void **state)
{
	static const char *const symbols[] = {"", "--add-symbol _PyRuntime=.bss:0,global,object "
						  "--add-symbol Py_Version=.bss:0,global,object"};
	struct test *t = *state;
	char command[512], path[96];
	int fd[2];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s.copy", t->cache);
		snprintf(command, sizeof(command), "objcopy %s /proc/%d/exe %s 2>/dev/null",
			 symbols[i], (int)getpid(), path);
		if (system(command))
			skip();
		snprintf(command, sizeof(command), "%s.%d", path, i);
		assert_int_equal(rename(path, command), 0);
		fd[i] = open(command, O_RDONLY | O_CLOEXEC);
		assert_true(fd[i] >= 0);
	}
	sleep(3); /* what has just changed is not kept */
	for (int round = 0; round < 2; round++) {
		t->maker = new_maker(t, 30 * SECOND_NS);
		for (int i = 0; i < 2; i++) {
			struct unwind_made *made;

			assert_int_equal(unwind_maker_ask(t->maker, 1, fd[i]), 0);
			made = await(t->maker);
			assert_true(made->u && !made->python.version);
			assert_true(made->is_kept == (round && i == 0));
			unwind_maker_give_back(t->maker, made);
		}
		unwind_maker_free(t->maker, 60 * SECOND_NS);
		t->maker = NULL;
	}
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s.copy.%d", t->cache, i);
		close(fd[i]);
		assert_int_equal(unlink(path), 0);
	}
}

static void gives_up_after_some_tries(void **state)
{
	struct test *t = *state;
	struct unwind_made *made;

	t->maker = new_maker(t, 1);
	assert_int_equal(unwind_maker_ask(t->maker, 1, t->fd), 0);
	made = await(t->maker);
	assert_null(made->u);
	assert_int_equal(count(t->maker).late, 3);
	unwind_maker_give_back(t->maker, made);
}

/* A child needs descriptors, of which there are none at first. */
static void tries_again(void **state)
{
	struct test *t = *state;
	struct rlimit before, few;
	struct unwind_made *made;
	int next;

	t->maker = new_maker(t, 30 * SECOND_NS);
	next = dup(t->fd);
	assert_true(next >= 0 && getrlimit(RLIMIT_NOFILE, &before) == 0);
	close(next);
	few = before;
	few.rlim_cur = (rlim_t)next + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(unwind_maker_ask(t->maker, 1, t->fd), 0);
	assert_int_equal(unwind_maker_ask(t->maker, 2, t->fd), -EMFILE);
	while (!count(t->maker).late)
		usleep(100);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	made = await(t->maker);
	assert_true(made->wish == 1);
	/* Unless this thread was stopped for all the tries. */
	assert_true(made->u || count(t->maker).late == 3);
	unwind_maker_give_back(t->maker, made);
}

/* What is wanted no more is not made: only what had begun by then. */
static void forgets(void **state)
{
	struct test *t = *state;
	struct unwind_made *made;
	unsigned before = 0;
	uint64_t wish;

	t->maker = new_maker(t, 30 * SECOND_NS);
	for (unsigned i = 0; i < 300; i++)
		assert_int_equal(unwind_maker_ask(t->maker, i, t->fd), 0);
	unwind_maker_forget(t->maker);
	assert_int_equal(unwind_maker_ask(t->maker, 1000, t->fd), 0);
	do {
		made = await(t->maker);
		wish = made->wish;
		before += wish != 1000;
		unwind_maker_give_back(t->maker, made);
	} while (wish != 1000);
	assert_true(before < 290);
}

/* However much it has to do. */
static void ends_at_once(void **state)
{
	struct test *t = *state;
	uint64_t begin_ns;

	t->maker = new_maker(t, 30 * SECOND_NS);
	for (unsigned i = 0; i < 300; i++)
		assert_int_equal(unwind_maker_ask(t->maker, i, t->fd), 0);
	begin_ns = clock_monotonic_ns();
	unwind_maker_free(t->maker, 0);
	t->maker = NULL;
	print_message("ended after %llu ms\n",
		      (unsigned long long)((clock_monotonic_ns() - begin_ns) / 1000000));
	unwind_maker_free(NULL, 0);
}

int main(int argc, char **argv)
{
	image_worker_dispatch(argc, argv);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(answers_each_wish, set_up, tear_down),
		cmocka_unit_test_setup_teardown(keeps_to_its_allowance, set_up, tear_down),
		cmocka_unit_test_setup_teardown(keeps_what_it_makes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(keeps_no_guess_about_the_interpreter, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(gives_up_after_some_tries, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tries_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(forgets, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ends_at_once, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

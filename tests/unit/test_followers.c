/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A follower of samples that is made up: it is driven as the real ones are, by a session that does
 * not know it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <unistd.h>

#include "collect/follow/followers.h"
#include "collect/session.h"
#include "image/worker/worker.h"

/* Of all sessions, whoever follows. */
static const struct counter_list *const lists[] = {
	&counters_of_session,	 &counters_of_sampler,	 &counters_of_resolver,
	&counters_of_sideband,	 &counters_of_processes, &counters_of_files,
	&counters_of_kernel,	 &counters_of_keeper,	 &counters_of_finder,
	&counters_of_kept_cache,
};

#define WAITS_MOST 3000
#define SPENT_NS   1000000000u /* more than anything else here takes of a CPU */

/* What it is asked to be, and what was asked of it. */
struct made_up {
	int refusal; /* of open */
	double share, hz;
	uint64_t next_ns, oldest_ns, again_ns;
	int fd; /* -1: none */
	int begin_result;
	unsigned opened, started, drained, woken, flushed, begun, finished, closed;
	double factor, pace_hz;
	uint64_t spent_ns;
};

static int made_open(const struct follower_config *config, void **ret, struct diag *diag)
{
	struct made_up *m = (struct made_up *)(uintptr_t)config->options;

	if (m->refusal)
		return diag_fail(diag, m->refusal, "it is made up");
	m->opened++;
	*ret = m;
	return 0;
}

static void made_close(void *self)
{
	struct made_up *m = self;

	m->closed++;
}

static struct follower_plan made_plan(const void *self)
{
	const struct made_up *m = self;

	return (struct follower_plan){.share = m->share, .hz = m->hz, .each_ns = m->hz ? 1000 : 0};
}

static int made_start(void *self, const struct follower_start *start)
{
	struct made_up *m = self;

	m->started++;
	m->pace_hz = start->hz;
	return 0;
}

static void made_set_pace(void *self, double factor, double hz)
{
	struct made_up *m = self;

	m->factor = factor;
	m->pace_hz = hz;
}

static void made_drain(void *self, uint64_t now_ns)
{
	struct made_up *m = self;

	m->drained++;
	m->spent_ns = SPENT_NS;
	if (m->next_ns <= now_ns)
		m->next_ns = UINT64_MAX;
}

static uint64_t made_next_ns(const void *self)
{
	const struct made_up *m = self;

	return m->next_ns;
}

/* It has a name in the status and one in the database. */
static void made_each_counter(const void *self, const struct counter_taker *to)
{
	static const struct counter made = {.status = "made_up", .stored = "made.up"};

	(void)self;
	to->take(to->arg, &made, 7);
}

static void made_flush(void *self)
{
	struct made_up *m = self;

	m->flushed++;
}

static int made_begin_batch(void *self)
{
	struct made_up *m = self;

	m->begun++;
	return m->begin_result;
}

static uint64_t made_spent_ns(const void *self)
{
	const struct made_up *m = self;

	return m->spent_ns;
}

static uint64_t made_poll(const void *self, uint64_t now_ns, int *fds)
{
	const struct made_up *m = self;

	(void)now_ns;
	fds[1] = m->fd;
	return m->again_ns;
}

static void made_wake(void *self, const int *readable)
{
	struct made_up *m = self;
	char byte;

	assert_false(readable[0]);
	assert_true(readable[1]);
	if (m->fd >= 0)
		assert_int_equal(read(m->fd, &byte, 1), 1);
	m->woken++;
}

static uint64_t made_oldest_ns(const void *self)
{
	const struct made_up *m = self;

	return m->oldest_ns;
}

static void made_finish(void *self)
{
	struct made_up *m = self;

	m->finished++;
}

static const struct follower_ops made_up = {
	.part = BUDGET_WINDOWS,
	.open = made_open,
	.close = made_close,
	.plan = made_plan,
	.start = made_start,
	.set_pace = made_set_pace,
	.drain = made_drain,
	.next_ns = made_next_ns,
	.each_counter = made_each_counter,
	.flush = made_flush,
	.begin_batch = made_begin_batch,
	.spent_ns = made_spent_ns,
	.poll = made_poll,
	.wake = made_wake,
	.oldest_ns = made_oldest_ns,
	.finish = made_finish,
};

/* Does no more than it must. */
static const struct follower_ops plain = {
	.part = BUDGET_STACKS,
	.open = made_open,
	.close = made_close,
	.plan = made_plan,
	.start = made_start,
	.set_pace = made_set_pace,
	.drain = made_drain,
	.next_ns = made_next_ns,
	.each_counter = made_each_counter,
	.flush = made_flush,
	.begin_batch = made_begin_batch,
	.spent_ns = made_spent_ns,
};

/* A third of one kind, one that does the least, and between them one that cannot be opened. */
struct three {
	struct made_up all, none, least;
	struct followers list;
};

static int setup(void **state)
{
	static const struct follower_ops refused = {.open = made_open};
	struct follower_config config = {.budget_percent = 1};
	struct three *t = calloc(1, sizeof(*t));
	const struct follower_wish wishes[] = {
		{.ops = &refused, .options = &t->none},
		{.ops = &made_up, .options = &t->all, .needed = true},
		{.ops = &plain, .options = &t->least},
	};
	struct diag diag;

	t->none.refusal = EPERM;
	t->all = (struct made_up){.share = 0.25, .next_ns = 30, .oldest_ns = 5, .again_ns = 17};
	t->all.fd = -1;
	t->least = (struct made_up){.hz = 50, .next_ns = 20, .fd = -1};
	assert_int_equal(followers_open(&t->list, wishes, 3, &config, &diag), 0);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct three *t = *state;

	followers_close(&t->list);
	assert_int_equal(t->none.closed, 0);
	assert_int_equal(t->all.closed, 1);
	assert_int_equal(t->least.closed, 1);
	free(t);
	return 0;
}

static void those_that_open_are_found(void **state)
{
	struct three *t = *state;
	const struct follower_ops *refused = t->list.list[2].wish.ops, other = {0};
	const char *why;

	assert_int_equal(t->list.count, 2);
	assert_ptr_equal(followers_find(&t->list, &made_up, &why), &t->all);
	assert_string_equal(why, "");
	assert_ptr_equal(followers_find(&t->list, &plain, NULL), &t->least);
	assert_null(followers_find(&t->list, refused, &why));
	assert_string_equal(why, "it is made up");
	assert_null(followers_find(&t->list, &other, &why));
	assert_string_equal(why, "");
}

static void one_that_is_needed_must_open(void **state)
{
	struct made_up yes = {.fd = -1}, no = {.refusal = ENOSYS};
	struct follower_wish wishes[FOLLOWERS_MAX + 1] = {
		{.ops = &made_up, .options = &no, .needed = true},
		{.ops = &made_up, .options = &yes},
	};
	struct follower_config config = {0};
	struct followers list;
	struct diag diag;

	(void)state;
	assert_int_equal(followers_open(&list, wishes, 2, &config, &diag), -ENOSYS);
	assert_string_equal(diag.text, "it is made up");
	followers_close(&list);
	assert_int_equal(yes.closed, 1);
	assert_int_equal(followers_open(&list, wishes, FOLLOWERS_MAX + 1, &config, &diag), -E2BIG);
	followers_close(&list);
}

static void all_are_driven(void **state)
{
	double spent[BUDGET_PARTS] = {[BUDGET_STACKS] = 1};
	struct three *t = *state;
	struct follower_plan plan = followers_plan(&t->list);

	assert_true(plan.share == 0.25 && plan.hz == 50 && plan.each_ns == 1000);
	assert_int_equal(followers_start(&t->list, &(struct follower_start){.hz = 9}), 0);
	assert_true(t->all.started == 1 && t->least.started == 1 && t->least.pace_hz == 9);
	assert_int_equal(followers_next_ns(&t->list), 20);
	followers_drain_due(&t->list, 25);
	assert_true(t->all.drained == 0 && t->least.drained == 1);
	assert_int_equal(followers_next_ns(&t->list), 30);
	followers_drain(&t->list, 26);
	assert_true(t->all.drained == 1 && t->least.drained == 2);
	followers_set_pace(&t->list, 0.5, 8);
	assert_true(t->all.factor == 0.5 && t->least.factor == 0.5 && t->all.pace_hz == 8);
	followers_charge(&t->list, spent);
	assert_true(spent[BUDGET_WINDOWS] == SPENT_NS && spent[BUDGET_STACKS] == 1.0 + SPENT_NS);
	followers_flush(&t->list);
	assert_true(t->all.flushed == 1 && t->least.flushed == 1);
	t->all.begin_result = -ENOMEM; /* and yet the others learn of it */
	assert_int_equal(followers_begin_batch(&t->list), -ENOMEM);
	assert_int_equal(t->least.begun, 1);
	assert_int_equal(followers_oldest_ns(&t->list), 5);
	followers_finish(&t->list);
	assert_int_equal(t->all.finished, 1);
}

static void descriptors_wake_their_own(void **state)
{
	struct pollfd fds[FOLLOWERS_FDS];
	struct three *t = *state;
	size_t other = 0;

	t->all.fd = 1234;
	assert_int_equal(followers_poll(&t->list, 0, fds), 17);
	for (size_t i = 0; i < FOLLOWERS_FDS; i++)
		other += fds[i].fd != 1234 && fds[i].fd != -1;
	assert_int_equal(other, 0);
	t->all.fd = -1;
	for (size_t i = 0; i < FOLLOWERS_FDS; i++)
		fds[i].revents = 0;
	followers_wake(&t->list, fds);
	assert_int_equal(t->all.woken, 0);
	for (size_t i = 0; i < FOLLOWERS_FDS; i++)
		fds[i].revents = fds[i].fd == 1234 ? POLLIN : 0;
	followers_wake(&t->list, fds);
	assert_int_equal(t->all.woken, 1);
}

static bool is_refusal(int r)
{
	return r == -EPERM || r == -EACCES || r == -EOPNOTSUPP;
}

/* How often each counter of the lists and of what is made up was told. */
struct told {
	unsigned made_up;
	unsigned lists[sizeof(lists) / sizeof(lists[0])][64];
};

static void count_told(void *arg, const struct counter *c, uint64_t value)
{
	struct told *t = arg;

	if (c->stored && !strcmp(c->stored, "made.up")) {
		assert_string_equal(c->status, "made_up");
		assert_int_equal(value, 7);
		t->made_up++;
		return;
	}
	for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); l++)
		for (size_t i = 0; i < lists[l]->count; i++)
			t->lists[l][i] += &lists[l]->counters[i] == c;
}

/* Each counter that a module lists is told once, and those of followers. */
static void check_counters(const struct session *s)
{
	struct told t = {0};

	session_each_counter(s, &(struct counter_taker){count_told, &t});
	assert_int_equal(t.made_up, 1);
	for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); l++)
		for (size_t i = 0; i < lists[l]->count; i++)
			assert_int_equal(t.lists[l][i], 1);
}

/* Works until it was woken and drained. */
static void run_session(struct session *s, struct made_up *m)
{
	struct session_status status;
	struct diag diag;

	assert_int_equal(session_start(s, &diag), 0);
	for (int waits = 0; waits < WAITS_MOST && (!m->woken || m->drained < 3); waits++)
		assert_int_equal(session_wait(s, NULL, 0, 10), 0);
	assert_true(m->woken && m->drained >= 3);
	assert_int_equal(session_flush(s, &diag), 0);
	session_read_status(s, &status);
	assert_true(status.budget.percent[made_up.part] > 0);
	check_counters(s);
	assert_int_equal(session_finish(s, &diag), 0);
}

/* Needs the rights to sample; skipped without. */
static void a_session_drives_what_it_does_not_know(void **state)
{
	char dir[] = "/tmp/culprit-followers-XXXXXX", command[64];
	struct made_up m = {.next_ns = 0, .again_ns = UINT64_MAX, .oldest_ns = UINT64_MAX};
	struct session_config config = {.db_path = dir,
					.event_count = 1,
					.rate_hz = 100,
					.budget_percent = 1,
					.follower_count = 1};
	struct session *s = NULL;
	struct event clock = {0};
	struct diag diag;
	int pipe_fds[2], r;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(write(pipe_fds[1], "x", 1), 1);
	m.fd = pipe_fds[0];
	config.followers[0] = (struct follower_wish){&made_up, &m, true};
	config.events = &clock;
	r = event_parse("cpu-clock", &clock, &diag);
	r = r ?: session_new(&config, &s, &diag);
	if (!r) {
		assert_ptr_equal(session_follower(s, &made_up, NULL), &m);
		run_session(s, &m);
		assert_int_equal(m.closed, 0);
		session_free(s);
	}
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	event_free(&clock);
	if (is_refusal(r)) {
		print_message("skipped: %s\n", diag.text);
		skip();
	}
	assert_int_equal(r, 0);
	assert_true(m.opened == 1 && m.started == 1 && m.finished == 1 && m.closed == 1);
	assert_true(m.pace_hz == 100 && m.flushed >= 2 && m.begun >= 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(those_that_open_are_found, setup, teardown),
		cmocka_unit_test(one_that_is_needed_must_open),
		cmocka_unit_test_setup_teardown(all_are_driven, setup, teardown),
		cmocka_unit_test_setup_teardown(descriptors_wake_their_own, setup, teardown),
		cmocka_unit_test(a_session_drives_what_it_does_not_know),
	};

	image_worker_dispatch(argc, argv);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

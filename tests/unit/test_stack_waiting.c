/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Snapshots that wait: each comes back whole, once its table is there or when it must. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "collect/stacks/stack_waiting.h"

#define SLOTS 8

struct test {
	struct stack_waiting *w;
	struct wire_snapshot snapshot;
	bool pending[SLOTS];
	uint32_t next[SLOTS]; /* the slot that one waits for after this one */
	uint64_t ended[16], tried;
	unsigned ended_count, forced;
};

/* A snapshot whose every part follows from its number. */
static const struct wire_snapshot *fill(struct test *t, uint64_t number)
{
	struct wire_snapshot *s = &t->snapshot;

	memset(s, 0, sizeof(*s));
	s->state.pc = number;
	s->bytes = (uint32_t)(number % 3) * WIRE_SNAPSHOT_PAGE;
	memset(s->page, (int)number, s->bytes);
	s->stack.time_ns = number;
	s->stack.followed = (uint32_t)number;
	s->stack.frame[WIRE_STACK_PLACE(number - 1)] = ~number;
	return s;
}

static uint32_t slot_of(const struct wire_snapshot *s)
{
	return (uint32_t)s->stack.time_ns % SLOTS;
}

static uint32_t go_on(void *arg, const struct wire_snapshot *s, bool must_end)
{
	struct test *t = arg;
	uint64_t number = s->state.pc;
	uint32_t slot = t->next[slot_of(s)];

	assert_int_equal(s->stack.time_ns, number);
	assert_int_equal(s->stack.followed, number);
	assert_true(s->stack.frame[WIRE_STACK_PLACE(number - 1)] == ~number);
	assert_int_equal(s->bytes, number % 3 * WIRE_SNAPSHOT_PAGE);
	for (uint32_t i = 0; i < s->bytes; i++)
		assert_int_equal(s->page[i / WIRE_SNAPSHOT_PAGE][i % WIRE_SNAPSHOT_PAGE],
				 (uint8_t)number);
	t->tried++;
	if (slot && !must_end)
		return slot;
	t->forced += must_end;
	t->ended[t->ended_count++ % 16] = number;
	return slot;
}

static bool is_pending(void *arg, uint32_t slot)
{
	struct test *t = arg;

	return t->pending[slot];
}

static void add(struct test *t, uint64_t number, uint32_t slot)
{
	t->pending[slot] = true;
	assert_int_equal(stack_waiting_add(t->w, fill(t, number), slot), 0);
}

static int set_up(void **state)
{
	struct test *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->w = stack_waiting_new(64 << 10, go_on, is_pending, t);
	assert_non_null(t->w);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct test *t = *state;

	stack_waiting_free(t->w);
	free(t);
	return 0;
}

static void waits_for_its_table(void **state)
{
	struct test *t = *state;

	assert_true(stack_waiting_oldest_ns(t->w) == UINT64_MAX);
	add(t, 9, 1);
	add(t, 2, 2);
	add(t, 11, 3);
	stack_waiting_retry(t->w);
	assert_int_equal(t->tried, 0);
	assert_int_equal(stack_waiting_oldest_ns(t->w), 2);
	t->pending[2] = false;
	stack_waiting_retry(t->w);
	assert_int_equal(t->ended_count, 1);
	assert_int_equal(t->ended[0], 2);
	/* Then for another. */
	t->pending[1] = false;
	t->pending[4] = true;
	t->next[9 % SLOTS] = 4;
	stack_waiting_retry(t->w);
	stack_waiting_retry(t->w);
	assert_int_equal(t->tried, 2);
	assert_int_equal(t->ended_count, 1);
	assert_int_equal(stack_waiting_count(t->w), 2);
	stack_waiting_end(t->w);
	assert_int_equal(t->ended_count, 3);
	assert_int_equal(t->forced, 2);
	assert_int_equal(stack_waiting_count(t->w), 0);
}

static void the_first_make_room(void **state)
{
	struct test *t = *state;

	for (uint64_t number = 1; number <= 12; number++)
		add(t, 3 * number + 2, 1);
	/* 8 KiB of stack each, and about 1 of frames: some 6 have room in 64 KiB. */
	assert_true(t->ended_count >= 4 && t->ended_count <= 7);
	assert_int_equal(t->forced, t->ended_count);
	assert_int_equal(t->ended[0], 5);
	assert_int_equal(t->ended[1], 8);
	assert_int_equal(stack_waiting_count(t->w), 12 - t->ended_count);
}

/* Two that take each other's tables away do not go on so for ever. */
static void ends_after_many_tries(void **state)
{
	struct test *t = *state;

	add(t, 9, 1);
	t->pending[1] = false;
	t->next[9 % SLOTS] = 1;
	for (unsigned i = 0; i < 1000; i++)
		stack_waiting_retry(t->w);
	assert_int_equal(t->ended_count, 1);
	assert_int_equal(stack_waiting_count(t->w), 0);
}

/* While one waits, what its process was when it was taken is kept of all processes. */
static void none_waits_for_ever(void **state)
{
	struct test *t = *state;

	for (uint64_t number = 1; number <= 4; number++)
		add(t, number, 1 + number % 2);
	stack_waiting_end_before(t->w, 3);
	assert_int_equal(t->forced, 2);
	assert_true(t->ended[0] == 1 && t->ended[1] == 2);
	assert_int_equal(stack_waiting_oldest_ns(t->w), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(none_waits_for_ever, set_up, tear_down),
		cmocka_unit_test_setup_teardown(waits_for_its_table, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_first_make_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ends_after_many_tries, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

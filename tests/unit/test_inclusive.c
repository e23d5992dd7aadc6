/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include "analyze/calls/inclusive.h"
#include "profile_feed.h"
#include "stack_feed.h"

static const struct feed_profile app = {IMAGE_BUILD_ID, 1, "/bin/app", "cycles", 1000, "app"};
static const struct feed_profile misses = {IMAGE_BUILD_ID, 1, "/bin/app", "misses", 1000, "app"};

struct made {
	struct query *query;
	struct stack_set *set;
	struct rank *rank;
};

static const struct query_selection everything = {0};

static void begin(struct made *m, const struct query_selection *selection)
{
	*m = (struct made){0};
	assert_int_equal(query_new(selection, QUERY_WHOLE, &m->query, NULL), 0);
	assert_int_equal(stack_set_new(m->query, &m->set, NULL), 0);
}

/* A stack, and `samples` samples where it ends. */
static void add_event(struct made *m, const struct feed_profile *p, uint64_t stacks,
		      uint64_t samples, uint32_t n, const uint64_t *frames)
{
	struct feed_stack f = {p->event, p->comm, frames, n, stacks};

	assert_int_equal(feed_stack(m->query, &f), 0);
	if (samples)
		assert_int_equal(feed(m->query, p, frames[n - 1], samples), 0);
}

#define ADD(m, profile, stacks, samples, ...)  \
	add_event(m, profile, stacks, samples, \
		  sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (uint64_t[]){__VA_ARGS__})

static void build(struct made *m, const struct rank_options *options)
{
	struct rank_source source = {feed_symbols, feed_lines, NULL, NULL};
	struct stack_options wanted = {
		.inlines = options->by == RANK_FILE || options->by == RANK_LINE,
		.idle = options->idle,
	};

	assert_int_equal(query_finish(m->query, NULL), 0);
	assert_int_equal(rank_new(m->query, options, &source, &m->rank, NULL), 0);
	assert_int_equal(stack_set_finish(m->set, &wanted, &source, NULL), 0);
	assert_int_equal(inclusive_add(m->rank, options, m->set, NULL), 0);
}

static void end(struct made *m)
{
	rank_free(m->rank);
	stack_set_free(m->set);
	query_free(m->query);
}

static const struct rank_row *find(const struct made *m, const char *function, uint32_t line)
{
	const struct rank_row *found = NULL;

	for (size_t i = 0; i < m->rank->row_count; i++) {
		const struct rank_row *row = &m->rank->rows[i];

		if ((line && row->line != line) ||
		    (function && strcmp(row->function, function) != 0))
			continue;
		assert_null(found);
		found = row;
	}
	return found;
}

static void expect(const struct made *m, const char *function, uint32_t line, size_t event,
		   uint64_t self, uint64_t total)
{
	const struct rank_row *row = find(m, function, line);

	assert_non_null(row);
	assert_int_equal(row->counts[event], self);
	assert_int_equal(row->inclusive[event], total);
	if (row->own) /* nothing is interpreted */
		assert_int_equal(row->own[event], self);
}

/* Callers without samples get rows; recursion counts once; each event by its own stacks. */
static void by_function(void **state)
{
	struct rank_options by = {.by = RANK_FUNCTION};
	struct made m;

	(void)state;
	begin(&m, &everything);
	ADD(&m, &app, 4, 40, 0x110, 0x210, 0x310);
	ADD(&m, &app, 3, 30, 0x110, 0x210, 0x210, 0x310, 0x220);
	ADD(&m, &app, 2, 20, 0x110, 0x310);
	ADD(&m, &app, 1, 10, FEED_NOTE, 0x210);
	ADD(&m, &misses, 2, 3, 0x110, 0x310);
	build(&m, &by);
	assert_int_equal(m.rank->row_count, 3);
	expect(&m, "a", 0, 0, 0, 90);
	expect(&m, "b", 0, 0, 40, 80);
	expect(&m, "c", 0, 0, 60, 90);
	expect(&m, "a", 0, 1, 0, 3);
	expect(&m, "c", 0, 1, 3, 3);
	end(&m);
}

/* What a row has itself is as it was counted, whatever chance did to the stacks, and nothing has
 * more than there is. */
static void bounds(void **state)
{
	struct rank_options by = {.by = RANK_FUNCTION};
	struct made m;

	(void)state;
	begin(&m, &everything);
	ADD(&m, &app, 9, 30, 0x110, 0x310);
	ADD(&m, &app, 1, 70, 0x110);
	assert_int_equal(feed(m.query, &app, 0x410, 20), 0);
	build(&m, &by);
	expect(&m, "a", 0, 0, 70, 118);
	expect(&m, "c", 0, 0, 30, 30);
	expect(&m, "d", 0, 0, 20, 20);
	end(&m);
}

/* The selection picks rows, and stacks by their subject alone. */
static void selection(void **state)
{
	static const char *const subjects[] = {"comm=app"};
	struct query_selection mine = {.subjects = subjects, .subject_count = 1}, none = {0};
	struct rank_options by = {.by = RANK_FUNCTION, .function = "^[bc]$"};
	struct feed_profile other = app;
	struct made m;

	(void)state;
	other.comm = "other";
	begin(&m, &mine);
	ADD(&m, &app, 5, 50, 0x110, 0x210, 0x310);
	ADD(&m, &other, 5, 50, 0x210, 0x310);
	build(&m, &by);
	assert_int_equal(m.rank->row_count, 2);
	expect(&m, "b", 0, 0, 0, 50);
	expect(&m, "c", 0, 0, 50, 50);
	end(&m);

	none.image = "lib*";
	by.function = NULL;
	begin(&m, &none);
	ADD(&m, &app, 5, 50, 0x110, 0x210);
	build(&m, &by);
	assert_int_equal(m.rank->row_count, 0);
	end(&m);
}

/* Idle stacks are no part of the whole, unless they are asked for. */
static void idle(void **state)
{
	static const struct feed_profile kernel = {IMAGE_KERNEL, 3,    "[kernel]",
						   "cycles",	 1000, "app"};
	struct rank_options by = {.by = RANK_FUNCTION};
	struct made m;

	(void)state;
	for (int with = 0; with < 2; with++) {
		begin(&m, &everything);
		ADD(&m, &app, 2, 20, 0x110, 0x210);
		ADD(&m, &app, 8, 0, FEED_IDLE);
		assert_int_equal(feed(m.query, &kernel, 0x10, 80), 0);
		by.idle = with;
		build(&m, &by);
		expect(&m, "a", 0, 0, 0, 20);
		assert_int_equal(find(&m, "default_idle", 0) != NULL, with);
		if (with)
			expect(&m, "default_idle", 0, 0, 80, 80);
		end(&m);
	}
}

/* A line that is on a stack twice, and an inlined one. */
static void by_place(void **state)
{
	struct rank_options by = {.by = RANK_LINE};
	struct made m;

	(void)state;
	begin(&m, &everything);
	ADD(&m, &app, 4, 40, 0x110, 0x210, 0x110, 0x281);
	ADD(&m, &app, 1, 10, 0x110);
	build(&m, &by);
	assert_int_equal(m.rank->row_count, 3);
	expect(&m, NULL, 0x110, 0, 10, 50);
	expect(&m, NULL, 0x210, 0, 0, 40);
	expect(&m, NULL, 0x281, 0, 40, 40);
	end(&m);

	by.by = RANK_IMAGE;
	begin(&m, &everything);
	ADD(&m, &app, 1, 10, FEED_NOTE, 0x110, 0x210);
	build(&m, &by);
	assert_int_equal(m.rank->row_count, 1);
	assert_string_equal(m.rank->rows[0].image->path, "/bin/app");
	assert_int_equal(m.rank->rows[0].inclusive[0], 10);
	end(&m);
}

#define STACKS 300
#define DEPTH  14

/* Against counting stack by stack: each stack stands for ten samples. */
static void at_random(void **state)
{
	static uint64_t frames[STACKS][DEPTH];
	struct rank_options by = {.by = RANK_FUNCTION};
	uint64_t self[26] = {0}, total[26] = {0};
	uint32_t depth[STACKS];
	struct made m;

	(void)state;
	srandom(7);
	begin(&m, &everything);
	for (int i = 0; i < STACKS; i++) {
		bool on[26] = {false};

		depth[i] = 1 + (uint32_t)random() % DEPTH;
		for (uint32_t k = 0; k < depth[i]; k++) {
			uint64_t f = (uint64_t)random() % 9;

			frames[i][k] = 0x100 * (f + 1) + (uint64_t)random() % 3;
			total[f] += on[f] ? 0 : 10;
			on[f] = true;
		}
		self[frames[i][depth[i] - 1] / 0x100 - 1] += 10;
		add_event(&m, &app, 1, 10, depth[i], frames[i]);
	}
	build(&m, &by);
	assert_int_equal(m.rank->row_count, 9);
	for (int f = 0; f < 9; f++)
		expect(&m, (char[]){(char)('a' + f), 0}, 0, 0, self[f], total[f]);
	end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_function), cmocka_unit_test(bounds),
		cmocka_unit_test(selection),   cmocka_unit_test(idle),
		cmocka_unit_test(by_place),    cmocka_unit_test(at_random),
	};
	int failed;

	feed_start();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	feed_stop();
	return failed;
}

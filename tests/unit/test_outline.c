/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Trees as lines that are opened and closed: which are shown, at what depth, and what is selected.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "render/outline.h"

/*
 *	1 - 3 - 5
 *	      - 6
 *	  - 4
 *	2
 */
static const struct outline_node nodes[] = {
	{0, 0, 2}, {0, 2, 2}, {0, 6, 0}, {1, 4, 2}, {1, 6, 0}, {3, 6, 0}, {3, 6, 0},
};
static uint32_t children[] = {1, 2, 3, 4, 5, 6};

static void check_lines(const struct outline *o, size_t count, const uint32_t *wanted)
{
	assert_int_equal(o->line_count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(o->lines[i].node, wanted[i]);
}

#define CHECK_LINES(o, ...)                                                        \
	check_lines(o, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), \
		    (const uint32_t[]){__VA_ARGS__})

static void begin(struct outline *o)
{
	assert_int_equal(outline_init(o, nodes, children, 7), 0);
	CHECK_LINES(o, 1, 2);
}

static void what_is_opened_is_shown(void **state)
{
	struct outline o;

	(void)state;
	begin(&o);
	assert_int_equal(outline_set_open(&o, true), 0);
	CHECK_LINES(&o, 1, 3, 4, 2);
	assert_int_equal(o.lines[1].depth, 1);
	outline_move(&o, true, 1);
	assert_int_equal(outline_set_open(&o, true), 0);
	CHECK_LINES(&o, 1, 3, 5, 6, 4, 2);
	assert_int_equal(o.lines[3].depth, 2);
	outline_select_parent(&o);
	assert_int_equal(outline_node_at(&o), 1);
	assert_int_equal(outline_set_open(&o, false), 0);
	CHECK_LINES(&o, 1, 2);
	outline_free(&o);
}

static void moving_ends_at_the_ends(void **state)
{
	struct outline o, empty;
	const struct outline_node root = {0, 0, 0};

	(void)state;
	begin(&o);
	outline_move(&o, true, 100);
	assert_int_equal(outline_node_at(&o), 2);
	outline_move(&o, false, 100);
	assert_int_equal(outline_node_at(&o), 1);
	outline_free(&o);
	assert_int_equal(outline_init(&empty, &root, NULL, 1), 0);
	outline_move(&empty, true, 3);
	assert_int_equal(outline_node_at(&empty), 0);
	assert_int_equal(outline_flatten(&empty, true), 0);
	assert_int_equal(empty.flat, 0);
	outline_free(&empty);
}

static void levels_are_taken_away_and_come_back(void **state)
{
	struct outline o;

	(void)state;
	begin(&o);
	assert_int_equal(outline_flatten(&o, true), 0);
	CHECK_LINES(&o, 3, 4, 2); /* 2 has nothing inside: it stays */
	assert_int_equal(o.lines[0].depth, 0);
	assert_int_equal(outline_flatten(&o, true), 0);
	CHECK_LINES(&o, 5, 6, 4, 2);
	assert_int_equal(outline_flatten(&o, true), 0);
	assert_int_equal(o.flat, 2); /* there is nothing further in */
	assert_int_equal(outline_reveal(&o, 1), 0);
	assert_int_equal(o.flat, 0);
	CHECK_LINES(&o, 1, 2);
	assert_int_equal(outline_flatten(&o, false), 0);
	assert_int_equal(o.flat, 0);
	outline_free(&o);
}

static bool is_wanted(void *arg, uint32_t node)
{
	return *(uint32_t *)arg & 1u << node;
}

static void what_is_found_is_opened(void **state)
{
	uint32_t wanted = 1u << 6 | 1u << 2, none = 0, node;
	struct outline o;

	(void)state;
	begin(&o);
	assert_int_equal(outline_find(&o, is_wanted, &wanted, &node), 0);
	assert_int_equal(node, 6);
	assert_int_equal(outline_reveal(&o, node), 0);
	CHECK_LINES(&o, 1, 3, 5, 6, 4, 2);
	assert_int_equal(outline_node_at(&o), 6);
	assert_int_equal(outline_find(&o, is_wanted, &wanted, &node), 0);
	assert_int_equal(node, 2);
	assert_int_equal(outline_reveal(&o, node), 0);
	assert_int_equal(outline_find(&o, is_wanted, &wanted, &node), 0);
	assert_int_equal(node, 6); /* from the top again */
	assert_int_equal(outline_find(&o, is_wanted, &none, &node), 0);
	assert_int_equal(node, 0);
	outline_free(&o);
}

/* Another order of the same tree: what is selected stays so, or what is around it. */
static void the_selection_stays(void **state)
{
	struct outline o;

	(void)state;
	begin(&o);
	assert_int_equal(outline_reveal(&o, 5), 0);
	children[0] = 2, children[1] = 1;
	assert_int_equal(outline_update(&o), 0);
	CHECK_LINES(&o, 2, 1, 3, 5, 6, 4);
	assert_int_equal(outline_node_at(&o), 5);
	assert_int_equal(outline_close_all(&o), 0);
	CHECK_LINES(&o, 2, 1);
	assert_int_equal(outline_node_at(&o), 1);
	children[0] = 1, children[1] = 2;
	outline_free(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_opened_is_shown),
		cmocka_unit_test(moving_ends_at_the_ends),
		cmocka_unit_test(levels_are_taken_away_and_come_back),
		cmocka_unit_test(what_is_found_is_opened),
		cmocka_unit_test(the_selection_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

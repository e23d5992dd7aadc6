/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include "cfg/graph.h"
#include "random_graph.h"

static void wrong_graphs_are_refused(void **state)
{
	uint32_t from[] = {0, 1}, to[] = {1, 2};
	struct cfg_graph *g = NULL;

	(void)state;
	assert_int_equal(cfg_graph_new(2, 0, 1, from, to, 2, &g), -EINVAL);
	assert_int_equal(cfg_graph_new(3, 0, 3, from, to, 2, &g), -EINVAL);
	assert_int_equal(cfg_graph_new(3, 0, 0, from, to, 2, &g), -EINVAL);
	assert_int_equal(cfg_graph_new(0, 0, 0, NULL, NULL, 0, &g), -EINVAL);
	assert_int_equal(cfg_graph_new(CFG_GRAPH_MAX, 0, 1, from, to, 2, &g), -EINVAL);
	assert_null(g);
	assert_int_equal(cfg_graph_new(2, 0, 1, NULL, NULL, 0, &g), 0);
	cfg_graph_free(g);
	cfg_graph_free(NULL);
}

/* Every node both reaches and is reached in a closed graph, and only lacking edges are added. */
static void closures_connect_all(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 2000; seed++) {
		struct cfg_graph *g = random_graph(seed, 30), *closed = NULL;
		bool reached[RANDOM_NODES_MAX];
		struct cfg_closure *c = NULL;
		struct edge_list l = {.count = 0};

		assert_int_equal(cfg_closure_new(g, &c), 0);
		assert_int_equal(c->from[0], g->exit);
		assert_int_equal(c->to[0], g->entry);
		for (uint32_t e = 0; e < g->edge_count; e++)
			add_edge(&l, g->from[e], g->to[e]);
		for (uint32_t i = 0; i < c->count; i++) {
			assert_true(c->from[i] != c->to[i]);
			assert_true(c->from[i] == g->exit || c->to[i] == g->exit);
			add_edge(&l, c->from[i], c->to[i]);
		}
		assert_int_equal(cfg_graph_new(g->node_count, g->entry, g->exit, l.from, l.to,
					       l.count, &closed),
				 0);
		for (int backward = 0; backward < 2; backward++) {
			random_graph_reach(closed, backward, CFG_NODE_NONE, reached);
			for (uint32_t n = 0; n < g->node_count; n++)
				assert_true(reached[n]);
		}
		cfg_closure_free(c);
		cfg_graph_free(closed);
		cfg_graph_free(g);
	}
	cfg_closure_free(NULL);
}

/* An infinite loop is left by the edge that closes it, not by its header. */
static void infinite_loops_are_left_at_their_end(void **state)
{
	uint32_t from[] = {0, 1, 2, 3}, to[] = {1, 2, 3, 1};
	struct cfg_closure *c = NULL;
	struct cfg_graph *g = NULL;

	(void)state;
	assert_int_equal(cfg_graph_new(5, 0, 4, from, to, 4, &g), 0);
	assert_int_equal(cfg_closure_new(g, &c), 0);
	assert_int_equal(c->count, 2);
	assert_int_equal(c->from[1], 3);
	assert_int_equal(c->to[1], 4);
	cfg_closure_free(c);
	cfg_graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_graphs_are_refused),
		cmocka_unit_test(closures_connect_all),
		cmocka_unit_test(infinite_loops_are_left_at_their_end),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include "cfg/dominators.h"
#include "random_graph.h"

#define NODES_MAX 64

/* Which nodes the root reaches when one node is taken away. */
static void reach(const struct cfg_graph *g, enum cfg_direction direction, uint32_t root,
		  uint32_t without, bool reached[NODES_MAX])
{
	bool again = root != without;

	memset(reached, 0, NODES_MAX);
	reached[root] = again;
	while (again) {
		again = false;
		for (uint32_t e = 0; e < g->edge_count; e++) {
			uint32_t from = direction == CFG_FORWARD ? g->from[e] : g->to[e];
			uint32_t to = direction == CFG_FORWARD ? g->to[e] : g->from[e];

			if (reached[from] && !reached[to] && to != without)
				reached[to] = again = true;
		}
	}
}

static void check_graph(const struct cfg_graph *g, enum cfg_direction direction)
{
	uint32_t root = direction == CFG_FORWARD ? g->entry : g->exit;
	bool live[NODES_MAX], rest[NODES_MAX];
	struct cfg_dominators *d = NULL;

	assert_int_equal(cfg_dominators_new(g, direction, &d), 0);
	assert_int_equal(d->root, root);
	reach(g, direction, root, CFG_NODE_NONE, live);
	for (uint32_t a = 0; a < g->node_count; a++) {
		reach(g, direction, root, a, rest);
		for (uint32_t b = 0; b < g->node_count; b++) {
			bool expected = live[a] && live[b] && (a == b || !rest[b]);

			assert_int_equal(cfg_dominates(d, a, b), expected);
		}
		/* The parent is the dominator that all other dominators dominate. */
		assert_int_equal(d->parent[a] != CFG_NODE_NONE, live[a] && a != root);
		for (uint32_t b = 0; b < g->node_count; b++) {
			if (b != a && cfg_dominates(d, b, a))
				assert_true(cfg_dominates(d, b, d->parent[a]));
		}
	}
	cfg_dominators_free(d);
}

static void random_graphs_agree_with_the_definition(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 3000; seed++) {
		struct cfg_graph *g = random_graph(seed, seed % 10 ? 12 : 40);

		check_graph(g, CFG_FORWARD);
		check_graph(g, CFG_BACKWARD);
		cfg_graph_free(g);
	}
}

static void long_chains_need_no_stack(void **state)
{
	(void)state;
	for (int nested = 0; nested < 2; nested++) {
		struct cfg_graph *g = long_graph(300000, nested);
		struct cfg_dominators *d = NULL;

		assert_int_equal(cfg_dominators_new(g, CFG_FORWARD, &d), 0);
		for (uint32_t n = 1; n < g->node_count; n++)
			assert_int_equal(d->parent[n], n - 1);
		cfg_dominators_free(d);
		cfg_graph_free(g);
	}
}

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
	check_graph(g, CFG_FORWARD);
	cfg_graph_free(g);
	cfg_graph_free(NULL);
	cfg_dominators_free(NULL);
}

/* Every node both reaches and is reached in a closed graph, and only lacking edges are added. */
static void closures_connect_all(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 2000; seed++) {
		struct cfg_graph *g = random_graph(seed, 30), *closed = NULL;
		bool reached[NODES_MAX];
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
		for (int direction = CFG_FORWARD; direction <= CFG_BACKWARD; direction++) {
			reach(closed, direction, g->entry, CFG_NODE_NONE, reached);
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
		cmocka_unit_test(random_graphs_agree_with_the_definition),
		cmocka_unit_test(long_chains_need_no_stack),
		cmocka_unit_test(wrong_graphs_are_refused),
		cmocka_unit_test(closures_connect_all),
		cmocka_unit_test(infinite_loops_are_left_at_their_end),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

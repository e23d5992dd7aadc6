/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>
#include "cfg/loops.h"
#include "random_graph.h"

#define NODES_MAX RANDOM_NODES_MAX

/* reaches[a][b]: by a path of at least one edge within the set. */
static void find_paths(const struct cfg_graph *g, const bool set[NODES_MAX],
		       bool reaches[NODES_MAX][NODES_MAX])
{
	memset(reaches, 0, NODES_MAX * NODES_MAX);
	for (uint32_t e = 0; e < g->edge_count; e++) {
		if (set[g->from[e]] && set[g->to[e]])
			reaches[g->from[e]][g->to[e]] = true;
	}
	for (uint32_t k = 0; k < g->node_count; k++) {
		for (uint32_t a = 0; a < g->node_count; a++) {
			for (uint32_t b = 0; reaches[a][k] && b < g->node_count; b++)
				reaches[a][b] |= reaches[k][b];
		}
	}
}

/* Order of meeting in a depth-first search, the plain way. */
static void number_nodes(const struct cfg_graph *g, uint32_t node, uint32_t number[NODES_MAX],
			 uint32_t *next)
{
	if (number[node] != CFG_NODE_NONE)
		return;
	number[node] = (*next)++;
	for (uint32_t i = g->first_out[node]; i < g->first_out[node + 1]; i++)
		number_nodes(g, g->to[g->out[i]], number, next);
}

/* Returns how many the entry reaches. */
static uint32_t number_all(const struct cfg_graph *g, uint32_t number[NODES_MAX])
{
	uint32_t next = 0, live;

	memset(number, 0xff, NODES_MAX * sizeof(*number));
	number_nodes(g, g->entry, number, &next);
	live = next;
	for (uint32_t n = 0; n < g->node_count; n++) {
		if (g->first_in[n] == g->first_in[n + 1])
			number_nodes(g, n, number, &next);
	}
	for (uint32_t n = 0; n < g->node_count; n++)
		number_nodes(g, n, number, &next);
	return live;
}

static bool is_irreducible(const struct cfg_graph *g, const bool loop[NODES_MAX], uint32_t header)
{
	bool all[NODES_MAX], reaches[NODES_MAX][NODES_MAX];

	memset(all, 1, sizeof(all));
	find_paths(g, all, reaches);
	for (uint32_t e = 0; e < g->edge_count; e++) {
		uint32_t from = g->from[e], to = g->to[e];
		bool live = from == g->entry || reaches[g->entry][from];

		if (live && loop[to] && !loop[from] && to != header)
			return true;
	}
	return false;
}

struct expected {
	const struct cfg_graph *graph;
	const struct cfg_loops *loops;
	uint32_t number[NODES_MAX], live, found; /* live: reached from the entry, numbered first */
};

/* By the definition: the strongly connected regions of the set, and what is in them. */
static void check_set(struct expected *x, const bool set[NODES_MAX], uint32_t parent)
{
	const struct cfg_graph *g = x->graph;
	bool reaches[NODES_MAX][NODES_MAX], seen[NODES_MAX] = {false};

	find_paths(g, set, reaches);
	for (uint32_t n = 0; n < g->node_count; n++) {
		bool region[NODES_MAX] = {false};
		uint32_t header = n, members = 0, index;
		const struct cfg_loop *loop;

		if (!set[n] || seen[n] || !reaches[n][n])
			continue;
		for (uint32_t m = 0; m < g->node_count; m++) {
			region[m] = set[m] && reaches[n][m] && reaches[m][n];
			members += region[m];
			seen[m] |= region[m];
			if (region[m] && x->number[m] < x->number[header])
				header = m;
		}
		index = x->loops->innermost[header];
		assert_true(index < x->loops->loop_count);
		loop = &x->loops->loops[index];
		assert_int_equal(loop->header, header);
		assert_int_equal(loop->parent, parent);
		assert_int_equal(loop->members, members);
		assert_int_equal(loop->depth,
				 parent == CFG_LOOP_NONE ? 1 : x->loops->loops[parent].depth + 1);
		assert_true(parent == CFG_LOOP_NONE || parent < index);
		if (x->number[header] < x->live)
			assert_int_equal(loop->irreducible, is_irreducible(g, region, header));
		for (uint32_t m = 0; m < g->node_count; m++) {
			if (set[m])
				assert_int_equal(cfg_loop_has(x->loops, index, m), region[m]);
		}
		x->found++;
		region[header] = false;
		check_set(x, region, index);
	}
}

static void random_graphs_agree_with_the_definition(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 4000; seed++) {
		struct cfg_graph *g = random_graph(seed, seed % 20 ? 14 : 40);
		struct expected x = {.graph = g};
		struct cfg_loops *l = NULL;
		bool all[NODES_MAX];

		memset(all, 1, sizeof(all));
		assert_int_equal(cfg_loops_new(g, &l), 0);
		x.loops = l;
		x.live = number_all(g, x.number);
		check_set(&x, all, CFG_LOOP_NONE);
		assert_int_equal(x.found, l->loop_count);
		cfg_loops_free(l);
		cfg_graph_free(g);
	}
	cfg_loops_free(NULL);
}

/* What the textbook says: a header dominates the sources of its back edges and all of its loop. */
static void reducible_loops_are_natural(void **state)
{
	uint32_t reducible = 0;

	(void)state;
	for (uint64_t seed = 1; seed < 4000; seed += 2) {
		struct cfg_graph *g = random_graph(seed, 30);
		bool live[NODES_MAX], past[NODES_MAX][NODES_MAX]; /* reached without that node */
		struct cfg_loops *l = NULL;

		assert_int_equal(cfg_loops_new(g, &l), 0);
		random_graph_reach(g, false, CFG_NODE_NONE, live);
		for (uint32_t n = 0; n < g->node_count; n++)
			random_graph_reach(g, false, n, past[n]);
		for (uint32_t e = 0; e < g->edge_count; e++) {
			uint32_t loop = l->innermost[g->to[e]];

			if (!live[g->from[e]] || past[g->to[e]][g->from[e]])
				continue;
			assert_true(loop != CFG_LOOP_NONE);
			assert_int_equal(l->loops[loop].header, g->to[e]);
			assert_true(cfg_loop_has(l, loop, g->from[e]));
		}
		for (uint32_t i = 0; i < l->loop_count; i++) {
			uint32_t header = l->loops[i].header;

			if (l->loops[i].irreducible || !live[header])
				continue;
			reducible++;
			for (uint32_t n = 0; n < g->node_count; n++) {
				if (live[n] && cfg_loop_has(l, i, n))
					assert_false(past[header][n]);
			}
		}
		cfg_loops_free(l);
		cfg_graph_free(g);
	}
	assert_true(reducible > 1000);
}

static void deep_nests_need_no_stack(void **state)
{
	struct cfg_graph *g = long_graph(200000, 1);
	struct cfg_loops *l = NULL;

	(void)state;
	assert_int_equal(cfg_loops_new(g, &l), 0);
	/* Each block of the second half but the exit closes a loop. */
	assert_int_equal(l->loop_count, 99999);
	for (uint32_t i = 0; i < l->loop_count; i++) {
		assert_int_equal(l->loops[i].depth, i + 1);
		assert_int_equal(l->loops[i].header, i + 1);
		assert_false(l->loops[i].irreducible);
	}
	cfg_loops_free(l);
	cfg_graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_graphs_agree_with_the_definition),
		cmocka_unit_test(reducible_loops_are_natural),
		cmocka_unit_test(deep_nests_need_no_stack),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

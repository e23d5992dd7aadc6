/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdbool.h>
#include <string.h>
#include "cfg/equivalence.h"
#include "random_graph.h"

/* The graph with its nodes split and its closure, as edges between 2n and 2n + 1. */
struct split {
	struct edge_list edges;
	uint32_t points, shown; /* shown: nodes and edges of the graph itself */
};

static void split_graph(const struct cfg_graph *g, struct split *s)
{
	struct cfg_closure *c = NULL;

	assert_int_equal(cfg_closure_new(g, &c), 0);
	s->edges.count = 0;
	s->points = 2 * g->node_count;
	s->shown = g->node_count + g->edge_count;
	for (uint32_t n = 0; n < g->node_count; n++)
		add_edge(&s->edges, 2 * n, 2 * n + 1);
	for (uint32_t e = 0; e < g->edge_count; e++)
		add_edge(&s->edges, 2 * g->from[e] + 1, 2 * g->to[e]);
	for (uint32_t i = 0; i < c->count; i++)
		add_edge(&s->edges, 2 * c->from[i] + 1, 2 * c->to[i]);
	cfg_closure_free(c);
}

/* Whether there is a cycle through the edge that avoids the other, along the directions. */
static bool has_cycle(const struct split *s, uint32_t edge, uint32_t without)
{
	bool reached[128] = {false}, again = true;

	reached[s->edges.to[edge]] = true;
	while (again) {
		again = false;
		for (uint32_t e = 0; e < s->edges.count; e++) {
			if (e != without && reached[s->edges.from[e]] && !reached[s->edges.to[e]])
				reached[s->edges.to[e]] = again = true;
		}
	}
	return reached[s->edges.from[edge]];
}

static void check_graph(const struct cfg_graph *g)
{
	struct cfg_equivalence *q = NULL;
	struct split s;

	split_graph(g, &s);
	assert_true(s.points <= 128);
	assert_int_equal(cfg_equivalence_new(g, &q), 0);
	for (uint32_t a = 0; a < s.shown; a++) {
		uint32_t class =
			a < g->node_count ? q->node_class[a] : q->edge_class[a - g->node_count];

		assert_true(class < q->class_count);
		for (uint32_t b = 0; b < a; b++) {
			uint32_t other = b < g->node_count ? q->node_class[b]
							   : q->edge_class[b - g->node_count];
			bool same = !has_cycle(&s, a, b) && !has_cycle(&s, b, a);

			assert_int_equal(class == other, same);
		}
	}
	cfg_equivalence_free(q);
}

static void random_graphs_agree_with_the_definition(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 4000; seed++) {
		struct cfg_graph *g = random_graph(seed, seed % 100 ? 9 : 20);

		check_graph(g);
		cfg_graph_free(g);
	}
	cfg_equivalence_free(NULL);
}

/* Walks at random, and counts: what is of one class has one count, up to the walk's end. */
static void walks_visit_a_class_equally_often(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 1000; seed++) {
		struct cfg_graph *g = random_graph(seed, 25);
		uint32_t counts[4096] = {0}, low[4096], high[4096] = {0};
		struct cfg_equivalence *q = NULL;
		uint64_t random = seed;
		uint32_t node = g->entry;

		assert_int_equal(cfg_equivalence_new(g, &q), 0);
		/* A walk that ends in an infinite loop is stopped there. */
		for (uint32_t step = 0; step < 3000; step++) {
			uint32_t degree = g->first_out[node + 1] - g->first_out[node], edge;

			counts[node]++;
			if (!degree && node == g->exit)
				node = g->entry;
			if (!degree)
				continue;
			edge = g->out[g->first_out[node] + random_below(&random, degree)];
			counts[g->node_count + edge]++;
			node = g->to[edge];
		}
		memset(low, 0xff, sizeof(low));
		for (uint32_t i = 0; i < g->node_count + g->edge_count; i++) {
			uint32_t class = i < g->node_count ? q->node_class[i]
							   : q->edge_class[i - g->node_count];
			bool dead_end = i < g->node_count && g->first_out[i] == g->first_out[i + 1];

			if (dead_end) /* where the walk above rests */
				continue;
			low[class] = counts[i] < low[class] ? counts[i] : low[class];
			high[class] = counts[i] > high[class] ? counts[i] : high[class];
		}
		for (uint32_t c = 0; c < q->class_count; c++)
			assert_true(low[c] == UINT32_MAX || high[c] - low[c] <= 1);
		cfg_equivalence_free(q);
		cfg_graph_free(g);
	}
}

/* An operating system's idle loop: what is in the loop is one class, the way to it another. */
static void infinite_loops_have_classes(void **state)
{
	uint32_t from[] = {0, 1, 1, 2, 3, 4, 5}, to[] = {1, 2, 3, 4, 4, 5, 1};
	struct cfg_equivalence *q = NULL;
	struct cfg_graph *g = NULL;

	(void)state;
	assert_int_equal(cfg_graph_new(7, 0, 6, from, to, 7, &g), 0);
	assert_int_equal(cfg_equivalence_new(g, &q), 0);
	assert_int_equal(q->node_class[1], q->node_class[4]);
	assert_int_equal(q->node_class[1], q->node_class[5]);
	assert_int_equal(q->node_class[2], q->edge_class[1]);
	assert_int_equal(q->node_class[0], q->node_class[6]);
	assert_int_not_equal(q->node_class[0], q->node_class[1]);
	assert_int_not_equal(q->node_class[2], q->node_class[3]);
	cfg_equivalence_free(q);

	assert_int_equal(cfg_equivalence_new_single(g, &q), 0);
	assert_int_equal(q->class_count, 14);
	assert_int_not_equal(q->node_class[1], q->node_class[4]);
	cfg_equivalence_free(q);
	cfg_graph_free(g);
}

static void long_functions_need_no_stack(void **state)
{
	struct cfg_equivalence *q = NULL;
	struct cfg_graph *g = long_graph(200000, 0);

	(void)state;
	assert_int_equal(cfg_equivalence_new(g, &q), 0);
	assert_int_equal(q->class_count, 1);
	cfg_equivalence_free(q);
	cfg_graph_free(g);

	g = long_graph(200000, 1);
	assert_int_equal(cfg_equivalence_new(g, &q), 0);
	/* The pairs of blocks that a loop begins and ends with differ, as do all back edges. */
	assert_int_not_equal(q->node_class[5], q->node_class[6]);
	cfg_equivalence_free(q);
	cfg_graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_graphs_agree_with_the_definition),
		cmocka_unit_test(walks_visit_a_class_equally_often),
		cmocka_unit_test(infinite_loops_have_classes),
		cmocka_unit_test(long_functions_need_no_stack),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

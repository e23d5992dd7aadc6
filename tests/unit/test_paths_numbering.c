/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Numbers of paths, against all paths of random graphs: what is added up along each is its number,
 * each number is that of one path, and the way back leads there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "paths/numbering.h"
#include "random_graph.h"

#define NODES_MAX (RANDOM_NODES_MAX + 2)

/* A graph in which paths can be numbered: no edge leads to its entry, and each node that leads
 * nowhere, or is a call, leads to the exit. */
struct made {
	struct cfg_graph *graph;
	uint64_t *weights;
	uint8_t *traits;
};

/* Edges to some nodes must stay whole, but then those that leave these need not. */
static uint8_t is_whole(uint64_t seed, uint32_t to, uint32_t from)
{
	return seed % 4 == 1 && to % 7 == 3 && from % 7 != 3 ? PATHS_WHOLE : 0;
}

static struct made make(uint64_t seed, uint32_t max_nodes)
{
	struct cfg_graph *code = random_graph(seed, max_nodes);
	const uint32_t entry = code->node_count, exit = entry + 1;
	struct edge_list l = {.count = 0};
	uint64_t random = seed;
	struct made m = {.traits = calloc(4096, 1), .weights = calloc(4096, sizeof(uint64_t))};

	assert_true(m.traits && m.weights);
	add_edge(&l, entry, code->entry);
	if (seed % 5 == 0) /* a landing pad */
		add_edge(&l, entry, random_below(&random, code->node_count));
	for (uint32_t n = 0; n < code->node_count; n++) {
		const uint32_t first = code->first_out[n], end = code->first_out[n + 1];
		const bool is_call = end - first == 1 && random_below(&random, 3) == 0;

		for (uint32_t k = first; k < end; k++) {
			m.traits[l.count] = is_whole(seed, code->to[code->out[k]], n);
			add_edge(&l, n, code->to[code->out[k]]);
		}
		if (is_call)
			m.traits[l.count] = PATHS_STILL;
		if (is_call || first == end)
			add_edge(&l, n, exit);
	}
	for (uint32_t e = 0; e < l.count; e++)
		m.weights[e] = random_below(&random, 100);
	assert_int_equal(cfg_graph_new(exit + 1, entry, exit, l.from, l.to, l.count, &m.graph), 0);
	cfg_graph_free(code);
	return m;
}

static void free_made(struct made *m)
{
	cfg_graph_free(m->graph);
	free(m->weights);
	free(m->traits);
}

/* All paths, walked one after the other. */
struct walk {
	const struct paths_numbering *n;
	uint32_t begin, edges[NODES_MAX], length;
	uint8_t *seen; /* of each number */
	uint64_t walked;
};

static void end_path(struct walk *w, int64_t number)
{
	uint32_t begin = CFG_NODE_NONE, edges[NODES_MAX];

	w->walked++;
	assert_in_range(number, 0, w->n->count - 1);
	assert_int_equal(w->seen[number], 0);
	w->seen[number] = 1;
	assert_int_equal(paths_find(w->n, (uint32_t)number, &begin, edges), w->length);
	assert_int_equal(begin, w->begin);
	assert_memory_equal(edges, w->edges, w->length * sizeof(*edges));
}

static void walk_on(struct walk *w, uint32_t node, int64_t reg)
{
	const struct cfg_graph *g = w->n->graph;

	assert_true(w->length < g->node_count);
	for (uint32_t k = g->first_out[node]; k < g->first_out[node + 1]; k++) {
		const uint32_t e = g->out[k];
		const struct paths_edge *edge = &w->n->edges[e];

		w->edges[w->length++] = e;
		if (edge->cut || g->to[e] == g->exit)
			end_path(w, reg + edge->add);
		else
			walk_on(w, g->to[e], reg + edge->add);
		w->length--;
	}
}

static void walk_all(const struct paths_numbering *n)
{
	const struct cfg_graph *g = n->graph;
	struct walk w = {.n = n, .begin = g->entry, .seen = calloc(n->count + 1, 1)};
	bool begun[NODES_MAX] = {false}, reached[RANDOM_NODES_MAX];
	uint32_t unused;

	assert_non_null(w.seen);
	random_graph_reach(g, false, CFG_NODE_NONE, reached);
	walk_on(&w, g->entry, 0);
	for (uint32_t e = 0; e < g->edge_count; e++) {
		const uint32_t to = g->to[e];

		if (!n->edges[e].cut || begun[to])
			continue;
		assert_true(reached[g->from[e]]);
		begun[to] = true;
		w.begin = to;
		walk_on(&w, to, n->edges[e].begin);
	}
	assert_int_equal(w.walked, n->count);
	assert_int_equal(paths_find(n, n->count, &unused, &unused), 0);
	free(w.seen);
}

static void expect_traits(const struct made *m, const struct paths_numbering *n)
{
	for (uint32_t e = 0; e < m->graph->edge_count; e++)
		if (m->traits[e]) {
			assert_int_equal(n->edges[e].cut, PATHS_CUT_NOT);
			assert_true(n->edges[e].add == 0 || m->traits[e] == PATHS_WHOLE);
		}
}

static void test_all_paths(void **state)
{
	uint64_t numbered = 0, many = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 6000; seed++) {
		struct made m = make(seed, seed % 20 ? 14 : 40);
		const struct paths_problem p = {m.graph, m.weights, m.traits, seed % 3 ? 4096 : 40};
		struct paths_numbering *n = NULL;
		const int r = paths_number(&p, &n);

		assert_true(r == 0 || r == -E2BIG);
		if (!r) {
			numbered++;
			many += n->cut_many != 0;
			assert_true(n->count <= p.max);
			walk_all(n);
			expect_traits(&m, n);
		}
		paths_numbering_free(n);
		free_made(&m);
	}
	assert_true(numbered > 5500 && many > 100);
}

/* Adds up no more often than edges outside of a spanning tree run: a loop whose body branches adds
 * at one of the branch's sides. */
static void test_hot_edges_add_nothing(void **state)
{
	/* 0 entry, 1 head, 2 and 3 sides, 4 latch, 5 exit */
	static const uint32_t from[] = {0, 1, 1, 2, 3, 4, 4}, to[] = {1, 2, 3, 4, 4, 1, 5};
	static const uint64_t weights[] = {1, 90, 10, 90, 10, 99, 1};
	struct paths_numbering *n;
	struct cfg_graph *g;
	uint64_t added = 0;

	(void)state;
	assert_int_equal(cfg_graph_new(6, 0, 5, from, to, 7, &g), 0);
	assert_int_equal(
		paths_number(&(struct paths_problem){.graph = g, .weights = weights, .max = 8}, &n),
		0);
	assert_int_equal(n->count, 8); /* 2 begins, 2 sides, 2 ends */
	assert_int_equal(n->edges[5].cut, PATHS_CUT_BACK);
	for (uint32_t e = 1; e < 5; e++)
		added += n->edges[e].add ? weights[e] : 0;
	assert_int_equal(added, 10);
	paths_numbering_free(n);
	cfg_graph_free(g);
}

/* Diamonds in a row: each doubles the paths. The coldest sides are cut. */
static void test_cut_coldest(void **state)
{
	enum { DIAMONDS = 60, NODES = 3 * DIAMONDS + 2 };
	struct edge_list l = {.count = 0};
	uint64_t weights[4 * DIAMONDS + 2] = {0};
	struct paths_numbering *n;
	struct cfg_graph *g;
	uint32_t cold = 0;

	(void)state;
	add_edge(&l, NODES - 2, 0);
	for (uint32_t i = 0; i < DIAMONDS; i++) {
		const uint32_t at = 3 * i, next = i + 1 < DIAMONDS ? at + 3 : NODES - 1;

		for (uint32_t side = 1; side <= 2; side++) {
			weights[l.count] = side == 1 ? 1000 : 1;
			add_edge(&l, at, at + side);
			weights[l.count] = side == 1 ? 1000 : 2;
			add_edge(&l, at + side, next);
		}
	}
	assert_int_equal(cfg_graph_new(NODES, NODES - 2, NODES - 1, l.from, l.to, l.count, &g), 0);
	assert_int_equal(
		paths_number(&(struct paths_problem){.graph = g, .weights = weights, .max = 4096},
			     &n),
		0);
	assert_in_range(n->count, 1, 4096);
	assert_true(n->cut_many > 0);
	for (uint32_t e = 0; e < g->edge_count; e++) {
		assert_true(!n->edges[e].cut || weights[e] < 1000);
		cold += n->edges[e].cut == PATHS_CUT_MANY;
	}
	assert_int_equal(cold, n->cut_many);
	paths_numbering_free(n);
	cfg_graph_free(g);
}

static void test_refusals(void **state)
{
	static const uint32_t loop_from[] = {0, 1, 2, 2}, loop_to[] = {1, 2, 1, 3};
	static const uint64_t weights[4] = {0};
	static const uint8_t whole[] = {0, PATHS_WHOLE, PATHS_WHOLE, 0},
			     still[] = {0, PATHS_STILL, 0, 0};
	struct paths_numbering *n;
	struct cfg_graph *g;
	struct paths_problem p = {.weights = weights, .traits = whole, .max = 100};

	(void)state;
	assert_int_equal(cfg_graph_new(4, 0, 3, loop_from, loop_to, 4, &g), 0);
	p.graph = g;
	assert_int_equal(paths_number(&p, &n), -EINVAL);
	p.traits = still;
	assert_int_equal(paths_number(&p, &n), -EINVAL);
	p.traits = NULL;
	p.max = PATHS_COUNT_MAX + 1;
	assert_int_equal(paths_number(&p, &n), -EINVAL);
	p.max = 3;
	assert_int_equal(paths_number(&p, &n), -E2BIG);
	p.max = 4;
	assert_int_equal(paths_number(&p, &n), 0);
	paths_numbering_free(n);
	cfg_graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_paths),
		cmocka_unit_test(test_hot_edges_add_nothing),
		cmocka_unit_test(test_cut_coldest),
		cmocka_unit_test(test_refusals),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

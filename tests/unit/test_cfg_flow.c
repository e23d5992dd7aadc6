/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cfg/circulation.h"
#include "cfg/flow.h"
#include "random_graph.h"

/* Counts of a walk over the graph, returning to the entry where it cannot go on. */
static void walk(const struct cfg_graph *g, uint64_t seed, uint32_t steps, uint64_t *nodes,
		 uint64_t *edges)
{
	uint32_t node = g->entry;

	for (uint32_t i = 0; i < steps; i++) {
		uint32_t degree = g->first_out[node + 1] - g->first_out[node], edge;

		nodes[node]++;
		if (!degree) {
			node = g->entry;
			continue;
		}
		/* Mostly the first way, so that some blocks are hot. */
		edge = random_below(&seed, 4) ? 0 : random_below(&seed, degree);
		edge = g->out[g->first_out[node] + edge];
		edges[edge]++;
		node = g->to[edge];
	}
}

struct sample {
	struct cfg_graph *graph;
	struct cfg_flow_estimate *nodes, *edges;
};

/* A graph with the counts of a walk, each changed by up to `noise` percent, some of them unknown.
 */
static struct sample sample_new(struct cfg_graph *g, uint64_t seed, uint32_t noise)
{
	struct sample s = {.graph = g};
	uint64_t *nodes = calloc(g->node_count + 1, sizeof(*nodes));
	uint64_t *edges = calloc(g->edge_count + 1, sizeof(*edges));

	s.nodes = calloc(g->node_count + 1, sizeof(*s.nodes));
	s.edges = calloc(g->edge_count + 1, sizeof(*s.edges));
	walk(g, seed, 40 * g->node_count, nodes, edges);
	for (uint32_t i = 0; i < g->node_count + g->edge_count; i++) {
		bool is_node = i < g->node_count;
		struct cfg_flow_estimate *e = is_node ? &s.nodes[i] : &s.edges[i - g->node_count];
		uint64_t count = is_node ? nodes[i] : edges[i - g->node_count];

		e->increase = 1;
		if (noise && random_below(&seed, 4) == 0)
			continue;
		e->count = count * (100 - noise + random_below(&seed, 2 * noise + 1)) / 100;
		e->increase = 5 + random_below(&seed, 20);
		e->decrease = 5 + random_below(&seed, 20);
	}
	free(nodes);
	free(edges);
	return s;
}

static void sample_free(struct sample *s)
{
	cfg_graph_free(s->graph);
	free(s->nodes);
	free(s->edges);
}

static struct cfg_flow *solve(const struct sample *s, bool join)
{
	struct cfg_flow_problem p = {
		.graph = s->graph, .nodes = s->nodes, .edges = s->edges, .join_islands = join};
	struct cfg_flow *f = NULL;

	assert_int_equal(cfg_flow_new(&p, &f), 0);
	return f;
}

/* What enters a node leaves it, but for what the closure's edges bring and take. */
static void check_flow(const struct cfg_graph *g, const struct cfg_flow *f)
{
	int64_t *in = calloc(g->node_count, sizeof(*in)),
		*out = calloc(g->node_count, sizeof(*out));
	struct cfg_closure *c = NULL;

	assert_int_equal(cfg_closure_new(g, &c), 0);
	for (uint32_t e = 0; e < g->edge_count; e++) {
		in[g->to[e]] += (int64_t)f->edges[e];
		out[g->from[e]] += (int64_t)f->edges[e];
	}
	for (uint32_t n = 0; n < g->node_count; n++) {
		bool opens = n == g->entry || n == g->exit, closes = n == g->exit;

		for (uint32_t i = 0; i < c->count; i++) {
			opens |= c->to[i] == n;
			closes |= c->from[i] == n;
		}
		assert_true(opens || in[n] == (int64_t)f->nodes[n]);
		assert_true(closes || out[n] == (int64_t)f->nodes[n]);
		assert_true(in[n] <= (int64_t)f->nodes[n] && out[n] <= (int64_t)f->nodes[n]);
	}
	cfg_closure_free(c);
	free(in);
	free(out);
}

/* The price of one execution more or less. */
static int64_t price(const struct cfg_flow_estimate *known, uint64_t flow, bool more)
{
	if (more)
		return flow < known->count ? -(int64_t)known->decrease : known->increase;
	return flow > known->count ? -(int64_t)known->increase : known->decrease;
}

struct relaxed {
	int64_t *distance;
	bool changed;
};

static void relax(struct relaxed *x, uint32_t from, uint32_t to, int64_t cost, bool allowed)
{
	if (!allowed || x->distance[from] + cost >= x->distance[to])
		return;
	x->distance[to] = x->distance[from] + cost;
	x->changed = true;
}

/*
 * A circulation is of least cost when no cycle of changes by one lowers it (Bellman and Ford).
 * Flows of the closure's edges are not in the result, so cycles that lower one are not looked at.
 */
static void check_optimal(const struct sample *s, const struct cfg_flow *f)
{
	const struct cfg_graph *g = s->graph;
	uint32_t points = 2 * g->node_count;
	struct relaxed x = {calloc(points, sizeof(int64_t)), true};
	struct cfg_closure *c = NULL;

	assert_int_equal(cfg_closure_new(g, &c), 0);
	for (uint32_t round = 0; x.changed; round++) {
		assert_true(round <= points);
		x.changed = false;
		for (uint32_t n = 0; n < g->node_count; n++) {
			relax(&x, 2 * n, 2 * n + 1, price(&s->nodes[n], f->nodes[n], true), true);
			relax(&x, 2 * n + 1, 2 * n, price(&s->nodes[n], f->nodes[n], false),
			      f->nodes[n] > 0);
		}
		for (uint32_t e = 0; e < g->edge_count; e++) {
			uint32_t from = 2 * g->from[e] + 1, to = 2 * g->to[e];

			relax(&x, from, to, price(&s->edges[e], f->edges[e], true), true);
			relax(&x, to, from, price(&s->edges[e], f->edges[e], false),
			      f->edges[e] > 0);
		}
		for (uint32_t i = 0; i < c->count; i++)
			relax(&x, 2 * c->from[i] + 1, 2 * c->to[i], 0, true);
	}
	cfg_closure_free(c);
	free(x.distance);
}

static void repaired_flows_are_possible_and_nearest(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 3000; seed++) {
		struct sample s = sample_new(random_graph(seed, seed % 20 ? 12 : 60), seed, 40);
		struct cfg_flow *f = solve(&s, false);

		assert_true(f->optimal);
		check_flow(s.graph, f);
		check_optimal(&s, f);
		cfg_flow_free(f);
		f = solve(&s, true);
		check_flow(s.graph, f);
		cfg_flow_free(f);
		sample_free(&s);
	}
	cfg_flow_free(NULL);
}

/* A flow that is possible already stays as it is, and costs nothing. */
static void possible_flows_stay(void **state)
{
	uint32_t from[] = {0, 1, 1, 2, 3, 4, 4}, to[] = {1, 2, 3, 4, 4, 1, 5};
	uint64_t nodes[] = {7, 1000, 600, 400, 1000, 7}, edges[] = {7, 600, 400, 600, 400, 993, 7};
	struct cfg_graph *g = NULL;
	struct sample s;
	struct cfg_flow *f;

	(void)state;
	assert_int_equal(cfg_graph_new(6, 0, 5, from, to, 7, &g), 0);
	s = sample_new(g, 1, 0);
	for (uint32_t i = 0; i < 6; i++)
		s.nodes[i].count = nodes[i];
	for (uint32_t i = 0; i < 7; i++)
		s.edges[i].count = edges[i];
	f = solve(&s, false);
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(f->nodes[i], nodes[i]);
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(f->edges[i], edges[i]);
	assert_true(f->cost == 0);
	cfg_flow_free(f);

	/* One block was counted too low: the others outvote it. */
	s.nodes[4].count = 10;
	f = solve(&s, false);
	assert_int_equal(f->nodes[4], 1000);
	cfg_flow_free(f);
	sample_free(&s);
}

/* A loop that nothing leads to: without joining it stays, with it there is a way. */
static void islands_are_joined(void **state)
{
	uint32_t from[] = {0, 1, 2, 2, 3, 0}, to[] = {1, 2, 2, 3, 5, 4};
	struct cfg_graph *g = NULL;
	struct sample s;
	struct cfg_flow *f;

	(void)state;
	assert_int_equal(cfg_graph_new(6, 0, 5, from, to, 6, &g), 0);
	s = sample_new(g, 1, 0);
	memset(s.nodes, 0, 6 * sizeof(*s.nodes));
	memset(s.edges, 0, 6 * sizeof(*s.edges));
	s.nodes[1].increase = s.nodes[3].increase = 30;
	s.nodes[2] = (struct cfg_flow_estimate){50, 10, 10};
	f = solve(&s, false);
	assert_int_equal(f->nodes[1], 0);
	assert_int_equal(f->nodes[2], 50);
	assert_int_equal(f->edges[2], 50);
	cfg_flow_free(f);
	f = solve(&s, true);
	assert_int_equal(f->nodes[0], 1);
	assert_int_equal(f->nodes[1], 1);
	assert_int_equal(f->nodes[2], 51);
	assert_int_equal(f->edges[2], 50);
	assert_int_equal(f->nodes[3], 1);
	assert_int_equal(f->nodes[4], 0);
	assert_int_equal(f->nodes[5], 1);
	cfg_flow_free(f);
	sample_free(&s);
}

static void thousand_blocks_take_few_steps(void **state)
{
	uint32_t count = 1000;

	(void)state;
	for (uint64_t seed = 1; seed < 10; seed += 2) {
		struct edge_list *l = calloc(1, sizeof(*l));
		struct cfg_graph *g = NULL;
		struct timespec begin, end;
		struct cfg_flow *f;
		uint64_t random = seed;
		struct sample s;

		random_code(&random, count, l);
		assert_int_equal(cfg_graph_new(count, 0, count - 1, l->from, l->to, l->count, &g),
				 0);
		s = sample_new(g, seed, 30);
		clock_gettime(CLOCK_MONOTONIC, &begin);
		f = solve(&s, true);
		clock_gettime(CLOCK_MONOTONIC, &end);
		print_message("# %u blocks, %u edges: %llu steps, %.3f s\n", count, l->count,
			      (unsigned long long)f->steps,
			      (double)(end.tv_sec - begin.tv_sec) +
				      1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
		assert_true(f->optimal);
		assert_true(f->steps < 20000000);
		cfg_flow_free(f);
		sample_free(&s);
		free(l);
	}
}

static void work_is_limited(void **state)
{
	struct sample s = sample_new(long_graph(100000, 1), 5, 30);
	struct cfg_flow_problem p = {
		.graph = s.graph, .nodes = s.nodes, .edges = s.edges, .max_steps = 10000000};
	struct cfg_flow *f = NULL;

	(void)state;
	assert_int_equal(cfg_flow_new(&p, &f), 0);
	assert_true(f->steps < 20000000);
	check_flow(s.graph, f);
	cfg_flow_free(f);
	sample_free(&s);
}

static void wrong_problems_are_refused(void **state)
{
	struct sample s = sample_new(random_graph(3, 10), 5, 30);
	struct circulation_arc arcs[] = {{0, 1, -1, CIRCULATION_UNLIMITED, 0}, {1, 0, 1, 5, 0}};
	struct cfg_flow_problem p = {.graph = s.graph, .nodes = s.nodes, .edges = s.edges};
	struct cfg_flow *f = NULL;
	uint64_t steps = 0;
	bool optimal = false;

	(void)state;
	s.nodes[0].increase = CFG_FLOW_COST_MAX + 1;
	assert_int_equal(cfg_flow_new(&p, &f), -EINVAL);
	s.nodes[0].increase = 1;
	s.nodes[0].count = UINT64_MAX;
	assert_int_equal(cfg_flow_new(&p, &f), -ERANGE);
	assert_null(f);
	sample_free(&s);

	assert_int_equal(circulation_solve(2, arcs, 2, 1000, &steps, &optimal), -EINVAL);
	arcs[0].capacity = 9;
	assert_int_equal(circulation_solve(1, arcs, 2, 1000, &steps, &optimal), -EINVAL);
	arcs[1].cost = 2;
	assert_int_equal(circulation_solve(2, arcs, 2, 1000, &steps, &optimal), 0);
	assert_int_equal(arcs[0].flow, 0);
	arcs[0].cost = -3;
	assert_int_equal(circulation_solve(2, arcs, 2, 1000, &steps, &optimal), 0);
	assert_int_equal(arcs[0].flow, 5);
	assert_true(optimal);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(repaired_flows_are_possible_and_nearest),
		cmocka_unit_test(possible_flows_stay),
		cmocka_unit_test(islands_are_joined),
		cmocka_unit_test(thousand_blocks_take_few_steps),
		cmocka_unit_test(work_is_limited),
		cmocka_unit_test(wrong_problems_are_refused),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/call_cycles.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/num.h"

/*
 * Strongly connected components by Tarjan's algorithm (SIAM J. Computing 1972), without recursion:
 * he finds a component after all those that it calls, which is the order that gprof's rule needs.
 */

struct search {
	struct call_graph *graph;
	uint32_t *index, *low; /* of each function; index 0: not met yet */
	uint32_t *stack, *way, *next;
	bool *on_stack;
	size_t stack_size, depth;
	uint32_t met;
};

static void meet(struct search *s, uint32_t f)
{
	s->index[f] = s->low[f] = ++s->met;
	s->stack[s->stack_size++] = f;
	s->on_stack[f] = true;
	s->way[s->depth] = f;
	s->next[s->depth++] = 0;
}

/* A component is complete: the functions on the stack down to f. */
static void close_component(struct search *s, uint32_t f)
{
	struct call_graph *g = s->graph;
	size_t begin = s->stack_size;
	uint32_t cycle = 0;

	while (s->stack[--begin] != f)
		;
	if (s->stack_size - begin > 1)
		cycle = (uint32_t)++g->cycle_count;
	for (size_t i = begin; i < s->stack_size; i++) {
		g->functions[s->stack[i]].cycle = cycle;
		g->order[g->ordered++] = s->stack[i];
		s->on_stack[s->stack[i]] = false;
	}
	s->stack_size = begin;
}

static void search(struct search *s, uint32_t root)
{
	struct call_graph *g = s->graph;

	meet(s, root);
	while (s->depth) {
		uint32_t f = s->way[s->depth - 1];

		if (s->next[s->depth - 1] < g->functions[f].out_count) {
			uint32_t to = g->arcs[g->functions[f].out[s->next[s->depth - 1]++]].to;

			if (!s->index[to])
				meet(s, to);
			else if (s->on_stack[to] && s->index[to] < s->low[f])
				s->low[f] = s->index[to];
			continue;
		}
		if (s->low[f] == s->index[f])
			close_component(s, f);
		s->depth--;
		if (s->depth && s->low[f] < s->low[s->way[s->depth - 1]])
			s->low[s->way[s->depth - 1]] = s->low[f];
	}
}

int call_cycles_find(struct call_graph *g)
{
	size_t n = g->tree->set->function_count + 1;
	struct search s = {
		.graph = g,
		.index = calloc(n, sizeof(*s.index)),
		.low = calloc(n, sizeof(*s.low)),
		.stack = calloc(n, sizeof(*s.stack)),
		.way = calloc(n, sizeof(*s.way)),
		.next = calloc(n, sizeof(*s.next)),
		.on_stack = calloc(n, sizeof(*s.on_stack)),
	};
	int err = -ENOMEM;

	g->order = calloc(n, sizeof(*g->order));
	if (g->order && s.index && s.low && s.stack && s.way && s.next && s.on_stack) {
		for (uint32_t i = 0; i + 1 < n; i++)
			if (g->functions[i].total && !s.index[i])
				search(&s, i);
		g->cycles = calloc(g->cycle_count + 1, sizeof(*g->cycles));
		err = g->cycles ? 0 : -ENOMEM;
	}
	free(s.index);
	free(s.low);
	free(s.stack);
	free(s.way);
	free(s.next);
	free(s.on_stack);
	return err;
}

static bool is_inside(const struct call_graph *g, const struct call_arc *a)
{
	return a->from != CALL_NOBODY && g->functions[a->to].cycle &&
	       g->functions[a->from].cycle == g->functions[a->to].cycle;
}

/* Functions order[begin..end) are a component, whose callees have been dealt with. */
static void share_component(struct call_graph *g, size_t begin, size_t end)
{
	double self = 0, total = 0, weights = 0, part;
	uint64_t calls = 0, arcs = 0;
	uint32_t cycle = g->functions[g->order[begin]].cycle;

	for (size_t i = begin; i < end; i++) {
		struct call_function *f = &g->functions[g->order[i]];

		f->gprof_total = (double)f->self;
		for (uint32_t k = 0; k < f->out_count; k++)
			f->gprof_total += g->arcs[f->out[k]].gprof_total;
		self += (double)f->self;
		total += f->gprof_total;
		for (uint32_t k = 0; k < f->in_count; k++) {
			const struct call_arc *a = &g->arcs[f->in[k]];

			if (is_inside(g, a))
				continue;
			calls = num_add_sat(calls, a->calls);
			weights += a->sites;
			arcs++;
		}
	}
	weights = calls ? (double)calls : weights;
	for (size_t i = begin; i < end; i++) {
		struct call_function *f = &g->functions[g->order[i]];

		f->guessed = !calls && arcs > 1;
		for (uint32_t k = 0; k < f->in_count; k++) {
			struct call_arc *a = &g->arcs[f->in[k]];

			part = (calls ? (double)a->calls : a->sites) / (weights > 0 ? weights : 1);
			if (is_inside(g, a))
				part = 0;
			a->gprof_self = part * self;
			a->gprof_total = part * total;
		}
	}
	if (cycle) {
		g->cycles[cycle].gprof_total = total;
		g->cycles[cycle].calls = calls;
	}
}

void call_cycles_share(struct call_graph *g)
{
	size_t end;

	for (size_t i = 0; i < g->ordered; i = end) {
		uint32_t cycle = g->functions[g->order[i]].cycle;

		for (end = i + 1;
		     end < g->ordered && cycle && g->functions[g->order[end]].cycle == cycle;)
			end++;
		share_component(g, i, end);
	}
}

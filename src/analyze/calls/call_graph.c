/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/calls/call_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/array.h"
#include "util/num.h"

#define ARCS_MAX (1u << 24)

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

/* Finds cycles (functions that call each other in a circle), and the order of functions from
 * callees to callers. 0 or -ENOMEM. */
static int find_cycles(struct call_graph *g)
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
	int r = -ENOMEM;

	g->order = calloc(n, sizeof(*g->order));
	if (g->order && s.index && s.low && s.stack && s.way && s.next && s.on_stack) {
		for (uint32_t i = 0; i + 1 < n; i++)
			if (g->functions[i].total && !s.index[i])
				search(&s, i);
		g->cycles = calloc(g->cycle_count + 1, sizeof(*g->cycles));
		r = g->cycles ? 0 : -ENOMEM;
	}
	free(s.index);
	free(s.low);
	free(s.stack);
	free(s.way);
	free(s.next);
	free(s.on_stack);
	return r;
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

/* gprof's rule: shares the time of functions and cycles among their callers. */
static void share_cycles(struct call_graph *g)
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

struct maker {
	struct call_graph *graph;
	const struct tree *tree;
	struct map64 *arc_keys;
	struct intern *sites;
	size_t arc_room, arc_total_room;
	/* While the tree is visited, for each function. */
	uint32_t *active; /* how often it is under way */
	uint32_t *outer;  /* the arc of its outermost call */
	/* For each cycle. */
	uint32_t *active_cycles;
	int err;
};

struct site_key {
	uint64_t site;
	uint32_t from, to;
};

static int find_arc(struct maker *m, uint32_t from, uint32_t to, uint32_t *ret)
{
	struct call_graph *g = m->graph;
	uint64_t key = (uint64_t)from << 32 | to, index;
	size_t size = m->tree->event_count * sizeof(*g->arc_totals);

	if (!map64_get(m->arc_keys, key, &index)) {
		*ret = (uint32_t)index;
		return 0;
	}
	if (array_grow(&g->arcs, g->arc_count, &m->arc_room, sizeof(*g->arcs), 64) ||
	    array_grow(&g->arc_totals, g->arc_count, &m->arc_total_room, size, 64))
		return -ENOMEM;
	memset(g->arc_totals + g->arc_count * m->tree->event_count, 0, size);
	g->arcs[g->arc_count] = (struct call_arc){.from = from, .to = to};
	*ret = (uint32_t)g->arc_count++;
	return map64_put(m->arc_keys, key, *ret);
}

static int count_site(struct maker *m, struct call_arc *arc, uint64_t site)
{
	struct site_key key = {site, arc->from, arc->to};
	uint32_t index, before = intern_count(m->sites);

	/* A note is no caller: whoever called is not known. */
	if (arc->from != CALL_NOBODY && m->tree->set->functions[arc->from].kind == STACK_NOTE)
		return 0;
	int r = intern_add(m->sites, &key, sizeof(key), &index);

	arc->sites += intern_count(m->sites) > before;
	return r;
}

static void add_totals(const struct maker *m, uint64_t *all, size_t index, uint32_t node)
{
	uint64_t *to = all + index * m->tree->event_count;

	for (size_t e = 0; e < m->tree->event_count; e++)
		to[e] = num_add_sat(to[e], tree_total(m->tree, node, e));
}

static void enter(void *arg, uint32_t node)
{
	struct maker *m = arg;
	const struct tree_node *n = &m->tree->nodes[node];
	uint32_t f = n->function, caller, arc = 0;
	struct call_function *function;
	struct call_arc *a;

	if (f == TREE_NO_FUNCTION || m->err)
		return;
	caller = m->tree->nodes[n->parent].function;
	function = &m->graph->functions[f];
	if (caller != f) {
		m->err = find_arc(m, caller == TREE_NO_FUNCTION ? CALL_NOBODY : caller, f, &arc);
		if (!m->err)
			m->err = count_site(m, &m->graph->arcs[arc], n->site);
		if (m->err)
			return;
	}
	if (!m->active[f]++) {
		m->outer[f] = arc;
		a = &m->graph->arcs[arc];
		a->total = num_add_sat(a->total, tree_total(m->tree, node, 0));
		function->total = num_add_sat(function->total, tree_total(m->tree, node, 0));
		add_totals(m, m->graph->arc_totals, arc, node);
		add_totals(m, m->graph->function_totals, f, node);
	}
	a = &m->graph->arcs[m->outer[f]];
	a->self = num_add_sat(a->self, tree_self(m->tree, node, 0));
	function->self = num_add_sat(function->self, tree_self(m->tree, node, 0));
}

static void leave(void *arg, uint32_t node)
{
	struct maker *m = arg;
	uint32_t f = m->tree->nodes[node].function;

	if (f != TREE_NO_FUNCTION && m->active[f])
		m->active[f]--;
}

static void enter_cycle(void *arg, uint32_t node)
{
	struct maker *m = arg;
	uint32_t f = m->tree->nodes[node].function, cycle;
	struct call_cycle *c;

	cycle = f == TREE_NO_FUNCTION ? 0 : m->graph->functions[f].cycle;
	if (!cycle)
		return;
	c = &m->graph->cycles[cycle];
	if (!m->active_cycles[cycle]++) {
		c->total = num_add_sat(c->total, tree_total(m->tree, node, 0));
		add_totals(m, m->graph->cycle_totals, cycle, node);
	}
	c->self = num_add_sat(c->self, tree_self(m->tree, node, 0));
}

static void leave_cycle(void *arg, uint32_t node)
{
	struct maker *m = arg;
	uint32_t f = m->tree->nodes[node].function;

	if (f != TREE_NO_FUNCTION)
		m->active_cycles[m->graph->functions[f].cycle]--;
}

static int add_counts(struct maker *m, const struct call_counts *counts)
{
	struct call_graph *g = m->graph;
	int r = 0;

	for (size_t i = 0; i < counts->count && !r; i++) {
		const struct call_count *c = &counts->list[i];
		struct call_function *to = &g->functions[c->to];
		uint32_t from = c->from, arc;

		if (!to->total)
			continue;
		if (from == c->to) {
			to->recursive_calls = num_add_sat(to->recursive_calls, c->calls);
			continue;
		}
		if (from != CALL_NOBODY && !g->functions[from].total)
			from = CALL_NOBODY;
		r = find_arc(m, from, c->to, &arc);
		if (r)
			break;
		g->arcs[arc].calls = num_add_sat(g->arcs[arc].calls, c->calls);
		to->calls = num_add_sat(to->calls, c->calls);
	}
	return r;
}

static int compare_arcs(const void *x, const void *y, void *arg)
{
	const struct call_graph *g = arg;
	const struct call_arc *a = &g->arcs[*(const uint32_t *)x];
	const struct call_arc *b = &g->arcs[*(const uint32_t *)y];
	int d = NUM_ORDER(b->total, a->total);

	if (!d)
		d = NUM_ORDER(b->calls, a->calls);
	if (!d)
		d = NUM_ORDER(a->from, b->from);
	return d ? d : NUM_ORDER(a->to, b->to);
}

/* The arcs into and out of each function. */
static int list_arcs(struct call_graph *g, size_t function_count)
{
	uint32_t *next = g->members = calloc(2 * g->arc_count + 1, sizeof(*g->members));

	if (!next)
		return -ENOMEM;
	for (size_t i = 0; i < g->arc_count; i++) {
		g->functions[g->arcs[i].to].in_count++;
		if (g->arcs[i].from != CALL_NOBODY)
			g->functions[g->arcs[i].from].out_count++;
	}
	for (size_t i = 0; i < function_count; i++) {
		struct call_function *f = &g->functions[i];

		f->in = next;
		f->out = f->in + f->in_count;
		next = f->out + f->out_count;
		f->in_count = f->out_count = 0;
	}
	for (uint32_t i = 0; i < g->arc_count; i++) {
		struct call_function *to = &g->functions[g->arcs[i].to];

		to->in[to->in_count++] = i;
		if (g->arcs[i].from != CALL_NOBODY) {
			struct call_function *from = &g->functions[g->arcs[i].from];

			from->out[from->out_count++] = i;
		}
	}
	for (size_t i = 0; i < function_count; i++) {
		struct call_function *f = &g->functions[i];

		if (f->in_count > 1)
			qsort_r(f->in, f->in_count, sizeof(*f->in), compare_arcs, g);
		if (f->out_count > 1)
			qsort_r(f->out, f->out_count, sizeof(*f->out), compare_arcs, g);
	}
	return 0;
}

static int make(struct maker *m, const struct call_counts *counts)
{
	struct call_graph *g = m->graph;
	size_t functions = m->tree->set->function_count, events = m->tree->event_count;

	g->function_totals = calloc(functions * events + 1, sizeof(*g->function_totals));
	g->functions = calloc(functions + 1, sizeof(*g->functions));
	m->active = calloc(functions + 1, sizeof(*m->active));
	m->outer = calloc(functions + 1, sizeof(*m->outer));
	m->arc_keys = map64_new(ARCS_MAX);
	m->sites = intern_new(ARCS_MAX);
	if (!g->functions || !g->function_totals || !m->active || !m->outer || !m->arc_keys ||
	    !m->sites)
		return -ENOMEM;
	int r = tree_visit(m->tree, enter, leave, m);
	r = r ? r : m->err;
	if (!r)
		r = add_counts(m, counts);
	if (!r)
		r = list_arcs(g, functions);
	if (!r)
		r = find_cycles(g);
	if (r)
		return r;
	m->active_cycles = calloc(g->cycle_count + 2, sizeof(*m->active_cycles));
	g->cycle_totals = calloc((g->cycle_count + 2) * events, sizeof(*g->cycle_totals));
	if (!m->active_cycles || !g->cycle_totals)
		return -ENOMEM;
	r = tree_visit(m->tree, enter_cycle, leave_cycle, m);
	if (!r)
		share_cycles(g);
	return r;
}

void call_graph_free(struct call_graph *g)
{
	if (!g)
		return;
	free(g->functions);
	free(g->arcs);
	free(g->cycles);
	free(g->order);
	free(g->members);
	free(g->function_totals);
	free(g->arc_totals);
	free(g->cycle_totals);
	free(g);
}

int call_graph_new(const struct tree *t, const struct call_counts *counts, struct call_graph **ret,
		   struct diag *diag)
{
	struct maker m = {.tree = t, .graph = calloc(1, sizeof(*m.graph))};
	int r = -ENOMEM;

	if (m.graph) {
		m.graph->tree = t;
		r = make(&m, counts);
	}
	map64_free(m.arc_keys);
	intern_free(m.sites);
	free(m.active);
	free(m.outer);
	free(m.active_cycles);
	if (r) {
		call_graph_free(m.graph);
		return diag_fail(diag, -r, "%s",
				 r == -ENOMEM ? "out of memory"
					      : "there are too many calls for one report");
	}
	*ret = m.graph;
	return 0;
}

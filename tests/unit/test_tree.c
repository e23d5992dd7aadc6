/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include "analyze/calls/call_graph.h"
#include "analyze/calls/tree_callers.h"
#include "stack_feed.h"

static const struct query_selection everything = {0};

struct made {
	struct query *query;
	struct stack_set *set;
	struct tree *tree;
};

static void begin_all(struct made *m, const struct query_selection *selection,
		      enum query_group group)
{
	*m = (struct made){0};
	assert_int_equal(query_new(selection, group, &m->query, NULL), 0);
	assert_int_equal(stack_set_new(m->query, &m->set, NULL), 0);
}

static void begin(struct made *m)
{
	begin_all(m, &everything, QUERY_WHOLE);
}

static void build(struct made *m, const struct tree_options *options)
{
	struct rank_source source = {feed_symbols, feed_lines, NULL, NULL};
	struct stack_options stack_options = {.inlines = true};

	assert_int_equal(query_finish(m->query, NULL), 0);
	assert_int_equal(stack_set_finish(m->set, &stack_options, &source, NULL), 0);
	assert_int_equal(tree_new(m->set, options, &m->tree, NULL), 0);
}

static void end(struct made *m)
{
	tree_free(m->tree);
	stack_set_free(m->set);
	query_free(m->query);
}

static void add(struct made *m, const char *comm, uint64_t count, uint32_t n,
		const uint64_t *frames)
{
	struct feed_stack f = {"cycles", comm, frames, n, count};

	assert_int_equal(feed_stack(m->query, &f), 0);
}

#define ADD(m, count, ...)                                                         \
	add(m, "app", count, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), \
	    (uint64_t[]){__VA_ARGS__})

/* The whole tree as text: "a 5/1(b@110 4/4)" is NAME[@SITE] TOTAL/SELF(CHILDREN). */
static void write_node(const struct tree *t, uint32_t node, FILE *out)
{
	const struct tree_node *n = &t->nodes[node];
	const struct stack_function *f = tree_function(t, node);

	if (f)
		fputs(f->name, out);
	if (n->site != TREE_NO_SITE)
		fprintf(out, "@%llx", (unsigned long long)n->site);
	if (f && f->inlined)
		fprintf(out, ":%x", n->site_line);
	if (f)
		fprintf(out, "%s %llu/%llu", n->recursive ? "*" : "",
			(unsigned long long)tree_total(t, node, 0),
			(unsigned long long)tree_self(t, node, 0));
	for (uint32_t i = 0; i < n->child_count; i++) {
		fputs(i ? ", " : f ? "(" : "", out);
		write_node(t, t->children[n->first_child + i], out);
	}
	if (n->child_count && f)
		fputc(')', out);
}

static void check_tree(struct made *m, const struct tree_options *options, const char *wanted)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	build(m, options);
	write_node(m->tree, 0, out);
	fclose(out);
	assert_string_equal(text, wanted);
	free(text);
	end(m);
}

static void add_small(struct made *m)
{
	begin(m);
	ADD(m, 3, 0x110, 0x210, 0x300);
	ADD(m, 2, 0x110, 0x220, 0x300);
	ADD(m, 1, 0x110, 0x210, 0x304);
	ADD(m, 4, 0x120);
}

static void test_sites(void **state)
{
	struct tree_options apart = {0}, merged = {.merge_sites = true};
	struct made m;

	(void)state;
	add_small(&m);
	check_tree(&m, &apart, "a 10/4(b@110 6/0(c@210 4/4, c@220 2/2))");
	add_small(&m);
	check_tree(&m, &merged, "a 10/4(b@110 6/0(c 6/6))");
}

static void test_inlined(void **state)
{
	struct tree_options apart = {0}, without = {.no_inlined = true};
	struct made m;

	(void)state;
	begin(&m);
	ADD(&m, 3, 0x190, 0x210);
	ADD(&m, 1, 0x190);
	ADD(&m, 1, 0x110);
	check_tree(&m, &apart, "a 5/1(ia:190 4/1(b@190 3/3))");
	begin(&m);
	ADD(&m, 3, 0x190, 0x210);
	ADD(&m, 1, 0x190);
	check_tree(&m, &without, "a 4/1(b@190 3/3)");
}

/* Figure 5 of the paper: a calls b, b calls a again, which calls c. */
static void test_fold(void **state)
{
	struct tree_options fold = {.fold = true}, plain = {0};
	struct made m;

	(void)state;
	begin(&m);
	ADD(&m, 2, 0x110, 0x210, 0x110, 0x300);
	ADD(&m, 1, 0x110, 0x210, 0x110, 0x210);
	check_tree(&m, &fold, "a* 3/0(c@110 2/2, b@110 1/1)");
	begin(&m);
	ADD(&m, 2, 0x110, 0x210, 0x110, 0x300);
	ADD(&m, 1, 0x110, 0x210, 0x110, 0x210);
	check_tree(&m, &plain, "a 3/0(b@110 3/0(a@210 3/0(c@110 2/2, b@110 1/1)))");
}

static void test_notes(void **state)
{
	struct tree_options apart = {0};
	const struct stack_quality *q;
	struct made m;

	(void)state;
	begin(&m);
	ADD(&m, 5, FEED_NOTE, 0x110);
	ADD(&m, 7, 0x110, FEED_LEFT, 0x200);
	ADD(&m, 9, 0x110, FEED_IDLE);
	ADD(&m, 1, FEED_NOTE);
	build(&m, &apart);
	q = &m.set->quality;
	assert_int_equal(q->stacks, 13);
	assert_int_equal(q->complete, 7);
	assert_int_equal(q->gapped, 7);
	assert_int_equal(q->reasons, 1);
	assert_string_equal(q->truncated[0].name, "bad luck");
	assert_int_equal(q->truncated[0].stacks, 6);
	assert_int_equal(m.set->totals[0], 13);
	assert_int_equal(m.set->idle[0], 9);
	end(&m);
	begin(&m);
	ADD(&m, 5, FEED_NOTE, 0x110);
	ADD(&m, 7, 0x110, FEED_LEFT, 0x200);
	check_tree(&m, &apart,
		   "a 7/0([frames left out]@110 7/0(b 7/7)), [truncated: bad luck] 5/0(a 5/5)");
}

static void test_selection(void **state)
{
	struct query_selection other = {.subjects = (const char *[]){"comm=other"},
					.subject_count = 1};
	struct tree_options focus = {.function = "^c$"}, apart = {0};
	struct made m;

	(void)state;
	add_small(&m);
	check_tree(&m, &focus, "a 6/0(b@110 6/0(c@210 4/4, c@220 2/2))");
	begin_all(&m, &other, QUERY_WHOLE);
	ADD(&m, 5, 0x110);
	add(&m, "other", 3, 1, (uint64_t[]){0x210});
	build(&m, &apart);
	assert_int_equal(m.set->totals[0], 8);
	assert_int_equal(m.tree->selected[0], 3);
	assert_int_equal(m.tree->node_count, 2);
	end(&m);
	begin_all(&m, &everything, QUERY_SUBJECT);
	ADD(&m, 5, 0x110);
	add(&m, "other", 3, 1, (uint64_t[]){0x110});
	build(&m, &apart);
	assert_int_equal(m.tree->node_count, 5);
	assert_int_equal(m.tree->nodes[0].child_count, 2);
	assert_int_equal(tree_total(m.tree, m.tree->children[0], 0), 5);
	end(&m);
}

/* The same by brute force: sums of random stacks by what each of their beginnings is called. */

#define STACKS 300
#define DEEP   9

struct random_stacks {
	uint64_t frames[STACKS][DEEP];
	uint32_t depth[STACKS];
	uint64_t count[STACKS];
};

struct sums {
	struct intern *names;
	uint64_t self[100000], total[100000];
};

struct step {
	char name[4];
	uint64_t site, line;
};

static uint32_t random_number(uint32_t below)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

static void make_random(struct random_stacks *r, uint32_t functions)
{
	static const uint64_t places[] = {0x10, 0x20, 0x90, 0xa0};

	for (uint32_t i = 0; i < STACKS; i++) {
		r->depth[i] = 1 + random_number(DEEP);
		r->count[i] = 1 + random_number(5);
		for (uint32_t k = 0; k < r->depth[i]; k++)
			r->frames[i][k] =
				0x100 * (1 + random_number(functions)) + places[random_number(4)];
	}
}

static void feed_random(struct made *m, const struct random_stacks *r)
{
	begin(m);
	for (uint32_t i = 0; i < STACKS; i++)
		add(m, "app", r->count[i], r->depth[i], r->frames[i]);
}

/* A level of a frame as the tree should see it. False: the frame has no such level. */
static bool make_step(const struct tree_options *o, const uint64_t *frames, uint32_t i, int level,
		      struct step *ret)
{
	*ret = (struct step){"", UINT64_MAX, 0};
	if (level && (!(frames[i] & 0x80) || o->no_inlined))
		return false;
	snprintf(ret->name, sizeof(ret->name), "%s%c", level ? "i" : "",
		 (char)('a' + (frames[i] >> 8) - 1));
	if (!level && i && !o->merge_sites)
		ret->site = frames[i - 1];
	if (level && !o->merge_sites)
		ret->line = frames[i];
	return true;
}

static uint32_t sum_index(struct sums *s, const char *path)
{
	uint32_t index;

	assert_int_equal(intern_add(s->names, path, strlen(path), &index), 0);
	assert_true(index < 100000);
	return index;
}

static void append_step(char *path, const struct step *s)
{
	sprintf(path + strlen(path), "/%s@%llx:%llx", s->name, (unsigned long long)s->site,
		(unsigned long long)s->line);
}

/* Where the step leads to from the way so far: on, or back to where its function is already. */
static uint32_t follow(const struct tree_options *o, struct step *way, uint32_t n,
		       const struct step *step)
{
	for (uint32_t i = 0; o->fold && i < n; i++)
		if (!strcmp(way[i].name, step->name))
			return i + 1;
	way[n] = *step;
	return n + 1;
}

static uint32_t way_index(struct sums *s, const struct step *way, uint32_t n)
{
	char path[1024] = "";

	for (uint32_t i = 0; i < n; i++)
		append_step(path, &way[i]);
	return sum_index(s, path);
}

static void sum_stacks(struct sums *s, const struct random_stacks *r, const struct tree_options *o)
{
	s->names = intern_new(100000);
	for (uint32_t i = 0; i < STACKS; i++) {
		struct step way[2 * DEEP], step;
		uint32_t n = 0;

		for (uint32_t k = 0; k < 2 * r->depth[i]; k++) {
			if (!make_step(o, r->frames[i], k / 2, k % 2, &step))
				continue;
			n = follow(o, way, n, &step);
			way_index(s, way, n);
		}
		s->self[way_index(s, way, n)] += r->count[i];
		for (; n; n--)
			s->total[way_index(s, way, n)] += r->count[i];
	}
}

/* The path of a node; of several calls that were merged, no site. */
static void node_path(const struct tree *t, uint32_t node, bool merged, char *path)
{
	const struct tree_node *n = &t->nodes[node];
	struct step s = {"", UINT64_MAX, 0};

	if (!node)
		return;
	node_path(t, n->parent, merged, path);
	snprintf(s.name, sizeof(s.name), "%s", tree_function(t, node)->name);
	if (!merged)
		s.site = n->site;
	if (!merged && tree_function(t, node)->inlined)
		s.line = n->site_line;
	append_step(path, &s);
}

static void check_random(const struct random_stacks *r, const struct tree_options *o)
{
	struct sums *s = calloc(1, sizeof(*s));
	struct made m;

	feed_random(&m, r);
	build(&m, o);
	sum_stacks(s, r, o);
	assert_int_equal(m.tree->node_count, intern_count(s->names) + 1);
	for (uint32_t i = 1; i < m.tree->node_count; i++) {
		char path[1024] = "";
		uint32_t at, count = intern_count(s->names);

		node_path(m.tree, i, o->merge_sites, path);
		at = sum_index(s, path);
		assert_true(at < count);
		assert_int_equal(tree_total(m.tree, i, 0), s->total[at]);
		assert_int_equal(tree_self(m.tree, i, 0), s->self[at]);
	}
	intern_free(s->names);
	free(s);
	end(&m);
}

static void test_random(void **state)
{
	struct random_stacks *r = malloc(sizeof(*r));

	(void)state;
	for (int i = 0; i < 16; i++) {
		struct tree_options o = {.merge_sites = i & 1, .fold = i & 2, .no_inlined = i & 4};

		make_random(r, i & 8 ? 3 : 12);
		check_random(r, &o);
	}
	free(r);
}

/* How many samples have the function anywhere, and how many end in it. */
static void count_function(const struct random_stacks *r, char name, uint64_t *ret_self,
			   uint64_t *ret_total)
{
	*ret_self = *ret_total = 0;
	for (uint32_t i = 0; i < STACKS; i++) {
		bool any = false;

		for (uint32_t k = 0; k < r->depth[i]; k++)
			any |= (char)('a' + (r->frames[i][k] >> 8) - 1) == name;
		*ret_total += any ? r->count[i] : 0;
		if ((char)('a' + (r->frames[i][r->depth[i] - 1] >> 8) - 1) == name)
			*ret_self += r->count[i];
	}
}

/* Functions that call themselves and each other count once a stack, in every view. */
static void check_inclusive(const struct made *m, const struct random_stacks *r, uint32_t functions)
{
	struct tree_callers_options options = {0};
	const struct stack_set *s = m->set;
	struct call_counts none = {0};
	struct call_graph *g;
	struct tree *turned;

	assert_int_equal(tree_callers(m->tree, &options, &turned, NULL), 0);
	assert_int_equal(call_graph_new(m->tree, &none, &g, NULL), 0);
	assert_int_equal(turned->nodes[0].child_count, functions);
	for (uint32_t i = 0; i < functions; i++) {
		uint32_t node = turned->children[i], f = turned->nodes[node].function;
		uint64_t self, total, callers = 0, callees = 0, arcs = 0, arcs_self = 0;
		bool *wanted = calloc(s->function_count, sizeof(*wanted));
		struct tree_neighbors *n;

		count_function(r, s->functions[f].name[0], &self, &total);
		assert_int_equal(tree_self(turned, node, 0), self);
		assert_int_equal(tree_total(turned, node, 0), total);
		wanted[f] = true;
		assert_int_equal(tree_neighbors_new(m->tree, wanted, false, &n, NULL), 0);
		assert_int_equal(n->self[0], self);
		assert_int_equal(n->total[0], total);
		for (size_t k = 0; k < n->caller_count; k++)
			callers += n->callers[k].stacks[0];
		for (size_t k = 0; k < n->callee_count; k++)
			callees += n->callees[k].stacks[0];
		assert_int_equal(callers, total);
		assert_int_equal(callees + self, total);
		assert_int_equal(g->functions[f].self, self);
		assert_int_equal(g->functions[f].total, total);
		for (uint32_t k = 0; k < g->functions[f].in_count; k++) {
			arcs += g->arcs[g->functions[f].in[k]].total;
			arcs_self += g->arcs[g->functions[f].in[k]].self;
		}
		assert_int_equal(arcs, total);
		assert_int_equal(arcs_self, self);
		tree_neighbors_free(n);
		free(wanted);
	}
	call_graph_free(g);
	tree_free(turned);
}

static void test_inclusive(void **state)
{
	struct tree_options plain = {.no_inlined = true};
	struct random_stacks *r = malloc(sizeof(*r));
	struct made m;

	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		make_random(r, 2 + 3 * i);
		feed_random(&m, r);
		build(&m, &plain);
		check_inclusive(&m, r, 2 + 3 * i);
		end(&m);
	}
	free(r);
}

/* Each node of the turned tree has the samples that end in such a chain of calls. */
static void test_callers(void **state)
{
	struct tree_options plain = {.merge_sites = true, .no_inlined = true};
	struct tree_callers_options options = {.merge_sites = true};
	struct random_stacks *r = malloc(sizeof(*r));
	struct tree *turned;
	struct made m;

	(void)state;
	make_random(r, 4);
	feed_random(&m, r);
	build(&m, &plain);
	assert_int_equal(tree_callers(m.tree, &options, &turned, NULL), 0);
	for (uint32_t i = 1; i < turned->node_count; i++) {
		uint64_t sum = 0;
		uint32_t depth = 0;

		for (uint32_t k = i; k; k = turned->nodes[k].parent)
			depth++;
		for (uint32_t k = 0; k < STACKS; k++) {
			bool same = r->depth[k] >= depth;
			uint32_t node = i;

			for (uint32_t d = depth; d-- > 0 && same; node = turned->nodes[node].parent)
				same = tree_function(turned, node)->name[0] ==
				       (char)('a' + (r->frames[k][r->depth[k] - 1 - d] >> 8) - 1);
			sum += same ? r->count[k] : 0;
		}
		assert_int_equal(tree_self(turned, i, 0), sum);
	}
	tree_free(turned);
	options.least = 100;
	options.depth = 2;
	assert_int_equal(tree_callers(m.tree, &options, &turned, NULL), 0);
	for (uint32_t i = 1; i < turned->node_count; i++)
		if (turned->nodes[i].child_count)
			assert_true(tree_self(turned, i, 0) >= 100 && !turned->nodes[i].parent);
	tree_free(turned);
	end(&m);
	free(r);
}

static uint32_t function_named(const struct stack_set *s, const char *name)
{
	uint32_t i = 0;

	while (strcmp(s->functions[i].name, name) != 0)
		i++;
	return i;
}

static const struct call_arc *arc_between(const struct call_graph *g, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < g->arc_count; i++)
		if (g->arcs[i].from == from && g->arcs[i].to == to)
			return &g->arcs[i];
	fail_msg("no arc");
	return NULL;
}

/* c is called cheaply by a, many times, and once by b, where it takes its time. */
static void test_gprof(void **state)
{
	struct tree_options plain = {.no_inlined = true};
	struct call_count list[4];
	struct call_counts counts = {list, 4};
	struct call_graph *g;
	uint32_t a, b, c, m;
	struct made made;

	(void)state;
	begin(&made);
	ADD(&made, 5, 0xd10, 0x110, 0x310, 0x400);
	ADD(&made, 5, 0xd10, 0x110, 0x310);
	ADD(&made, 90, 0xd20, 0x210, 0x310, 0x400);
	build(&made, &plain);
	a = function_named(made.set, "a");
	b = function_named(made.set, "b");
	c = function_named(made.set, "c");
	m = function_named(made.set, "m");
	list[0] = (struct call_count){a, c, 999};
	list[1] = (struct call_count){b, c, 1};
	list[2] = (struct call_count){m, a, 1};
	list[3] = (struct call_count){m, b, 1};
	assert_int_equal(call_graph_new(made.tree, &counts, &g, NULL), 0);
	assert_int_equal(arc_between(g, a, c)->total, 10);
	assert_int_equal(arc_between(g, b, c)->total, 90);
	assert_int_equal(arc_between(g, a, c)->self, 5);
	assert_float_equal(arc_between(g, a, c)->gprof_total, 99.9, 1e-9);
	assert_float_equal(arc_between(g, b, c)->gprof_total, 0.1, 1e-9);
	assert_float_equal(arc_between(g, a, c)->gprof_self, 4.995, 1e-9);
	assert_float_equal(g->functions[a].gprof_total, 99.9, 1e-9);
	assert_float_equal(g->functions[m].gprof_total, 100, 1e-9);
	assert_int_equal(g->functions[c].calls, 1000);
	assert_int_equal(g->cycle_count, 0);
	call_graph_free(g);
	end(&made);
}

/* a and b call each other: a cycle, whose time goes to those who call into it, by calls. */
static void test_cycle(void **state)
{
	struct tree_options plain = {.no_inlined = true};
	struct call_counts none = {0};
	struct call_graph *g;
	uint32_t a, b, x, y;
	struct made made;

	(void)state;
	begin(&made);
	ADD(&made, 6, 0xe10, 0x110, 0x210, 0x110, 0x310);
	ADD(&made, 2, 0xf10, 0x210);
	build(&made, &plain);
	assert_int_equal(call_graph_new(made.tree, &none, &g, NULL), 0);
	a = function_named(made.set, "a");
	b = function_named(made.set, "b");
	x = function_named(made.set, "n");
	y = function_named(made.set, "o");
	assert_int_equal(g->cycle_count, 1);
	assert_int_equal(g->functions[a].cycle, 1);
	assert_int_equal(g->functions[b].cycle, 1);
	assert_int_equal(g->functions[x].cycle, 0);
	assert_int_equal(g->cycles[1].self, 2);
	assert_int_equal(g->cycles[1].total, 8);
	assert_float_equal(g->cycles[1].gprof_total, 8, 1e-9);
	assert_int_equal(arc_between(g, x, a)->total, 6);
	assert_int_equal(arc_between(g, y, b)->total, 2);
	/* No calls were counted: one for each site. */
	assert_float_equal(arc_between(g, x, a)->gprof_total, 4, 1e-9);
	assert_float_equal(arc_between(g, y, b)->gprof_total, 4, 1e-9);
	call_graph_free(g);
	end(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sites),	  cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_fold),	  cmocka_unit_test(test_notes),
		cmocka_unit_test(test_selection), cmocka_unit_test(test_random),
		cmocka_unit_test(test_inclusive), cmocka_unit_test(test_callers),
		cmocka_unit_test(test_gprof),	  cmocka_unit_test(test_cycle),
	};
	int r;

	feed_start();
	r = cmocka_run_group_tests(tests, NULL, NULL);
	feed_stop();
	return r;
}

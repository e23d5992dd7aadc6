/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sites),	  cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_fold),	  cmocka_unit_test(test_notes),
		cmocka_unit_test(test_selection),
	};
	int r;

	feed_start();
	r = cmocka_run_group_tests(tests, NULL, NULL);
	feed_stop();
	return r;
}

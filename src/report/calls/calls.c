/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/calls/calls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "report/describe.h"
#include "util/num.h"
#include "util/text.h"

#define CALLS_FEW 100 /* shares of so few are worth little */

/* The selection's image is asked of the whole stack, not of where it ends. */
static int build_tree(struct report_session *s, const struct calls_options *o,
		      struct calls_report *c, struct diag *diag)
{
	struct query_selection selection = s->options->selection;
	struct tree_options tree = o->tree;
	struct rank_source source = report_session_source(s);
	struct stack_options stacks = {.idle = o->idle, .by_group = o->group != QUERY_WHOLE};

	/* Calls of what was inlined cannot be counted. */
	if (o->gprof) {
		tree.no_inlined = true;
		tree.merge_sites = false;
	}
	stacks.inlines = !tree.no_inlined || o->function;
	tree.function = s->options->function;
	tree.image = selection.image;
	selection.image = NULL;
	int r = report_session_open(s, &selection, o->group, diag);
	if (!r)
		r = stack_set_new(s->query, &c->set, diag);
	if (!r)
		r = query_read(s->query, s->reader, diag);
	if (!r)
		r = stack_set_finish(c->set, &stacks, &source, diag);
	if (!r && !c->set->quality.stacks)
		r = report_fail_no_stacks(diag);
	if (!r)
		r = tree_new(c->set, &tree, &c->tree, diag);
	if (!r && o->gprof)
		r = call_counts_read(c->set, &source, s->reader, &c->counts, diag);
	return r;
}

static int pick(const struct calls_options *o, struct calls_report *c, struct diag *diag)
{
	c->functions = calloc(c->set->function_count + 1, sizeof(*c->functions));
	if (!c->functions)
		return diag_fail(diag, ENOMEM, "out of memory");
	return calls_pick(c->tree, o->function, c->functions, diag);
}

/* Of what is shown, as a share of all: else nothing would be left of a small selection. */
static int scale_prune(const struct calls_options *o, struct calls_report *c, struct diag *diag)
{
	uint64_t shown = c->tree->selected[0];
	int r = c->functions ? calls_count_through(c->tree, c->functions, &shown) : 0;

	if (r)
		return diag_fail(diag, ENOMEM, "out of memory");
	c->view.prune = o->prune * calls_share(c->tree, 0, shown) / 100;
	return 0;
}

/* What a report on stacks says before its rows. */
static void describe_tree(const struct tree *t, struct report_header *h)
{
	const struct stack_set *s = t->set;
	uint64_t idle = 0;

	report_describe_stacks(h, s);
	for (size_t e = 0; e < t->event_count; e++)
		idle += s->idle[e];
	if (idle)
		report_header_note(h, "%llu idle %s left out (--idle)",
				   TEXT_COUNT(idle, "sample is", "samples are"));
	if (t->event_count && !t->selected[0] && s->totals[0])
		report_nothing_matches(h);
	else if (t->event_count && t->selected[0] < s->totals[0])
		report_header_note(h, "the selection has %.2f%% of the samples",
				   calls_share(t, 0, t->selected[0]));
	report_describe_absent(h, "", "symbols", s->images_without_symbols, &s->symbols_reason);
}

static void note_gprof(const struct call_counts *counts, bool damaged, struct report_header *h)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < counts->count; i++)
		calls = num_add_sat(calls, counts->list[i].calls);
	report_header_note(h, "gprof: estimates by its rule, which shares a function's time among "
			      "its callers by their calls");
	if (!calls)
		report_header_note(
			h, "%s: for gprof's rule each call site counts as one call",
			damaged ? "no calls were followed, or their part of the database is damaged"
				: "no calls were followed in these epochs");
	else if (calls < CALLS_FEW)
		report_header_note(h, "only %llu %s followed: gprof's estimates are rough",
				   TEXT_COUNT(calls, "call was", "calls were"));
}

/* Turns the tree round: nothing is looked for that would not be shown. */
static int turn(const struct calls_options *o, struct calls_report *c, struct diag *diag)
{
	struct tree_callers_options wanted = {
		.functions = c->functions,
		.merge_sites = o->tree.merge_sites,
		.by_total = o->function,
		.depth = o->depth,
	};

	wanted.least = (uint64_t)(c->view.prune / 100 * (double)c->set->totals[0]);
	c->view.by_self = !o->function;
	int r = tree_callers(c->tree, &wanted, &c->turned, diag);
	c->view.tree = c->turned;
	return r;
}

/* What is shown of the tree, besides itself. */
static int look(struct report_session *s, const struct calls_options *o, struct calls_report *c,
		struct report_header *h, struct diag *diag)
{
	int r = 0;

	c->view.tree = c->tree;
	c->view.callers = o->callers;
	c->view.runs = s->options->format == TABLE_TEXT;
	if (o->page)
		return 0;
	if (o->callers)
		return turn(o, c, diag);
	if (o->gprof) {
		r = call_graph_new(c->tree, c->counts, &c->graph, diag);
		note_gprof(c->counts, db_reader_damages(s->reader), h);
		c->gprof = (struct calls_gprof){c->graph, c->view.prune, o->limit, &o->metrics};
	} else if (o->function) {
		r = tree_neighbors_new(c->tree, c->functions, o->tree.merge_sites, &c->neighbors,
				       diag);
		c->function = (struct calls_function){c->tree,	     c->neighbors, c->functions,
						      c->view.prune, o->limit,	   &o->metrics};
	}
	return r;
}

/* Says what went wrong where nobody has yet. */
static int explain(int r, struct diag *diag)
{
	if (r < 0 && !*diag->text)
		diag_fail(diag, -r, "%s", r == -ENOMEM ? "out of memory" : strerror(-r));
	return r;
}

int calls_make(struct report_session *s, const struct calls_options *o, struct calls_report *ret,
	       struct report_header *h, struct diag *diag)
{
	*ret = (struct calls_report){.view = {.hot = o->hot,
					      .depth = o->depth,
					      .limit = o->limit,
					      .metrics = o->metrics}};
	int r = build_tree(s, o, ret, diag);
	if (!r && o->function)
		r = pick(o, ret, diag);
	if (!r)
		r = scale_prune(o, ret, diag);
	if (r)
		return r;
	*diag->text = 0;
	report_describe(h, s);
	describe_tree(ret->tree, h);
	return explain(look(s, o, ret, h, diag), diag);
}

void calls_free(struct calls_report *r)
{
	free(r->functions);
	tree_neighbors_free(r->neighbors);
	call_graph_free(r->graph);
	call_counts_free(r->counts);
	tree_free(r->turned);
	tree_free(r->tree);
	stack_set_free(r->set);
}

int calls_table(const struct calls_report *r, struct report_header *h, struct table **ret,
		struct diag *diag)
{
	*diag->text = 0;
	return explain(r->graph	      ? calls_gprof_table(&r->gprof, h, ret, diag)
		       : r->neighbors ? calls_function_table(&r->function, h, ret, diag)
				      : calls_tree_table(&r->view, h, ret, diag),
		       diag);
}

int calls_json(const struct calls_report *r, struct report_header *h, FILE *out, struct diag *diag)
{
	*diag->text = 0;
	return explain(r->graph	      ? calls_gprof_json(&r->gprof, h, out, diag)
		       : r->neighbors ? calls_function_json(&r->function, h, out, diag)
				      : calls_tree_json(&r->view, h, out, diag),
		       diag);
}

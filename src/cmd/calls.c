/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "cmd/calls_view.h"
#include "cmd/prof_table.h"
#include "cmd/cmd.h"
#include "util/num.h"

/* culprit calls: who called what, and what it cost. */

#define PRUNE_DEFAULT 1
#define HOT_DEFAULT   50
#define CALLS_FEW     100 /* shares of so few are worth little */

enum {
	CALLS_CALLERS = REPORT_OPTION_END,
	CALLS_GPROF,
	CALLS_MERGE,
	CALLS_FOLD,
	CALLS_NO_INLINED,
	CALLS_HOT,
	CALLS_DEPTH,
	CALLS_PRUNE,
	CALLS_BY,
	CALLS_IDLE,
	CALLS_HTML,
};

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"callers", CALLS_CALLERS, NULL,
	 "bottom up: where samples were taken, and who called that"},
	{"gprof", CALLS_GPROF, NULL,
	 "gprof's listing, and beside the truth what gprof would have said"},
	{"merge", CALLS_MERGE, NULL, "one line for a callee, from wherever its caller calls it"},
	{"fold", CALLS_FOLD, NULL, "fold recursion: no function stands below itself"},
	{"no-inlined", CALLS_NO_INLINED, NULL, "inlined functions are part of what has them"},
	{"hot", CALLS_HOT, "[=PERCENT]",
	 "only the hot path: callees with so much of their caller (50)"},
	{"depth", CALLS_DEPTH, "N", "at most N levels"},
	{"limit", 'n', "N", "of each line only the N heaviest below it; the rest is one line"},
	{"prune", CALLS_PRUNE, "PERCENT",
	 "leave out what has less of what is shown (1; JSON and CSV: 0)"},
	REPORT_METRIC_OPTION,
	{"by", CALLS_BY, "WHAT", "apart for each: process, thread or subject",
	 "process thread subject"},
	{"idle", CALLS_IDLE, NULL, "with the kernel's idle functions"},
	{"html", CALLS_HTML, "FILE",
	 "a page instead: flame graph and icicle, with search and zoom"},
	REPORT_SELECTION_OPTIONS,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_calls_spec = {
	"calls",
	"[FUNCTION]",
	"Shows who called what: the tree of calls from the threads' starts in, with the samples "
	"that\n"
	"were in a function and in all that it called. Selections keep the stacks that have such "
	"a\n"
	"function or image anywhere; percentages are of all samples of the epochs, idle time left "
	"out.",
	options,
	false,
};

struct calls {
	struct report_options report;
	struct calls_view view;
	struct tree_options tree;
	struct stack_options stacks;
	enum query_group group;
	bool prune_given, by_callers, by_gprof;
	const char *operand; /* a function; NULL: none */
	const char *html;    /* file of the page; NULL: none */

	struct query *query;
	struct db_reader *reader;
	struct image_finder *finder;
	struct stack_set *set;
	struct tree *made, *turned;
	struct call_counts *counts; /* for gprof's listing */
	bool *functions;	    /* that the operand means */
};

static int take_by(struct calls *c, const char *text, struct diag *diag)
{
	enum rank_by by;

	if (prof_table_parse_by(text, &by, NULL) || rank_group(by) == QUERY_WHOLE)
		return diag_fail(diag, EINVAL, "--by '%s' is none of process, thread, subject",
				 text);
	c->group = rank_group(by);
	return 0;
}

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct calls *c = arg;

	switch (value) {
	case REPORT_METRIC:
		return metrics_take(&c->view.metrics, text, diag);
	case CALLS_CALLERS:
		c->by_callers = true;
		return 0;
	case CALLS_GPROF:
		c->by_gprof = true;
		return 0;
	case CALLS_MERGE:
		c->tree.merge_sites = true;
		return 0;
	case CALLS_FOLD:
		c->tree.fold = true;
		return 0;
	case CALLS_NO_INLINED:
		c->tree.no_inlined = true;
		return 0;
	case CALLS_IDLE:
		c->stacks.idle = true;
		return 0;
	case CALLS_HTML:
		c->html = text;
		return 0;
	case CALLS_HOT:
		c->view.hot = HOT_DEFAULT;
		return text ? cmd_take_percent("hot", text, &c->view.hot, diag) : 0;
	case CALLS_PRUNE:
		c->prune_given = true;
		return cmd_take_percent("prune", text, &c->view.prune, diag);
	case CALLS_BY:
		return take_by(c, text, diag);
	case CALLS_DEPTH:
		return cmd_take_count("depth", text, UINT64_MAX, &c->view.depth, diag);
	case 'n':
		return cmd_take_count("limit", text, UINT64_MAX, &c->view.limit, diag);
	}
	return report_take_option(&c->report, value, text, diag);
}

/* The selection's image is asked of the whole stack, not of where it ends. */
static int read_stacks(struct calls *c, struct diag *diag)
{
	const struct db_epoch *const *epochs;
	struct rank_source source;
	const char *path;
	size_t count;
	int r;

	if (c->by_gprof) {
		c->tree.no_inlined = true;
		c->tree.merge_sites = false;
	}
	c->stacks.inlines = !c->tree.no_inlined || c->operand;
	c->tree.function = c->report.function;
	c->tree.image = c->report.selection.image;
	c->report.selection.image = NULL;
	r = query_new(&c->report.selection, c->group, &c->query, diag);
	if (!r)
		r = stack_set_new(c->query, &c->set, diag);
	if (!r)
		r = report_open(&c->report, &path, &c->reader, diag);
	if (!r)
		r = query_read(c->query, c->reader, diag);
	if (r)
		return r;
	epochs = db_reader_selected(c->reader, &count);
	r = image_finder_new(path, count ? epochs[0]->machine : NULL, &c->finder);
	if (r)
		return diag_fail(diag, -r, "cannot look for symbols: %s", strerror(-r));
	source = report_source(c->finder);
	return stack_set_finish(c->set, &c->stacks, &source, diag);
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
		report_header_note(h, "%" PRIu64 " idle samples are left out (--idle)", idle);
	if (t->event_count && t->selected[0] < s->totals[0])
		report_header_note(h, "the selection has %.2f%% of the samples",
				   calls_share(t, 0, t->selected[0]));
	if (s->images_without_symbols)
		report_header_note(h, "no symbols of %zu image%s: %s", s->images_without_symbols,
				   s->images_without_symbols == 1 ? "" : "s, first",
				   s->symbols_reason.text);
}

static int describe(struct calls *c, struct report_header *h)
{
	int r = report_describe(h, c->reader, c->query, c->finder);

	if (r)
		return r;
	describe_tree(c->made, h);
	return 0;
}

/* Turns the tree round: nothing is looked for that would not be shown. */
static int turn(struct calls *c, struct diag *diag)
{
	struct tree_callers_options wanted = {
		.functions = c->functions,
		.merge_sites = c->tree.merge_sites,
		.by_total = c->operand,
		.depth = c->view.depth,
	};

	wanted.least = (uint64_t)(c->view.prune / 100 * (double)c->set->totals[0]);
	c->view.by_self = !c->operand;
	c->view.callers = true;
	return tree_callers(c->made, &wanted, &c->turned, diag);
}

static int show_function(struct calls *c, struct report_header *h, struct table **ret,
			 struct diag *diag)
{
	struct calls_function f = {.tree = c->made,
				   .functions = c->functions,
				   .prune = c->view.prune,
				   .limit = c->view.limit,
				   .metrics = &c->view.metrics};
	struct tree_neighbors *neighbors;
	int r = tree_neighbors_new(c->made, c->functions, c->tree.merge_sites, &neighbors, diag);

	if (r)
		return r;
	f.neighbors = neighbors;
	r = c->report.format == TABLE_JSON ? calls_function_json(&f, h, diag)
					   : calls_function_table(&f, h, ret, diag);
	tree_neighbors_free(neighbors);
	return r;
}

static void note_gprof(const struct call_counts *counts, bool damaged, struct report_header *h)
{
	uint64_t calls = 0;

	for (size_t i = 0; i < counts->count; i++)
		calls = num_add_sat(calls, counts->list[i].calls);
	report_header_note(h, "gprof: what its rule would say, which shares the time of a function "
			      "among its callers by their calls");
	if (!calls)
		report_header_note(h, "%s: for gprof's rule each call site counts as one call",
				   damaged ? "no calls were followed, or what is damaged had them"
					   : "no calls were followed in these epochs");
	else if (calls < CALLS_FEW)
		report_header_note(h,
				   "only %" PRIu64 " calls were followed: what gprof would say "
				   "is rough",
				   calls);
}

/* Calls of what was inlined cannot be counted. */
static int show_gprof(struct calls *c, struct report_header *h, struct table **ret,
		      struct diag *diag)
{
	struct calls_gprof g = {
		.prune = c->view.prune, .limit = c->view.limit, .metrics = &c->view.metrics};
	struct call_graph *graph = NULL;
	int r = call_graph_new(c->made, c->counts, &graph, diag);

	if (!r) {
		note_gprof(c->counts, db_reader_damages(c->reader), h);
		g.graph = graph;
		r = c->report.format == TABLE_JSON ? calls_gprof_json(&g, h, diag)
						   : calls_gprof_table(&g, h, ret, diag);
	}
	call_graph_free(graph);
	return r;
}

static int show(struct calls *c, struct report_header *h, struct diag *diag)
{
	struct table *t = NULL;
	int r = 0;

	if (c->html) {
		c->view.tree = c->made;
		c->view.callers = c->by_callers;
		report_tell_damage(h);
		return calls_write_html(&c->view, h, c->html, diag);
	}
	if (c->by_callers)
		r = turn(c, diag);
	c->view.tree = c->by_callers ? c->turned : c->made;
	c->view.runs = c->report.format == TABLE_TEXT;
	if (c->by_gprof)
		r = show_gprof(c, h, &t, diag);
	else if (!r && c->operand && !c->by_callers)
		r = show_function(c, h, &t, diag);
	else if (!r && c->report.format == TABLE_JSON)
		r = calls_tree_json(&c->view, h, diag);
	else if (!r)
		r = calls_tree_table(&c->view, h, &t, diag);
	if (!r && t)
		r = report_print(t, h, c->report.format);
	table_free(t);
	return r;
}

static int build(struct calls *c, struct diag *diag)
{
	struct rank_source source;
	int r = read_stacks(c, diag);

	if (r)
		return r;
	if (!c->set->quality.stacks)
		return report_fail_no_stacks(diag);
	r = tree_new(c->set, &c->tree, &c->made, diag);
	if (!r && c->by_gprof) {
		source = report_source(c->finder);
		r = call_counts_read(c->set, &source, c->reader, &c->counts, diag);
	}
	if (r || !c->operand)
		return r;
	c->functions = calloc(c->set->function_count + 1, sizeof(*c->functions));
	if (!c->functions)
		return diag_fail(diag, ENOMEM, "out of memory");
	return calls_pick(c->made, c->operand, c->functions, diag);
}

/* Of what is shown, as a share of all: else nothing would be left of a small selection. */
static int scale_prune(struct calls *c, struct diag *diag)
{
	uint64_t shown = c->made->selected[0];
	int r = c->functions ? calls_count_through(c->made, c->functions, &shown) : 0;

	if (r)
		return diag_fail(diag, ENOMEM, "out of memory");
	if (!c->prune_given)
		c->view.prune = c->report.format == TABLE_TEXT && !c->html ? PRUNE_DEFAULT : 0;
	c->view.prune = c->view.prune * calls_share(c->made, 0, shown) / 100;
	return 0;
}

static int run(struct calls *c, struct diag *diag)
{
	struct report_header h = {0};
	int r = build(c, diag);

	if (!r)
		r = scale_prune(c, diag);
	if (!r) {
		*diag->text = 0;
		r = describe(c, &h);
		if (!r)
			r = show(c, &h, diag);
		if (r < 0 && !*diag->text)
			diag_fail(diag, -r, "%s", r == -ENOMEM ? "out of memory" : strerror(-r));
	}
	report_header_free(&h);
	return r;
}

static int check_options(const struct calls *c, struct diag *diag)
{
	if (c->by_gprof && (c->by_callers || c->operand || c->tree.fold || c->group))
		return diag_fail(diag, EINVAL,
				 "--gprof is of all functions, without --callers, --fold and --by");
	if (c->html && (c->operand || c->by_gprof))
		return diag_fail(diag, EINVAL,
				 "--html shows the whole tree, without FUNCTION and --gprof; "
				 "--function keeps the stacks that have one");
	if (c->html && c->report.format != TABLE_TEXT)
		return diag_fail(diag, EINVAL, "one of --html, --json and --csv");
	return 0;
}

int cmd_calls(int argc, char **argv)
{
	struct calls c = {.stacks.inlines = true, .group = QUERY_WHOLE};
	struct diag diag = {""};
	int r, operand;

	r = cmd_parse(&cmd_calls_spec, argc, argv, take_option, &c, &operand);
	if (r >= 0) {
		metrics_free(&c.view.metrics);
		return r;
	}
	if (operand < argc)
		c.operand = argv[operand++];
	r = operand < argc ? diag_fail(&diag, EINVAL, "one function at a time")
			   : check_options(&c, &diag);
	if (!r)
		r = run(&c, &diag);
	metrics_free(&c.view.metrics);
	free(c.functions);
	call_counts_free(c.counts);
	tree_free(c.turned);
	tree_free(c.made);
	stack_set_free(c.set);
	query_free(c.query);
	image_finder_free(c.finder);
	report_close(c.reader);
	if (r == -EINVAL)
		return cmd_fail_usage("calls", &diag);
	return r < 0 ? cmd_fail(&diag) : r;
}

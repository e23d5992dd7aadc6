/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "report/calls/calls_view.h"
#include "util/buf.h"
#include "util/num.h"
#include "util/text.h"

/*
 * gprof's listing: for each function a line with its callers above and its callees below; what the
 * stacks say, and beside it what gprof would have said.
 */

/* A function, or a cycle as a whole. */
struct entry {
	uint64_t total;
	uint32_t function; /* CALL_NOBODY: a cycle */
	uint32_t cycle;
};

struct listing {
	const struct calls_gprof *gprof;
	const struct call_graph *graph;
	const struct tree *tree;
	struct entry *entries;
	size_t count;
	uint32_t *indices; /* of functions in the listing, from 1; 0: not in it */
	struct table *table;
	struct metrics_bound metrics;
	json_t *lines; /* of the entry at hand */
	int index, percent, self, children, total, rule, calls, name;
	bool any;
	FILE *out; /* of JSON */
};

/* What a line says, of a function or of an arc. */
struct line {
	uint32_t function;
	uint64_t self, total, calls, all_calls; /* all_calls: of an arc, those of the callee */
	double rule;
	const uint64_t *counts; /* the total, for each event */
};

static const uint64_t *totals_at(const struct listing *l, const uint64_t *all, size_t index)
{
	return all + index * l->tree->event_count;
}

static struct line function_line(const struct listing *l, uint32_t function)
{
	const struct call_function *f = &l->graph->functions[function];

	return (struct line){function,
			     f->self,
			     f->total,
			     f->calls,
			     0,
			     f->gprof_total,
			     totals_at(l, l->graph->function_totals, function)};
}

static int compare_entries(const void *a, const void *b, void *arg)
{
	const struct entry *x = a, *y = b;
	const struct stack_function *functions = arg;
	int d = NUM_ORDER(y->total, x->total);

	if (!d)
		d = (y->function == CALL_NOBODY) - (x->function == CALL_NOBODY);
	if (!d && x->function != CALL_NOBODY)
		d = strcmp(functions[x->function].name, functions[y->function].name);
	if (!d)
		d = NUM_ORDER(x->function, y->function);
	return d ? d : NUM_ORDER(x->cycle, y->cycle);
}

static int list_entries(struct listing *l)
{
	const struct call_graph *g = l->graph;
	size_t functions = l->tree->set->function_count;

	l->entries = calloc(functions + g->cycle_count + 1, sizeof(*l->entries));
	l->indices = calloc(functions + 1, sizeof(*l->indices));
	if (!l->entries || !l->indices)
		return -ENOMEM;
	for (uint32_t i = 0; i < functions; i++)
		if (g->functions[i].total)
			l->entries[l->count++] = (struct entry){g->functions[i].total, i, 0};
	for (uint32_t i = 1; i <= g->cycle_count; i++)
		l->entries[l->count++] = (struct entry){g->cycles[i].total, CALL_NOBODY, i};
	if (l->count)
		qsort_r(l->entries, l->count, sizeof(*l->entries), compare_entries,
			l->tree->set->functions);
	for (uint32_t i = 0; i < l->count; i++)
		if (l->entries[i].function != CALL_NOBODY)
			l->indices[l->entries[i].function] = i + 1;
	return 0;
}

/* rank: among its like, the heaviest first. */
static bool is_shown(const struct listing *l, double stacks, size_t rank)
{
	return calls_share(l->tree, 0, (uint64_t)ceil(stacks)) >= l->gprof->prune &&
	       (!l->gprof->limit || rank < l->gprof->limit);
}

static bool is_arc_shown(const struct listing *l, const uint32_t *arcs, uint32_t rank)
{
	const struct call_arc *a = &l->graph->arcs[arcs[rank]];

	return is_shown(l, fmax((double)a->total, a->gprof_total), rank);
}

static struct line arc_line(const struct listing *l, const struct call_arc *a, bool caller)
{
	const struct call_function *to = &l->graph->functions[a->to];

	return (struct line){caller ? a->from : a->to,
			     a->self,
			     a->total,
			     a->calls,
			     to->calls,
			     a->gprof_total,
			     totals_at(l, l->graph->arc_totals, (size_t)(a - l->graph->arcs))};
}

/* "name <cycle 1> [4]", indented unless it is the entry's own. */
static void set_name(struct listing *l, uint32_t function, bool own)
{
	const struct stack_set *s = l->tree->set;
	const char *name = function == CALL_NOBODY ? "[thread start]" : s->functions[function].name;
	struct buf b;

	buf_init(&b, 1 << 20);
	buf_printf(&b, "%s", own ? "" : "    ");
	calls_write_name(name, &b);
	if (function != CALL_NOBODY && l->graph->functions[function].cycle)
		buf_printf(&b, " <cycle %" PRIu32 ">", l->graph->functions[function].cycle);
	if (function != CALL_NOBODY && l->indices[function])
		buf_printf(&b, " [%" PRIu32 "]", l->indices[function]);
	table_set_buf(l->table, l->name, &b);
	buf_free(&b);
}

static void set_numbers(struct listing *l, const struct line *n)
{
	char calls[64] = "";

	table_set_count(l->table, l->self, n->self);
	table_set_count(l->table, l->children, n->total - n->self);
	table_set_count(l->table, l->total, n->total);
	table_set_real(l->table, l->rule, n->rule);
	metrics_set(&l->metrics, l->table, n->counts);
	if (n->all_calls)
		snprintf(calls, sizeof(calls), "%" PRIu64 "/%" PRIu64, n->calls, n->all_calls);
	else if (n->calls)
		snprintf(calls, sizeof(calls), "%" PRIu64, n->calls);
	table_set_text(l->table, l->calls, calls);
}

static json_t *json_name(const struct listing *l, uint32_t function)
{
	const struct stack_set *s = l->tree->set;
	json_t *object = json_object();
	char id[IMAGE_ID_TEXT_MAX];

	if (function == CALL_NOBODY) {
		json_object_set_new(object, "function", json_string("[thread start]"));
		return object;
	}
	image_id_format(&s->images[s->functions[function].image].id, id);
	json_object_set_new(object, "function", report_json_text(s->functions[function].name));
	json_object_set_new(object, "image",
			    report_json_text(s->images[s->functions[function].image].path));
	json_object_set_new(object, "build_id", json_string(id));
	json_object_set_new(object, "index", json_integer(l->indices[function]));
	json_object_set_new(object, "cycle", json_integer(l->graph->functions[function].cycle));
	return object;
}

static void set_json(const struct listing *l, json_t *object, const struct line *n)
{
	json_object_set_new(object, "self", report_json_count(n->self));
	json_object_set_new(object, "descendants", report_json_count(n->total - n->self));
	json_object_set_new(object, "total", report_json_count(n->total));
	json_object_set_new(object, "gprof", report_json_number(n->rule));
	json_object_set_new(object, "calls", report_json_count(n->calls));
	if (l->metrics.metrics->count)
		json_object_set_new(object, "metrics", metrics_json(&l->metrics, n->counts));
}

/* A line for an arc. */
static int add_arc(struct listing *l, const struct call_arc *a, bool caller)
{
	struct line line = arc_line(l, a, caller);
	json_t *object;

	if (!l->table) {
		object = json_name(l, line.function);
		set_json(l, object, &line);
		return json_array_append_new(l->lines, object) ? -ENOMEM : 0;
	}
	table_add_row(l->table);
	set_numbers(l, &line);
	set_name(l, line.function, false);
	return 0;
}

static void add_rest(struct listing *l, uint32_t count, uint64_t stacks)
{
	char text[96];

	if (!count || !l->table)
		return;
	snprintf(text, sizeof(text), "    \xe2\x80\xa6 %" PRIu32 " more, %.2f%%", count,
		 calls_share(l->tree, 0, stacks));
	table_add_row(l->table);
	table_set_count(l->table, l->total, stacks);
	table_set_text(l->table, l->name, text);
}

/* The arcs of a function. Callers stand with the heaviest next to it. */
static int add_arcs(struct listing *l, const uint32_t *arcs, uint32_t count, bool callers)
{
	uint64_t rest = 0;
	uint32_t hidden = 0;
	int r = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (!is_arc_shown(l, arcs, i)) {
			rest = num_add_sat(rest, l->graph->arcs[arcs[i]].total);
			hidden++;
		}
	}
	if (callers)
		add_rest(l, hidden, rest);
	for (uint32_t i = 0; i < count && !r; i++) {
		uint32_t rank = callers ? count - 1 - i : i;

		if (is_arc_shown(l, arcs, rank))
			r = add_arc(l, &l->graph->arcs[arcs[rank]], callers);
	}
	if (!r && !callers)
		add_rest(l, hidden, rest);
	return r;
}

static void own_line(struct listing *l, uint32_t index, const struct line *line)
{
	char text[32];

	snprintf(text, sizeof(text), "[%" PRIu32 "]", index);
	table_add_row(l->table);
	table_set_text(l->table, l->index, text);
	table_set_real(l->table, l->percent, calls_share(l->tree, 0, line->total));
	set_numbers(l, line);
}

static int add_function(struct listing *l, uint32_t index, uint32_t function)
{
	const struct call_function *f = &l->graph->functions[function];
	struct line line = function_line(l, function);
	int r = add_arcs(l, f->in, f->in_count, true);

	own_line(l, index, &line);
	set_name(l, function, true);
	return r ? r : add_arcs(l, f->out, f->out_count, false);
}

/* A cycle as a whole, and its functions. */
static void add_cycle(struct listing *l, uint32_t index, uint32_t cycle)
{
	const struct call_cycle *c = &l->graph->cycles[cycle];
	struct line line = {CALL_NOBODY,
			    c->self,
			    c->total,
			    c->calls,
			    0,
			    c->gprof_total,
			    totals_at(l, l->graph->cycle_totals, cycle)};
	char name[64];

	own_line(l, index, &line);
	snprintf(name, sizeof(name), "<cycle %" PRIu32 " as a whole>", cycle);
	table_set_text(l->table, l->name, name);
	for (uint32_t i = 0; i < l->count; i++) {
		uint32_t f = l->entries[i].function;

		if (f == CALL_NOBODY || l->graph->functions[f].cycle != cycle)
			continue;
		line = function_line(l, f);
		table_add_row(l->table);
		set_numbers(l, &line);
		set_name(l, f, false);
	}
}

static int print_function(struct listing *l, uint32_t function)
{
	const struct call_function *f = &l->graph->functions[function];
	struct line line = function_line(l, function);
	json_t *object = json_name(l, function);

	set_json(l, object, &line);
	json_object_set_new(object, "percent",
			    report_json_number(calls_share(l->tree, 0, f->total)));
	json_object_set_new(object, "recursive_calls", report_json_count(f->recursive_calls));
	json_object_set_new(object, "guessed", json_boolean(f->guessed));
	l->lines = json_array();
	int r = add_arcs(l, f->in, f->in_count, true);
	json_object_set_new(object, "callers", l->lines);
	l->lines = json_array();
	if (!r)
		r = add_arcs(l, f->out, f->out_count, false);
	json_object_set_new(object, "callees", l->lines);
	fputs(l->any ? ",\n" : "\n", l->out);
	l->any = true;
	return report_json_print(object, 0, l->out) ? -ENOMEM : r;
}

static void add_columns(struct listing *l)
{
	struct table *t = l->table;

	l->index = table_add_column(t, TABLE_NAME, "index", "index");
	l->percent = table_add_column(t, TABLE_PERCENT, "percent", "%time");
	l->self = table_add_column(t, TABLE_COUNT, "self", "self");
	l->children = table_add_column(t, TABLE_COUNT, "descendants", "children");
	l->total = table_add_column(t, TABLE_COUNT, "total", "total");
	l->rule = table_add_column(t, TABLE_REAL, "gprof", "gprof");
	l->calls = table_add_column(t, TABLE_NAME, "calls", "calls");
	metrics_add_columns(&l->metrics, t, "metrics", "");
	table_set_spare(t, l->children, 1);
	table_set_spare(t, l->calls, 2);
	l->name = table_add_text_column(t, "name", "name");
}

static int add_entries(struct listing *l)
{
	size_t hidden = 0;
	char text[64];
	int r = 0;

	for (uint32_t i = 0; i < l->count && !r; i++) {
		const struct entry *e = &l->entries[i];
		double rule = e->function == CALL_NOBODY
				      ? 0
				      : l->graph->functions[e->function].gprof_total;

		if (!is_shown(l, fmax((double)e->total, rule), i)) {
			hidden++;
			continue;
		}
		if (i)
			table_add_row(l->table);
		if (e->function == CALL_NOBODY && l->table)
			add_cycle(l, i + 1, e->cycle);
		else if (e->function != CALL_NOBODY)
			r = l->table ? add_function(l, i + 1, e->function)
				     : print_function(l, e->function);
	}
	if (!hidden || !l->table || r)
		return r;
	snprintf(text, sizeof(text), "\xe2\x80\xa6 %llu more %s",
		 TEXT_COUNT(hidden, "function", "functions"));
	table_add_row(l->table);
	table_add_row(l->table);
	table_set_text(l->table, l->name, text);
	return 0;
}

static int make(struct listing *l)
{
	int r = list_entries(l);

	if (!r)
		r = add_entries(l);
	free(l->entries);
	free(l->indices);
	return r;
}

static int begin(struct listing *l, const struct calls_gprof *p, struct diag *diag)
{
	const struct stack_set *set = p->graph->tree->set;

	*l = (struct listing){.gprof = p, .graph = p->graph, .tree = p->graph->tree};
	return metrics_bind(p->metrics, set->query, set->totals, &l->metrics, diag);
}

int calls_gprof_table(const struct calls_gprof *p, struct report_header *h, struct table **ret,
		      struct diag *diag)
{
	struct listing l;
	int r = begin(&l, p, diag);

	if (r)
		return r;
	l.table = *ret = table_new("calls");
	if (!l.table)
		return -ENOMEM;
	add_columns(&l);
	r = make(&l);
	metrics_describe(&l.metrics, NULL, h);
	return r;
}

int calls_gprof_json(const struct calls_gprof *p, struct report_header *h, FILE *out,
		     struct diag *diag)
{
	struct listing l;
	int r = begin(&l, p, diag);

	if (r)
		return r;
	metrics_describe(&l.metrics, NULL, h);
	r = report_json_print(calls_json_header(l.tree->set, h), 1, out);
	if (r)
		return r;
	l.out = out;
	fputs(",\n\"rows\":[", out);
	r = make(&l);
	fputs("\n]}\n", out);
	return r;
}

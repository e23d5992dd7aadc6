/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "report/calls/calls_view.h"
#include "report/describe.h"
#include "util/array.h"
#include "util/buf.h"
#include "util/text.h"

/*
 * A tree as text and CSV. A single callee stands right below its caller, without another indent,
 * so that long chains stay readable; branches are drawn.
 */

#define LEAD_MAX_BYTES 240 /* deeper branches are drawn at the same place */
#define TREE_PERCENT   60  /* of a terminal's width: names stand the further right the deeper */

struct lead {
	size_t size;	/* of the lead of what is below the node */
	uint32_t lines; /* that are still to come below it: shown children, and one for the rest */
	bool single;	/* there is but one: no branch is drawn */
};

/* Deep recursion in a tree: stretches in which the same calls follow each other again and again. */

#define CHAIN_MAX  4096 /* nodes that are looked at; a longer run is shown as several */
#define PERIOD_MAX 8
#define COPIES_MIN 3 /* fewer are as well shown */

struct run {
	uint32_t period, again;
};

static bool counts_equal(const struct calls_view *v, uint32_t a, uint32_t b)
{
	size_t events = v->tree->event_count;
	const uint64_t *counts = v->by_self ? v->tree->self : v->tree->total;

	for (size_t e = 0; e < events; e++)
		if (counts[a * events + e] != counts[b * events + e])
			return false;
	return true;
}

/* The child that all stacks of a node go on to; UINT32_MAX: there is none. */
static uint32_t only_child(const struct calls_view *v, uint32_t node, uint64_t depth)
{
	const struct tree_node *n = &v->tree->nodes[node];
	struct calls_rest rest;
	uint32_t child;

	if (calls_count_shown(v, node, depth, &rest) != 1 || rest.nodes)
		return UINT32_MAX;
	child = v->tree->children[n->first_child]; /* what is shown stands first */
	return counts_equal(v, node, child) ? child : UINT32_MAX;
}

static bool same_call(const struct tree *t, uint32_t a, uint32_t b)
{
	const struct tree_node *x = &t->nodes[a], *y = &t->nodes[b];

	return x->function == y->function && x->site == y->site && x->site_line == y->site_line;
}

/* From a node that is shown, which stands at that depth: the calls of `period` nodes, which stand
 * there so many times again, each with all stacks of the one before. period 0: none repeats. */
static struct run find_run(const struct calls_view *v, uint32_t node, uint64_t depth)
{
	uint32_t chain[CHAIN_MAX], count = 0;

	while (node != UINT32_MAX && count < CHAIN_MAX) {
		chain[count++] = node;
		node = only_child(v, node, depth++);
	}
	count--; /* the last one goes on otherwise: it is always shown */
	for (uint32_t period = 1; period <= PERIOD_MAX; period++) {
		uint32_t equal = 0;

		while (equal + period < count &&
		       same_call(v->tree, chain[equal], chain[equal + period]))
			equal++;
		if (equal / period + 1 >= COPIES_MIN)
			return (struct run){period, equal / period};
	}
	return (struct run){0};
}

struct drawing {
	const struct calls_view *view;
	struct table *table;
	struct lead *leads; /* for each level */
	size_t lead_room;
	struct buf lead;
	struct run run;	   /* that the nodes at hand are of */
	uint32_t run_left; /* of its nodes; period * again of these are not shown */
	bool pruned;	   /* something that has no line of its own has none of a rest either */
	int samples, total, self, tree, site, image; /* columns */
	int depth, function, build_id, inlined, self_count;
	int events;			  /* the first of those of further events */
	struct metrics_bound with, alone; /* metrics with all that is called, and without */
};

void calls_format_site(const struct tree_node *n, bool shared, char *out, size_t room)
{
	bool line = n->site_file && n->site_line;
	int size = 0;

	*out = 0;
	if (line)
		size = snprintf(out, room, "%s:%" PRIu32, text_base_name(n->site_file),
				n->site_line);
	if (n->site != TREE_NO_SITE && (shared || !line) && (size_t)size < room)
		snprintf(out + size, room - (size_t)size, line ? " (%#" PRIx64 ")" : "%#" PRIx64,
			 n->site);
}

bool calls_share_line(const struct tree_node *a, const struct tree_node *b)
{
	return a->function == b->function && a->site_line && a->site_line == b->site_line &&
	       a->site != b->site && a->site_file && b->site_file &&
	       !strcmp(a->site_file, b->site_file);
}

/* Another line of the same parent would look the same. */
static bool shares_line(const struct tree *t, uint32_t node)
{
	const struct tree_node *n = &t->nodes[node], *parent = &t->nodes[n->parent];

	for (uint32_t i = 0; n->site_line && i < parent->child_count; i++)
		if (calls_share_line(n, &t->nodes[t->children[parent->first_child + i]]))
			return true;
	return false;
}

char *calls_group_name(const struct tree *t, uint32_t node)
{
	const struct query *q = t->set->query;
	struct subject_pair pair;
	size_t size, at = 0;
	struct buf b;
	char *name;
	const void *subject = intern_get(q->groups, t->nodes[node].group, &size);

	buf_init(&b, 2 * SUBJECT_MAX_BYTES);
	while (subject && subject_next(subject, size, &at, &pair)) {
		buf_append(&b, " ", b.size > 0);
		buf_append(&b, pair.key, pair.key_size);
		buf_append_u8(&b, '=');
		buf_append(&b, pair.value, pair.value_size);
	}
	name = b.error ? NULL : strndup(b.data ? (char *)b.data : "", b.size);
	buf_free(&b);
	return name;
}

static void add_columns(struct drawing *d)
{
	const struct query *q = d->view->tree->set->query;
	struct table *t = d->table;

	d->total = table_add_column(t, TABLE_PERCENT, "percent", "total%");
	d->self = table_add_column(t, TABLE_PERCENT, "self_percent", "self%");
	d->samples = table_add_column(t, TABLE_COUNT, "total", d->view->by_self ? NULL : "samples");
	d->self_count =
		table_add_column(t, TABLE_COUNT, "self", d->view->by_self ? "samples" : NULL);
	d->events = d->self_count + 1;
	for (size_t e = 1; e < q->event_count; e++) {
		table_add_group_column(t, TABLE_COUNT, "total", q->events[e].label, NULL);
		table_add_group_column(t, TABLE_COUNT, "self", q->events[e].label, NULL);
		table_add_column(t, TABLE_PERCENT, NULL, q->events[e].label);
	}
	metrics_add_columns(&d->with, t, "metrics", d->view->by_self ? NULL : "");
	metrics_add_columns(&d->alone, t, "self_metrics", d->view->by_self ? "" : NULL);
	table_set_spare(t, d->view->by_self ? d->total : d->self, 3);
	d->tree = table_add_text_column(t, NULL, "function");
	table_set_share(t, d->tree, TREE_PERCENT);
	d->depth = table_add_column(t, TABLE_COUNT, "depth", NULL);
	d->function = table_add_column(t, TABLE_NAME, "function", NULL);
	d->inlined = table_add_column(t, TABLE_COUNT, "inlined", NULL);
	d->site = table_add_column(t, TABLE_NAME, "site",
				   d->view->callers ? "calls at" : "called at");
	d->image = table_add_column(t, TABLE_NAME, "image", "image");
	d->build_id = table_add_column(t, TABLE_NAME, "build_id", NULL);
	table_set_spare(t, d->image, 1);
	table_set_spare(t, d->site, 2);
}

static void set_counts(struct drawing *d, uint32_t node)
{
	const struct tree *t = d->view->tree;
	int column = d->events;

	/* Of a chain of callers the total says little: what is under way twice counts once. */
	if (!d->view->by_self || !t->nodes[node].parent)
		table_set_real(d->table, d->total, calls_share(t, 0, tree_total(t, node, 0)));
	table_set_real(d->table, d->self, calls_share(t, 0, tree_self(t, node, 0)));
	table_set_count(d->table, d->samples, tree_total(t, node, 0));
	table_set_count(d->table, d->self_count, tree_self(t, node, 0));
	for (size_t e = 1; e < t->event_count; e++) {
		uint64_t total = tree_total(t, node, e), self = tree_self(t, node, e);

		table_set_count(d->table, column++, total);
		table_set_count(d->table, column++, self);
		table_set_real(d->table, column++,
			       calls_share(t, e, d->view->by_self ? self : total));
	}
	metrics_set(&d->with, d->table, &t->total[node * t->event_count]);
	metrics_set(&d->alone, d->table, &t->self[node * t->event_count]);
}

/* The lead of a line below a node: where it branches off. True when others follow. */
static bool begin_line(struct drawing *d, size_t level, struct buf *line)
{
	struct lead *above = &d->leads[level];
	bool last = above->lines <= 1;

	above->lines -= above->lines > 0;
	d->lead.size = above->size;
	buf_append(line, d->lead.data, d->lead.size);
	if (level && !above->single && d->lead.size < LEAD_MAX_BYTES) {
		buf_printf(line, "%s",
			   last ? "\xe2\x94\x94\xe2\x94\x80 " : "\xe2\x94\x9c\xe2\x94\x80 ");
		buf_printf(&d->lead, "%s", last ? "   " : "\xe2\x94\x82  ");
	}
	return !last;
}

void calls_write_name(const char *name, struct buf *to)
{
	size_t size = strlen(name), room = text_escape(NULL, 0, name, size) + 1;
	char *at = buf_reserve(to, room);

	if (at)
		to->size += text_escape(at, room, name, size);
}

static void set_function(struct drawing *d, uint32_t node, const struct stack_function *f)
{
	const struct query_image *image = &d->view->tree->set->images[f->image];
	char site[600];

	calls_format_site(&d->view->tree->nodes[node], shares_line(d->view->tree, node), site,
			  sizeof(site));
	table_set_text(d->table, d->function, f->name);
	table_set_count(d->table, d->inlined, f->inlined);
	if (*site)
		table_set_text(d->table, d->site, site);
	if (f->kind != STACK_NOTE && f->kind != STACK_UNKNOWN)
		report_set_image(d->table, d->image, d->build_id, image);
}

static int set_names(struct drawing *d, uint32_t node, struct buf *line)
{
	const struct stack_function *f = tree_function(d->view->tree, node);
	char *group = f ? NULL : calls_group_name(d->view->tree, node);

	if (!f && !group)
		return -ENOMEM;
	calls_write_name(f ? f->name : group, line);
	if (f && f->inlined)
		buf_printf(line, " (inlined)");
	else if (d->view->tree->nodes[node].recursive)
		buf_printf(line, " (recursive)");
	table_set_buf(d->table, d->tree, line);
	if (f)
		set_function(d, node, f);
	free(group);
	return 0;
}

/* For people a line of a rest, too, must have the share that lines shall have: else most lines of a
 * tree say that there is next to nothing, and each moves what is below it to the right. */
static bool has_line(const struct calls_view *v, const struct calls_rest *rest)
{
	return rest->nodes && (!v->runs || calls_share(v->tree, 0, rest->samples) >= v->prune);
}

static int open_level(struct drawing *d, uint32_t node, uint64_t depth)
{
	struct calls_rest rest;

	if (array_grow(&d->leads, depth, &d->lead_room, sizeof(*d->leads), 64))
		return -ENOMEM;
	d->leads[depth] = (struct lead){.size = d->lead.size};
	d->leads[depth].lines = calls_count_shown(d->view, node, depth, &rest);
	d->leads[depth].lines += has_line(d->view, &rest);
	d->leads[depth].single = d->leads[depth].lines == 1;
	return 0;
}

/* In place of the nodes that repeat others; the level is that of the last node that was shown. */
static void add_again(struct drawing *d)
{
	struct buf line;

	table_add_row(d->table);
	buf_init(&line, 1 << 20);
	buf_append(&line, d->lead.data, d->lead.size);
	if (d->run.period == 1)
		buf_printf(&line, "\xe2\x80\xa6 %" PRIu32 " %s more", d->run.again,
			   text_plural(d->run.again, "time", "times"));
	else
		buf_printf(&line, "\xe2\x80\xa6 these %" PRIu32 " calls, %" PRIu32 " %s more",
			   d->run.period, d->run.again, text_plural(d->run.again, "time", "times"));
	table_set_buf(d->table, d->tree, &line);
	buf_free(&line);
}

/* Whether the node repeats one that was shown; then a line may stand for it and all that do. */
static bool pass_run(struct drawing *d, uint32_t node, uint64_t depth)
{
	bool again;

	if (!d->view->runs)
		return false;
	if (!d->run_left) {
		d->run = find_run(d->view, node, depth);
		d->run_left = d->run.period * (d->run.again + 1);
	}
	if (!d->run_left)
		return false;
	again = d->run_left-- <= d->run.period * d->run.again;
	if (again && d->run_left + 1 == d->run.period * d->run.again)
		add_again(d);
	return again;
}

static int enter(void *arg, uint32_t node, uint64_t depth)
{
	struct drawing *d = arg;
	struct buf line;
	bool again;
	int r = 0;

	if (!depth)
		return open_level(d, node, depth);
	again = pass_run(d, node, depth);
	buf_init(&line, 1 << 20);
	begin_line(d, depth - 1, &line);
	if (!again) {
		table_add_row(d->table);
		set_counts(d, node);
		table_set_count(d->table, d->depth, depth);
		r = set_names(d, node, &line);
	}
	buf_free(&line);
	return r ? r : open_level(d, node, depth);
}

static int leave(void *arg, uint32_t node, uint64_t depth, const struct calls_rest *rest)
{
	struct drawing *d = arg;
	struct buf line;

	(void)node;
	if (!has_line(d->view, rest)) {
		d->pruned |= rest->nodes > 0;
		return 0;
	}
	table_add_row(d->table);
	buf_init(&line, 1 << 20);
	begin_line(d, depth, &line);
	buf_printf(&line, "\xe2\x80\xa6 %" PRIu32 " more, %.2f%%", rest->nodes,
		   calls_share(d->view->tree, 0, rest->samples));
	table_set_real(d->table, d->view->by_self ? d->self : d->total,
		       calls_share(d->view->tree, 0, rest->samples));
	table_set_count(d->table, d->view->by_self ? d->self_count : d->samples, rest->samples);
	table_set_count(d->table, d->depth, depth + 1);
	table_set_buf(d->table, d->tree, &line);
	buf_free(&line);
	return 0;
}

int calls_tree_table(const struct calls_view *v, struct report_header *h, struct table **ret,
		     struct diag *diag)
{
	const struct stack_set *set = v->tree->set;
	struct drawing d = {.view = v};
	struct calls_visitor visitor = {enter, leave, &d};
	int r = metrics_bind(&v->metrics, set->query, set->totals, &d.with, diag);

	if (r)
		return r;
	d.alone = d.with;
	d.table = *ret = table_new("calls");
	buf_init(&d.lead, 1 << 20);
	add_columns(&d);
	r = calls_walk(v, &visitor);
	metrics_describe(v->by_self ? &d.alone : &d.with, NULL, h);
	if (d.pruned)
		report_header_note(h, "lines of less than %.2g%% are left out (--prune)", v->prune);
	buf_free(&d.lead);
	free(d.leads);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/calls/calls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "exchange/stacks.h"
#include "render/flame.h"
#include "util/text.h"

/* The tree as a page. */

#define NOT_ADDED UINT32_MAX

struct html {
	const struct tree *tree;
	struct flame *flame;
	uint32_t *numbers; /* of the set's functions on the page */
	bool *shown;	   /* nodes */
	uint64_t *samples; /* of one node, for each event */
	uint32_t left_out; /* the function that stands for what is not shown */
};

static enum flame_kind find_kind(const struct tree *t, const struct stack_function *f)
{
	uint8_t kind = t->set->images[f->image].id.kind;

	if (f->kind == STACK_NOTE)
		return FLAME_NOTE;
	if (kind == IMAGE_KERNEL || kind == IMAGE_MODULE || kind == IMAGE_BPF)
		return FLAME_KERNEL;
	return f->inlined ? FLAME_INLINED : FLAME_USER;
}

static int add_group(struct html *p, uint32_t node, uint32_t *ret)
{
	char *name = calls_group_name(p->tree, node);
	struct flame_function function = {.name = name, .kind = FLAME_NOTE};
	int r = name ? flame_add_function(p->flame, &function, ret) : -ENOMEM;

	free(name);
	return r;
}

static int add_function(struct html *p, uint32_t node, uint32_t *ret)
{
	const struct stack_function *f = tree_function(p->tree, node);
	struct flame_function function;
	uint32_t *number;
	int r = 0;

	if (!f)
		return add_group(p, node, ret);
	number = &p->numbers[p->tree->nodes[node].function];
	if (*number == NOT_ADDED) {
		function = (struct flame_function){
			.name = f->name,
			.image = f->kind == STACK_NOTE ? NULL : p->tree->set->images[f->image].path,
			.file = p->tree->nodes[node].file,
			.kind = find_kind(p->tree, f),
		};
		r = flame_add_function(p->flame, &function, number);
	}
	*ret = *number;
	return r;
}

static int enter(void *arg, uint32_t node, uint64_t depth)
{
	struct html *p = arg;
	uint32_t function;

	p->shown[node] = true;
	if (!depth)
		return 0;
	int r = add_function(p, node, &function);
	for (size_t e = 0; e < p->tree->event_count && !r; e++)
		p->samples[e] = tree_self(p->tree, node, e);
	return r ? r : flame_add_context(p->flame, (uint32_t)depth - 1, function, p->samples);
}

/* What is not shown stays in the sums, under a name of its own. */
static int leave(void *arg, uint32_t node, uint64_t depth, const struct calls_rest *rest)
{
	struct html *p = arg;
	const struct tree_node *n = &p->tree->nodes[node];

	if (!rest->samples)
		return 0;
	memset(p->samples, 0, p->tree->event_count * sizeof(*p->samples));
	for (uint32_t i = 0; i < n->child_count; i++) {
		uint32_t child = p->tree->children[n->first_child + i];

		for (size_t e = 0; e < p->tree->event_count && !p->shown[child]; e++)
			p->samples[e] += tree_total(p->tree, child, e);
	}
	return flame_add_context(p->flame, (uint32_t)depth, p->left_out, p->samples);
}

static int add_all(struct html *p, const struct calls_view *v)
{
	struct flame_function left_out = {.name = "[pruned]", .kind = FLAME_NOTE};
	struct calls_visitor visitor = {enter, leave, p};
	const struct stack_set *s = v->tree->set;
	int r = 0;

	for (size_t e = 0; e < v->tree->event_count && !r; e++) {
		const struct query_event *event = &s->query->events[e];

		r = flame_add_event(p->flame, event->label,
				    stacks_is_clock(event) ? stacks_units(s, e) : 0);
	}
	if (!r)
		r = flame_add_function(p->flame, &left_out, &p->left_out);
	return r ? r : calls_walk(v, &visitor);
}

static int add_metrics(struct html *p, const struct metrics_bound *b)
{
	const struct metrics *m = b->metrics;
	int r = 0;

	for (size_t i = 0; i < m->count && !r; i++) {
		struct buf steps;

		buf_init(&steps, METRIC_STEPS_MAX * 64);
		metric_write_steps(m->list[i], &b->events[i], &b->all[i], &steps);
		buf_append_u8(&steps, 0);
		r = steps.error ? steps.error
				: flame_add_metric(p->flame, metric_name(m->list[i]),
						   (const char *)steps.data);
		buf_free(&steps);
	}
	return r;
}

/* When it was: people know no profile by its machine's number. Without a time its epoch's name. */
static void format_title(const struct report_header *h, char *out, size_t room)
{
	char day[16] = "", last[16] = "";
	size_t size = 0;

	if (h->end_ns > h->start_ns) {
		text_format_time(h->start_ns, "%F", day, sizeof(day));
		text_format_time(h->end_ns, "%F", last, sizeof(last));
		size = text_format_time(h->start_ns, "%F %T", out, room);
		size += text_format_time(h->end_ns,
					 strcmp(day, last) ? " to %F %T UTC" : " to %T UTC",
					 out + size, room - size);
	}
	if (!size)
		snprintf(out, room, "%s",
			 h->epoch_count ? h->epochs[h->epoch_count - 1] : "culprit");
}

static void format_summary(const struct tree *t, const struct report_header *h, char *out,
			   size_t room)
{
	const struct stack_quality *q = &t->set->quality;
	const struct query *query = t->set->query;
	bool one = query->event_count == 1;

	snprintf(out, room, "%llu %s%s%s, %.2f%% complete%s%s",
		 TEXT_COUNT(q->stacks, "stack", "stacks"), one ? " of " : "",
		 one ? query->events[0].label : "",
		 q->stacks ? 100 * (double)q->complete / (double)q->stacks : 0,
		 h->machine ? ", machine " : "", h->machine ? h->machine : "");
}

struct calls_page {
	const struct tree *tree;
	struct flame *flame;
	bool callers;
};

int calls_page_new(const struct calls_report *c, struct report_header *h, struct calls_page **ret,
		   struct diag *diag)
{
	const struct calls_view *v = &c->view;
	const struct stack_set *set = v->tree->set;
	struct html p = {.tree = v->tree};
	size_t functions = set->function_count;
	struct metrics_bound metrics;
	struct calls_page *page;
	int r = metrics_bind(&v->metrics, set->query, set->totals, &metrics, diag);

	if (r)
		return r;
	r = flame_new(v->tree->event_count, &p.flame);
	page = malloc(sizeof(*page));
	p.numbers = malloc((functions + 1) * sizeof(*p.numbers));
	p.shown = calloc(v->tree->node_count + 1, sizeof(*p.shown));
	p.samples = calloc(v->tree->event_count + 1, sizeof(*p.samples));
	if (!page || !p.numbers || !p.shown || !p.samples)
		r = -ENOMEM;
	for (size_t i = 0; i < functions && !r; i++)
		p.numbers[i] = NOT_ADDED;
	metrics_describe(&metrics, NULL, h);
	if (!r)
		r = add_metrics(&p, &metrics);
	if (!r)
		r = add_all(&p, v);
	free(p.numbers);
	free(p.shown);
	free(p.samples);
	if (!r) {
		*page = (struct calls_page){v->tree, p.flame, v->callers};
		*ret = page;
		return 0;
	}
	flame_free(p.flame);
	free(page);
	if (r == -ENOSPC)
		return diag_fail(diag, ENOSPC, "the tree is too large for a page: use --prune");
	return diag_fail(diag, -r, "cannot make the page: %s", strerror(-r));
}

int calls_page_write(const struct calls_page *p, const struct report_header *h, FILE *out)
{
	char title[512], summary[1024];
	struct flame_look look = {title, summary, p->callers};

	format_title(h, title, sizeof(title));
	format_summary(p->tree, h, summary, sizeof(summary));
	return flame_write(p->flame, &look, h, out);
}

void calls_page_free(struct calls_page *p)
{
	if (p)
		flame_free(p->flame);
	free(p);
}

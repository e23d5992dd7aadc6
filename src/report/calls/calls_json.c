/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include "report/calls/calls_view.h"

/* A tree as JSON, a node at a time, so that a large one is not held twice. */

struct writer {
	const struct calls_view *view;
	struct metrics_bound metrics;
	FILE *out;
	bool first; /* nothing stands before in the array at hand */
};

json_t *calls_json_header(const struct stack_set *s, const struct report_header *h)
{
	const struct stack_quality *q = &s->quality;
	json_t *object = report_json_header("calls", h), *truncated = json_object();

	for (size_t i = 0; i < q->reasons; i++)
		json_object_set_new(truncated, q->truncated[i].name,
				    report_json_count(q->truncated[i].stacks));
	if (!object || !truncated) {
		json_decref(object);
		json_decref(truncated);
		return NULL;
	}
	json_object_set_new(object, "stacks", report_json_count(q->stacks));
	json_object_set_new(object, "complete", report_json_count(q->complete));
	json_object_set_new(object, "gapped", report_json_count(q->gapped));
	json_object_set_new(object, "truncated", truncated);
	return object;
}

static void set_events(json_t *object, const struct tree *t, uint32_t node)
{
	const struct query *q = t->set->query;
	json_t *events = json_object();

	for (size_t e = 0; e < t->event_count; e++)
		json_object_set_new(events, q->events[e].label,
				    json_pack("{s:o, s:o}", "self",
					      report_json_count(tree_self(t, node, e)), "total",
					      report_json_count(tree_total(t, node, e))));
	json_object_set_new(object, "events", events);
}

static json_t *json_node(const struct writer *w, uint32_t node)
{
	const struct tree *t = w->view->tree;
	const struct stack_function *f = tree_function(t, node);
	const struct tree_node *n = &t->nodes[node];
	json_t *object = json_object();
	char *group = NULL, id[IMAGE_ID_TEXT_MAX];

	if (f) {
		const struct query_image *image = &t->set->images[f->image];
		bool code = f->kind == STACK_CODE || f->kind == STACK_NO_SYMBOL;

		image_id_format(&image->id, id);
		json_object_set_new(object, "function", report_json_text(f->name));
		json_object_set_new(object, "image", report_json_text(code ? image->path : NULL));
		json_object_set_new(object, "build_id", report_json_text(code ? id : NULL));
		json_object_set_new(object, "inlined", json_boolean(f->inlined));
		json_object_set_new(object, "site",
				    n->site == TREE_NO_SITE ? json_null()
							    : report_json_address(n->site));
		json_object_set_new(object, "site_file", report_json_text(n->site_file));
		json_object_set_new(object, "site_line",
				    n->site_line ? json_integer(n->site_line) : json_null());
	} else {
		group = calls_group_name(t, node);
		json_object_set_new(object, "subject", report_json_text(group));
		free(group);
	}
	if (n->recursive)
		json_object_set_new(object, "recursive", json_true());
	json_object_set_new(object, "self", report_json_count(tree_self(t, node, 0)));
	json_object_set_new(object, "total", report_json_count(tree_total(t, node, 0)));
	json_object_set_new(object, "percent",
			    report_json_number(calls_share(t, 0, tree_total(t, node, 0))));
	if (t->event_count > 1)
		set_events(object, t, node);
	if (w->metrics.metrics->count) {
		json_object_set_new(object, "metrics",
				    metrics_json(&w->metrics, &t->total[node * t->event_count]));
		json_object_set_new(object, "self_metrics",
				    metrics_json(&w->metrics, &t->self[node * t->event_count]));
	}
	return object;
}

static int enter(void *arg, uint32_t node, uint64_t depth)
{
	struct writer *w = arg;

	if (!depth)
		return 0;
	fputs(w->first ? "\n" : ",\n", w->out);
	int r = report_json_print(json_node(w, node), 1, w->out);
	fputs(",\"children\":[", w->out);
	w->first = true;
	return r;
}

static int leave(void *arg, uint32_t node, uint64_t depth, const struct calls_rest *rest)
{
	struct writer *w = arg;
	int r = 0;

	(void)node;
	fputs("]", w->out);
	if (rest->nodes) {
		fputs(",\"more\":", w->out);
		r = report_json_print(json_pack("{s:o, s:o}", "nodes",
						report_json_count(rest->nodes), "samples",
						report_json_count(rest->samples)),
				      0, w->out);
	}
	fputs(depth ? "}" : "}\n", w->out);
	w->first = false;
	return r;
}

int calls_tree_json(const struct calls_view *v, struct report_header *h, FILE *out,
		    struct diag *diag)
{
	const struct stack_set *set = v->tree->set;
	struct writer w = {.view = v, .out = out, .first = true};
	struct calls_visitor visitor = {enter, leave, &w};
	int r = metrics_bind(&v->metrics, set->query, set->totals, &w.metrics, diag);

	metrics_describe(&w.metrics, NULL, h);
	if (!r)
		r = report_json_print(calls_json_header(set, h), 1, out);
	if (r)
		return r;
	fputs(",\n\"rows\":[", out);
	return calls_walk(v, &visitor);
}

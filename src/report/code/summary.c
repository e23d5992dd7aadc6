/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/code/summary.h"
#include "report/describe.h"

#include <errno.h>
#include <stdlib.h>
#include "util/num.h"
#include "util/text.h"

/* What it is made from, and what becomes of it. */
struct summary {
	const struct summary_options *options;
	struct summary_report *made;
};

static int collect(struct summary_report *s, double cutoff, struct diag *diag)
{
	const struct report_session *session = s->estimates.session;
	size_t count;
	const struct insights_function *list = insights_functions(s->estimates.all, &count);
	double total = (double)estimates_samples(&s->estimates), seen = 0;

	s->parts = calloc(count + 1, sizeof(*s->parts));
	if (!s->parts)
		return diag_fail(diag, ENOMEM, "out of memory");
	for (size_t i = 0; i < count && seen < cutoff / 100 * total; i++) {
		struct insight *one;
		struct diag why;

		if (estimates_skips(&s->estimates, &list[i]))
			continue;
		seen += (double)list[i].samples;
		if (session->progress)
			session->progress("explaining functions, %zu of %zu", i + 1, count);
		int r = insight_new(s->estimates.all, list[i].image, list[i].start, &one, &why);
		if (r == -ENOMEM)
			return diag_fail(diag, ENOMEM, "%s", why.text);
		if (r) {
			if (s->failed++ == 0)
				s->failure = why;
			s->failed_samples += list[i].samples;
			continue;
		}
		insight_summary_add(&s->whole, &one->summary);
		s->parts[s->part_count++] = (struct summary_part){&list[i], one->summary};
		insight_free(one);
	}
	return 0;
}

struct columns {
	int cause, title, kind, percent, low, high, samples, function, image, build_id;
};

static double share(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void add_cause(struct table *t, const struct columns *c, const struct summary *s,
		      const char *name, const char *title, const char *kind, double low,
		      double high, double likely)
{
	table_add_row(t);
	table_set_real(t, c->percent, share(likely, s->made->whole.samples));
	table_set_real(t, c->low, share(low, s->made->whole.samples));
	table_set_real(t, c->high, share(high, s->made->whole.samples));
	table_set_real(t, c->samples, likely);
	table_set_text(t, c->cause, name);
	table_set_text(t, c->title, title);
	table_set_text(t, c->kind, kind);
}

/* Dynamic causes from the largest, then static ones, then execution. */
static void fill_causes(struct table *t, const struct columns *c, const struct summary *s)
{
	const struct insight_summary *w = &s->made->whole;

	for (int pass = 0; pass < 2; pass++) {
		bool done[CULPRIT_CAUSES] = {false};

		for (unsigned n = 0; n < CULPRIT_CAUSES; n++) {
			unsigned best = CULPRIT_CAUSES;

			for (unsigned k = 0; k < CULPRIT_CAUSES; k++)
				if (!done[k] &&
				    (best == CULPRIT_CAUSES ||
				     (pass ? w->fixed[k].likely > w->fixed[best].likely
					   : w->dynamic[k].likely > w->dynamic[best].likely)))
					best = k;
			done[best] = true;
			double low = pass ? w->fixed[best].low : w->dynamic[best].low;
			double high = pass ? w->fixed[best].high : w->dynamic[best].high;
			double likely = pass ? w->fixed[best].likely : w->dynamic[best].likely;
			if (high > 0 || (best == CULPRIT_UNEXPLAINED && !pass))
				add_cause(t, c, s, culprit_name(best), culprit_title(best),
					  pass ? "static" : "dynamic", low, high, likely);
		}
	}
	add_cause(t, c, s, "execution", "execution", "execution", w->execution, w->execution,
		  w->execution);
	if (w->gain > 0)
		add_cause(t, c, s, "gain", "less than the model's best", "gain", w->gain, w->gain,
			  w->gain);
}

static double loss(const struct summary *s, const struct summary_part *p)
{
	return p->summary.fixed[s->options->cause].likely +
	       p->summary.dynamic[s->options->cause].likely;
}

static int compare_parts(const void *pa, const void *pb, void *arg)
{
	double a = loss(arg, pa), b = loss(arg, pb);
	const struct summary_part *x = pa, *y = pb;

	return NUM_ORDER(b, a) ?: NUM_ORDER(x->function, y->function);
}

static void fill_functions(struct table *t, const struct columns *c, const struct summary *s)
{
	struct metrics_bound *metrics = &s->made->estimates.bound;

	qsort_r(s->made->parts, s->made->part_count, sizeof(*s->made->parts), compare_parts,
		(void *)s);
	for (size_t i = 0; i < s->made->part_count && i < s->options->limit; i++) {
		const struct summary_part *p = &s->made->parts[i];
		const struct query_image *image = p->function->image;
		const char *name = p->function->name ? p->function->name : RANK_NO_SYMBOL;

		if (loss(s, p) <= 0)
			break;
		table_add_row(t);
		table_set_real(t, c->percent, share(loss(s, p), s->made->whole.samples));
		table_set_real(t, c->low,
			       share(p->summary.fixed[s->options->cause].low +
					     p->summary.dynamic[s->options->cause].low,
				     p->summary.samples));
		table_set_real(t, c->high,
			       share(p->summary.fixed[s->options->cause].high +
					     p->summary.dynamic[s->options->cause].high,
				     p->summary.samples));
		table_set_real(t, c->samples, loss(s, p));
		metrics_set_function(metrics, t,
				     query_find_part(s->made->estimates.session->query, image),
				     p->function->function);
		table_set_text(t, c->function, name);
		report_set_image(t, c->image, c->build_id, image);
	}
}

static void add_columns(struct table *t, struct summary *s, struct columns *c)
{
	bool ranks = s->options->cause != CULPRIT_CAUSES;

	c->percent = table_add_column(t, TABLE_PERCENT, "percent", "%");
	c->low = table_add_column(t, TABLE_PERCENT, "low", ranks ? "own low" : "low");
	c->high = table_add_column(t, TABLE_PERCENT, "high", ranks ? "own high" : "high");
	c->samples = table_add_column(t, TABLE_REAL, "samples", "samples");
	if (ranks) {
		metrics_add_columns(&s->made->estimates.bound, t, "metrics", "");
		c->function = table_add_column(t, TABLE_NAME, "function", "function");
		c->image = table_add_column(t, TABLE_NAME, "image", "image");
		c->build_id = table_add_column(t, TABLE_NAME, "build_id", NULL);
		return;
	}
	c->kind = table_add_column(t, TABLE_NAME, "kind", "kind");
	c->title = table_add_column(t, TABLE_NAME, NULL, "cause");
	c->cause = table_add_column(t, TABLE_NAME, "cause", NULL);
}

static void describe(struct summary *s, struct report_header *h)
{
	const struct summary_report *made = s->made;
	double total = (double)estimates_samples(&made->estimates);

	report_header_note(h, "%llu %s with %.2f%% of the samples %s analysed",
			   TEXT_COUNT(made->part_count, "function", "functions"),
			   share(made->whole.samples, total),
			   text_plural(made->part_count, "was", "were"));
	if (made->failed)
		report_header_note(h, "%llu more, with %llu %s, could not be: %s",
				   (unsigned long long)made->failed,
				   TEXT_COUNT(made->failed_samples, "sample", "samples"),
				   made->failure.text);
	if (s->options->cause != CULPRIT_CAUSES)
		report_header_note(h, "%s: low and high are shares of the function's own samples",
				   culprit_title(s->options->cause));
}

static void show(struct summary *s, struct report_header *h)
{
	bool ranks = s->options->cause != CULPRIT_CAUSES;
	struct summary_report *made = s->made;
	struct columns c = {0};

	made->table = table_new(ranks ? "summary-cause" : "summary");
	estimates_describe(&made->estimates, h);
	estimates_describe_shares(&made->estimates, h);
	describe(s, h);
	add_columns(made->table, s, &c);
	(ranks ? fill_functions : fill_causes)(made->table, &c, s);
	metrics_describe(&made->estimates.bound, NULL, h);
}

int summary_make(struct report_session *session, const struct summary_options *o,
		 struct summary_report *ret, struct report_header *h, struct diag *diag)
{
	struct summary s = {o, ret};

	*ret = (struct summary_report){0};
	int r = estimates_read(&ret->estimates, session, &o->estimates, diag);
	if (!r)
		r = collect(ret, o->cutoff, diag);
	if (!r)
		show(&s, h);
	return r;
}

void summary_free(struct summary_report *r)
{
	free(r->parts);
	table_free(r->table);
	estimates_free(&r->estimates);
}

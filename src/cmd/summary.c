/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cmd/calc_form.h"
#include "cmd/insights.h"
#include "cmd/progress.h"
#include "cmd/cmd.h"

/* culprit summary: where the cycles of a program or a machine went, by cause. */

enum { SUMMARY_CAUSE = INSIGHTS_OPTION_END, SUMMARY_CUTOFF };

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"cause", SUMMARY_CAUSE, "CAUSE", "ranks functions by what they lose to it",
	 INSIGHTS_CAUSES},
	{"limit", 'n', "N", "with --cause: only the first N functions; default 20"},
	{"cutoff", SUMMARY_CUTOFF, "PERCENT",
	 "looks into the functions that have so much of the samples; default 99"},
	INSIGHTS_OPTIONS,
	REPORT_METRIC_OPTION,
	REPORT_SELECTION_OPTIONS,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_summary_spec = {
	"summary",
	"",
	"Where the cycles of everything that is selected went, by cause; or, with --cause, which\n"
	"functions lost the most to one. Percentages are of the samples looked into.",
	options,
	false,
};

struct part {
	const struct insights_function *function;
	struct insight_summary summary;
};

struct summary {
	struct insights_session session;
	enum culprit_cause cause; /* CULPRIT_CAUSES: the whole */
	uint64_t limit;
	double cutoff;
	struct insight_summary whole;
	struct part *parts; /* of each function looked into */
	size_t part_count;
	uint64_t failed, failed_samples;
	struct diag failure;
};

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct summary *s = arg;
	switch (value) {
	case 'n':
		return cmd_take_count("limit", text, UINT64_MAX, &s->limit, diag);
	case SUMMARY_CUTOFF:
		return cmd_take_some_percent("cutoff", text, &s->cutoff, diag);
	case SUMMARY_CAUSE:
		return insights_take_cause(text, &s->cause, diag);
	}
	return insights_take_option(&s->session, value, text, diag);
}

static int collect(struct summary *s, struct diag *diag)
{
	size_t count;
	const struct insights_function *list = insights_functions(s->session.all, &count);
	double total = (double)(insights_samples(s->session.all) - s->session.idle), seen = 0;
	s->parts = calloc(count + 1, sizeof(*s->parts));
	if (!s->parts)
		return diag_fail(diag, ENOMEM, "out of memory");
	for (size_t i = 0; i < count && seen < s->cutoff / 100 * total; i++) {
		struct insight *one;
		struct diag why;
		if (insights_skips(&s->session, &list[i]))
			continue;
		seen += (double)list[i].samples;
		progress_show("culprit: explaining functions, %zu of %zu", i + 1, count);
		int err = insight_new(s->session.all, list[i].image, list[i].start, &one, &why);
		if (err == -ENOMEM)
			return diag_fail(diag, ENOMEM, "%s", why.text);
		if (err) {
			if (s->failed++ == 0)
				s->failure = why;
			s->failed_samples += list[i].samples;
			continue;
		}
		insight_summary_add(&s->whole, &one->summary);
		s->parts[s->part_count++] = (struct part){&list[i], one->summary};
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

static int add_cause(struct table *t, const struct columns *c, const struct summary *s,
		     const char *name, const char *title, const char *kind, double low, double high,
		     double likely)
{
	int err = table_add_row(t);
	if (err)
		return err;
	table_set_real(t, c->percent, share(likely, s->whole.samples));
	table_set_real(t, c->low, share(low, s->whole.samples));
	table_set_real(t, c->high, share(high, s->whole.samples));
	table_set_real(t, c->samples, likely);
	err = table_set_name(t, c->cause, name, strlen(name));
	err = err ? err : table_set_name(t, c->title, title, strlen(title));
	return err ? err : table_set_name(t, c->kind, kind, strlen(kind));
}

/* Dynamic causes from the largest, then static ones, then execution. */
static int fill_causes(struct table *t, const struct columns *c, const struct summary *s)
{
	const struct insight_summary *w = &s->whole;
	int err = 0;
	for (int pass = 0; pass < 2; pass++) {
		bool done[CULPRIT_CAUSES] = {false};
		for (unsigned n = 0; n < CULPRIT_CAUSES && !err; n++) {
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
				err = add_cause(t, c, s, culprit_name(best), culprit_title(best),
						pass ? "static" : "dynamic", low, high, likely);
		}
	}
	if (!err)
		err = add_cause(t, c, s, "execution", "execution", "execution", w->execution,
				w->execution, w->execution);
	if (!err && w->gain > 0)
		err = add_cause(t, c, s, "gain", "less than the model's best", "gain", w->gain,
				w->gain, w->gain);
	return err;
}

static double loss(const struct summary *s, const struct part *p)
{
	return p->summary.fixed[s->cause].likely + p->summary.dynamic[s->cause].likely;
}

static int compare_parts(const void *pa, const void *pb, void *arg)
{
	double a = loss(arg, pa), b = loss(arg, pb);
	const struct part *x = pa, *y = pb;
	if (a != b)
		return a > b ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

static int fill_functions(struct table *t, const struct columns *c, struct summary *s)
{
	struct metrics_bound *metrics = &s->session.bound;
	int err = 0;
	qsort_r(s->parts, s->part_count, sizeof(*s->parts), compare_parts, s);
	for (size_t i = 0; i < s->part_count && i < s->limit && !err; i++) {
		const struct part *p = &s->parts[i];
		const struct query_image *image = p->function->image;
		const char *name = p->function->name ? p->function->name : RANK_NO_SYMBOL;
		char id[IMAGE_ID_TEXT_MAX];
		if (loss(s, p) <= 0)
			break;
		err = table_add_row(t);
		table_set_real(t, c->percent, share(loss(s, p), s->whole.samples));
		table_set_real(
			t, c->low,
			share(p->summary.fixed[s->cause].low + p->summary.dynamic[s->cause].low,
			      p->summary.samples));
		table_set_real(
			t, c->high,
			share(p->summary.fixed[s->cause].high + p->summary.dynamic[s->cause].high,
			      p->summary.samples));
		table_set_real(t, c->samples, loss(s, p));
		metrics_set_function(metrics, t, query_find_part(s->session.query, image),
				     p->function->function);
		image_id_format(&image->id, id);
		err = err ? err : table_set_name(t, c->function, name, strlen(name));
		err = err ? err : table_set_name(t, c->image, image->path, image->path_size);
		err = err ? err : table_set_name(t, c->build_id, id, strlen(id));
	}
	return err;
}

static void add_columns(struct table *t, struct summary *s, struct columns *c)
{
	bool ranks = s->cause != CULPRIT_CAUSES;
	c->percent = table_add_column(t, TABLE_PERCENT, "percent", "%");
	c->low = table_add_column(t, TABLE_PERCENT, "low", ranks ? "own low" : "low");
	c->high = table_add_column(t, TABLE_PERCENT, "high", ranks ? "own high" : "high");
	c->samples = table_add_column(t, TABLE_REAL, "samples", "samples");
	if (ranks) {
		metrics_add_columns(&s->session.bound, t, "metrics", "");
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
	double total = (double)(insights_samples(s->session.all) - s->session.idle);
	report_header_note(h, "%zu functions with %.2f%% of the samples were looked into",
			   s->part_count, share(s->whole.samples, total));
	if (s->failed)
		report_header_note(h, "%llu more, with %llu samples, could not be: %s",
				   (unsigned long long)s->failed,
				   (unsigned long long)s->failed_samples, s->failure.text);
	if (s->cause != CULPRIT_CAUSES)
		report_header_note(h, "%s: low and high are shares of the function's own samples",
				   culprit_title(s->cause));
}

static int show(struct summary *s, struct diag *diag)
{
	struct report_header h = {0};
	struct columns c = {0};
	struct table *t = table_new(s->cause == CULPRIT_CAUSES ? "summary" : "summary-cause");
	int err = t ? insights_describe(&s->session, &h) : -ENOMEM;
	if (!err) {
		describe(s, &h);
		add_columns(t, s, &c);
		err = s->cause == CULPRIT_CAUSES ? fill_causes(t, &c, s) : fill_functions(t, &c, s);
	}
	return insights_print(&s->session, t, &h, err, diag);
}

int cmd_summary(int argc, char **argv)
{
	struct summary s = {.limit = 20, .cause = CULPRIT_CAUSES, .cutoff = 99};
	struct diag diag = {""};
	int err = cmd_parse(&cmd_summary_spec, argc, argv, take_option, &s, NULL);
	if (err >= 0) {
		insights_close(&s.session);
		return err;
	}
	err = insights_open(&s.session, &diag);
	if (!err)
		err = collect(&s, &diag);
	if (!err)
		err = show(&s, &diag);
	free(s.parts);
	insights_close(&s.session);
	if (err == -EINVAL)
		return cmd_fail_usage("summary", &diag);
	return err < 0 ? cmd_fail(&diag) : err;
}

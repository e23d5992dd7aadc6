/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/code/calc.h"

#include <errno.h>
#include "report/code/calc_form.h"

int calc_make(struct report_session *s, const struct calc_options *o, struct calc_report *ret,
	      struct report_header *h, struct diag *diag)
{
	int r = 0;

	*ret = (struct calc_report){.options = o};
	if (o->function)
		r = pick_function(s, o->function, &ret->pick, diag);
	if (!r)
		r = (o->function ? estimates_new : estimates_read)(&ret->estimates, s,
								   &o->estimates, diag);
	if (r)
		return r;
	estimates_describe(&ret->estimates, h);
	estimates_describe_shares(&ret->estimates, h);
	metrics_describe(&ret->estimates.bound, NULL, h);
	return 0;
}

void calc_free(struct calc_report *r)
{
	estimates_free(&r->estimates);
	pick_free(&r->pick);
}

static int take_one(struct calc_report *c, const struct query_image *image, uint64_t address,
		    int (*take)(void *arg, const struct insight *one), void *arg, struct diag *diag)
{
	const struct calc_options *o = c->options;
	struct insight *one;
	int r = insight_new(c->estimates.all, image, address, &one, diag);

	if (r)
		return r;
	for (size_t b = 0; b < one->block_count && !o->brief && !r; b++)
		if (calc_form_wants(o->block_percent, one, &one->blocks[b]))
			r = insight_disassemble(c->estimates.all, one, b, o->syntax);
	if (!r)
		r = take(arg, one);
	insight_free(one);
	return r ? diag_fail(diag, -r, "out of memory") : 0;
}

int calc_each(struct calc_report *c, int (*take)(void *arg, const struct insight *one), void *arg,
	      struct diag *diag)
{
	const struct estimates *e = &c->estimates;
	double total = (double)estimates_samples(e), seen = 0;
	const struct insights_function *list;
	size_t count;

	if (c->pick.hit)
		return take_one(c, c->pick.hit->image, c->pick.hit->start, take, arg, diag);
	list = insights_functions(e->all, &count);
	for (size_t i = 0; i < count && seen < c->options->cutoff / 100 * total; i++) {
		struct diag why;

		if (estimates_skips(e, &list[i]))
			continue;
		int r = take_one(c, list[i].image, list[i].start, take, arg, &why);
		if (r == -ENOMEM)
			return diag_fail(diag, ENOMEM, "%s", why.text);
		if (r && c->failed++ == 0)
			c->failure = why;
		if (r)
			c->failed_samples += list[i].samples;
		seen += (double)list[i].samples;
	}
	return 0;
}

static int print_one(void *arg, const struct insight *one)
{
	return calc_form_function(arg, one);
}

int calc_print(struct calc_report *c, const struct report_header *h, enum table_format format,
	       FILE *out, FILE *beside, int width, struct diag *diag)
{
	struct calc_form form = {
		.out = out,
		.beside = beside,
		.header = h,
		.json = format == TABLE_JSON,
		.brief = c->options->brief,
		.width = width,
		.block_percent = c->options->block_percent,
		.total_samples = estimates_samples(&c->estimates),
		.is_part = estimates_are_part(&c->estimates),
		.query = c->estimates.session->query,
		.metrics = &c->estimates.bound,
	};
	int r = 0;

	if (format == TABLE_CSV && calc_csv_new(form.brief, form.metrics, &form.csv))
		r = diag_fail(diag, ENOMEM, "out of memory");
	if (!r)
		r = calc_each(c, print_one, &form, diag);
	if (!r && calc_form_end(&form))
		r = diag_fail(diag, ENOMEM, "out of memory");
	calc_csv_free(form.csv);
	return r;
}

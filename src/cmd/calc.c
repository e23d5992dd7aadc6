/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include "cmd/calc_form.h"
#include "cmd/insights.h"
#include "cmd/pager.h"
#include "cmd/cmd.h"

/* culprit calc: a function's blocks and instructions; Figures 2 and 4 of Anderson et al., 1997. */

enum { CALC_INTEL = INSIGHTS_OPTION_END, CALC_CUTOFF, CALC_BLOCKS, CALC_BRIEF };

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"cutoff", CALC_CUTOFF, "PERCENT",
	 "without FUNCTION: those that have so much of the samples together; default 95"},
	{"blocks", CALC_BLOCKS, "PERCENT",
	 "leave out blocks with less of the function's samples; default 0.5"},
	{"brief", CALC_BRIEF, NULL, "the summary of each function only"},
	{"intel", CALC_INTEL, NULL, "Intel's syntax instead of AT&T's"},
	INSIGHTS_OPTIONS,
	REPORT_METRIC_OPTION,
	REPORT_SELECTION_OPTIONS,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_calc_spec = {
	"calc",
	"[FUNCTION|0xADDRESS]",
	"For each instruction how often it ran, how many cycles it cost, and what is to blame for\n"
	"them; for each block the best case beside it; and where the function's cycles went.\n"
	"Without FUNCTION, every function of the selection (--image) down to --cutoff.",
	options,
	false,
};

struct calc {
	struct insights_session session;
	struct calc_form form;
	const char *what;
	double cutoff;
	enum isa_syntax syntax;
	uint64_t failed, failed_samples;
	struct diag failure;
};

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct calc *c = arg;
	switch (value) {
	case CALC_INTEL:
		c->syntax = ISA_SYNTAX_INTEL;
		return 0;
	case CALC_BRIEF:
		c->form.brief = true;
		return 0;
	case CALC_CUTOFF:
		return cmd_take_percent("cutoff", text, &c->cutoff, diag);
	case CALC_BLOCKS:
		return cmd_take_percent("blocks", text, &c->form.block_percent, diag);
	}
	return insights_take_option(&c->session, value, text, diag);
}

static int show_one(struct calc *c, const struct query_image *image, uint64_t address,
		    struct diag *diag)
{
	struct insight *one;
	int err = insight_new(c->session.all, image, address, &one, diag);
	if (err)
		return err;
	for (size_t b = 0; b < one->block_count && !c->form.brief && !err; b++)
		if (calc_form_wants(&c->form, one, &one->blocks[b]))
			err = insight_disassemble(c->session.all, one, b, c->syntax);
	if (!err)
		err = calc_form_function(&c->form, one);
	insight_free(one);
	return err ? diag_fail(diag, -err, "out of memory") : 0;
}

/* Every function down to the cutoff; one that fails costs only itself, and is counted. */
static int show_all(struct calc *c, struct diag *diag)
{
	const struct insights_session *s = &c->session;
	double total = (double)(insights_samples(s->all) - s->idle), seen = 0;
	size_t count;
	const struct insights_function *list = insights_functions(s->all, &count);
	for (size_t i = 0; i < count && seen < c->cutoff / 100 * total; i++) {
		struct diag why;
		if (insights_skips(s, &list[i]))
			continue;
		int err = show_one(c, list[i].image, list[i].start, &why);
		if (err == -ENOMEM)
			return diag_fail(diag, ENOMEM, "%s", why.text);
		if (err && c->failed++ == 0)
			c->failure = why;
		if (err)
			c->failed_samples += list[i].samples;
		seen += (double)list[i].samples;
	}
	return 0;
}

static int open_session(struct calc *c, struct pick *p, struct diag *diag)
{
	if (!c->what)
		return insights_open(&c->session, diag);
	int err = pick_function(&c->session.report, c->what, p, diag);
	return err ? err : insights_open_picked(&c->session, p, diag);
}

static int run(struct calc *c, struct diag *diag)
{
	struct report_header h = {0};
	struct pick p = {0};
	int err = open_session(c, &p, diag);
	if (err)
		goto out;
	c->form.query = c->session.query;
	c->form.metrics = &c->session.bound;
	c->form.total_samples = insights_samples(c->session.all) - c->session.idle;
	c->form.json = c->session.report.format == TABLE_JSON;
	if (c->session.report.format == TABLE_CSV &&
	    calc_csv_new(c->form.brief, &c->session.bound, &c->form.csv))
		err = diag_fail(diag, ENOMEM, "out of memory");
	c->form.out = stdout;
	c->form.width = pager_width();
	c->form.header = &h;
	if (!err &&
	    (insights_describe(&c->session, &h) || metrics_describe(&c->session.bound, NULL, &h)))
		err = diag_fail(diag, ENOMEM, "out of memory");
	if (!err)
		err = p.hit ? show_one(c, p.hit->image, p.hit->start, diag) : show_all(c, diag);
	if (!err && calc_form_end(&c->form))
		err = diag_fail(diag, ENOMEM, "out of memory");
	if (!err && c->failed)
		fprintf(stderr,
			"culprit: %llu functions with %llu samples are left out, first: %s\n",
			(unsigned long long)c->failed, (unsigned long long)c->failed_samples,
			c->failure.text);
out:
	calc_csv_free(c->form.csv);
	report_header_free(&h);
	pick_free(&p);
	return err;
}

int cmd_calc(int argc, char **argv)
{
	struct calc c = {.cutoff = 95, .syntax = ISA_SYNTAX_ATT, .form = {.block_percent = 0.5}};
	struct diag diag = {""};
	int operand, err = cmd_parse(&cmd_calc_spec, argc, argv, take_option, &c, &operand);
	if (err >= 0) {
		insights_close(&c.session);
		return err;
	}
	err = operand < argc ? pick_operand(&c.session.report, argc, argv, operand, &c.what, &diag)
			     : 0;
	if (!err)
		err = run(&c, &diag);
	insights_close(&c.session);
	if (err == -EINVAL)
		return cmd_fail_usage("calc", &diag);
	return err < 0 ? cmd_fail(&diag) : CMD_OK;
}

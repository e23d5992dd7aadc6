/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "cmd/cfg_view.h"
#include "cmd/insights.h"
#include "cmd/cmd.h"
#include "report/dot.h"

/* culprit cfg: one function's control-flow graph, drawn; dcpi2ps of Anderson et al., SOSP 1997. */

#define DRAWING_MAX_BYTES (256u << 20)

#define LIMIT_MAX 100000000 /* blocks */

enum { CFG_INTEL = INSIGHTS_OPTION_END, CFG_ALL };

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"output", 'o', "FILE", "draw it: .svg, .pdf, .ps, .eps, .png; .dot: the text"},
	{"all", CFG_ALL, NULL, "all blocks of a large function, not only those that ran"},
	{"limit", 'n', "N", "only the N blocks with the most samples"},
	{"intel", CFG_INTEL, NULL, "Intel's syntax instead of AT&T's"},
	INSIGHTS_OPTIONS,
	REPORT_METRIC_OPTION,
	REPORT_SELECTION_OPTIONS,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_cfg_spec = {
	"cfg",
	"FUNCTION|0xADDRESS",
	"Draws one function's control-flow graph: a block's area says how much time it took, the\n"
	"size of its type and the width of edges how often they ran. Prints it in Graphviz's\n"
	"language, or makes a file of it by Graphviz's dot.",
	options,
	false,
};

struct cfg {
	struct insights_session session;
	const char *output;
	struct cfg_view_choice choice;
	enum isa_syntax syntax;
};

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct cfg *c = arg;

	switch (value) {
	case 'o':
		c->output = text;
		return dot_check_path(text, diag);
	case CFG_ALL:
		c->choice.all = true;
		return 0;
	case 'n':
		return cmd_take_count("limit", text, LIMIT_MAX, &c->choice.limit, diag);
	case CFG_INTEL:
		c->syntax = ISA_SYNTAX_INTEL;
		return 0;
	}
	return insights_take_option(&c->session, value, text, diag);
}

static void note_function(const struct cfg_view *v, struct report_header *h)
{
	report_header_note(h, "%s at 0x%llx: %llu samples, %u blocks%s",
			   v->name ? v->name : "no function is known there",
			   (unsigned long long)v->function->entry, (unsigned long long)v->total,
			   v->function->block_count,
			   v->function->complete ? "" : "; jumps with unknown targets are missing");
	if (!v->estimate)
		report_header_note(h, "frequencies are a rough guess from samples alone");
}

/* Without an event that tells time there are no insights to describe. */
static int describe(struct cfg *c, struct report_header *h)
{
	struct insights_session *s = &c->session;

	return s->all ? insights_describe(s, h)
		      : report_describe(h, s->reader, s->query, s->finder);
}

static int print_table(struct cfg *c, const struct cfg_view *v, struct diag *diag)
{
	struct report_header h = {0};
	struct table *t = NULL;
	int r = describe(c, &h);

	if (!r) {
		note_function(v, &h);
		r = cfg_view_table(v, &c->session.bound, &t);
	}
	if (!r)
		r = metrics_describe(&c->session.bound, NULL, &h);
	if (r)
		diag_fail(diag, -r, "out of memory");
	else
		r = report_print(t, &h, c->session.report.format);
	table_free(t);
	report_header_free(&h);
	return r;
}

/* Makes the file, unless that is more than Graphviz can do. */
static int render(const struct cfg *c, const struct buf *b, size_t shown, struct diag *diag)
{
	if (shown <= DOT_NODES_MAX || dot_is_text(c->output))
		return dot_render(b, c->output, diag);
	return diag_fail(
		diag, E2BIG,
		"%zu blocks are more than Graphviz can draw (%u): draw those with the most "
		"samples (--limit 200), or write the text (-o FILE.dot)",
		shown, DOT_NODES_MAX);
}

static int draw(struct cfg *c, const struct cfg_view *v, struct diag *diag)
{
	struct report_header h = {0};
	struct buf b;
	size_t hidden;
	int r = describe(c, &h);

	buf_init(&b, DRAWING_MAX_BYTES);
	if (!r)
		r = cfg_view_draw(v, &h, &c->session.bound, &c->choice, &b, &hidden);
	report_tell_damage(&h);
	report_tell_finder(c->session.finder);
	report_header_free(&h);
	if (r == -EFBIG)
		diag_fail(diag, EFBIG, "the drawing would be larger than %u MiB",
			  DRAWING_MAX_BYTES >> 20);
	else if (r)
		diag_fail(diag, -r, "out of memory");
	else if (c->output)
		r = render(c, &b, v->function->block_count - hidden, diag);
	else
		r = cmd_write(b.data, b.size);
	if (!r && hidden)
		fprintf(stderr, "culprit: %zu blocks %sare not shown (%s)\n", hidden,
			c->choice.limit ? "" : "that never ran ",
			c->choice.limit ? "--limit" : "--all");
	buf_free(&b);
	return r;
}

static int run(struct cfg *c, const char *what, struct pick *p, struct diag *diag)
{
	struct cfg_view_request request = {.syntax = c->syntax};
	struct cfg_view *v = NULL;
	int r;

	if (c->output && c->session.report.format != TABLE_TEXT)
		return diag_fail(diag, EINVAL, "one of --output, --json and --csv");
	r = pick_function(&c->session.report, what, p, diag);
	if (!r)
		r = insights_open_picked(&c->session, p, diag);
	if (r && r != -ENODATA)
		return r;
	request.query = c->session.query;
	request.finder = c->session.finder;
	request.insights = c->session.all;
	request.hit = p->hit;
	r = cfg_view_new(&request, &v, diag);
	if (!r)
		r = c->session.report.format == TABLE_TEXT ? draw(c, v, diag)
							   : print_table(c, v, diag);
	cfg_view_free(v);
	return r;
}

int cmd_cfg(int argc, char **argv)
{
	struct cfg c = {.syntax = ISA_SYNTAX_ATT};
	struct pick p = {0};
	struct diag diag = {""};
	const char *what;
	int operand, r = cmd_parse(&cmd_cfg_spec, argc, argv, take_option, &c, &operand);

	if (r >= 0) {
		insights_close(&c.session);
		return r;
	}
	r = pick_operand(&c.session.report, argc, argv, operand, &what, &diag);
	if (!r)
		r = run(&c, what, &p, &diag);
	insights_close(&c.session);
	pick_free(&p);
	if (r == -EINVAL)
		return cmd_fail_usage("cfg", &diag);
	return r < 0 ? cmd_fail(&diag) : r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "cmd/report.h"
#include "render/dot.h"
#include "report/code/cfg.h"
#include "util/text.h"

/* culprit cfg: one function's control-flow graph, drawn; dcpi2ps of Anderson et al., SOSP 1997. */

#define DRAWING_MAX_BYTES (256u << 20)

#define LIMIT_MAX 100000000 /* blocks */

struct cfg {
	struct report_options report;
	struct cfg_options cfg;
	struct cfg_view_choice choice;
	const char *output;
};

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"output", 'o', "FILE",
	 "the file to write: .svg, .pdf, .ps, .eps, .png; .dot: Graphviz's text"},
	{"all", 0, NULL, "all blocks of a large function, not only those that ran",
	 CMD_AT(FLAG, cfg, choice.all)},
	{"limit", 'n', "N", "only the N blocks with the most samples",
	 CMD_AT(COUNT, cfg, choice.limit), .number = LIMIT_MAX},
	{"path", 0, "N", "marks the way of this path, by its number in culprit paths FUNCTION",
	 CMD_AT(COUNT, cfg, cfg.path), .number = UINT32_MAX},
	{"intel", 0, NULL, "Intel's syntax instead of AT&T's", CMD_AT(SET, cfg, cfg.syntax),
	 .number = ISA_SYNTAX_INTEL},
	REPORT_ESTIMATES_OPTIONS(cfg, cfg.estimates),
	REPORT_SELECTION_OPTIONS,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_cfg_spec = {
	"cfg",
	"FUNCTION|0xADDRESS",
	"Draws one function's control-flow graph: a block's area says how much time it took, "
	"its\nfont size and the width of edges how often they ran. Prints it in "
	"Graphviz's\nlanguage, or draws it into a file with Graphviz's dot.",
	options,
	false,
};

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct cfg *c = arg;

	if (value != 'o')
		return report_take_option(arg, value, text, diag);
	c->output = text;
	return dot_check_path(text, diag);
}

static int print_table(struct cfg_report *made, struct report_header *h, enum table_format format)
{
	struct table *t = cfg_table(made, h);
	int r = report_print(t, h, format);

	table_free(t);
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

static int draw(const struct cfg *c, const struct cfg_report *made, const struct report_header *h,
		struct diag *diag)
{
	struct buf b;
	size_t hidden;

	buf_init(&b, DRAWING_MAX_BYTES);
	int r = cfg_view_draw(made->view, h, &made->estimates.bound, &c->choice, &b, &hidden);
	progress_clear();
	report_tell_damage(h);
	report_tell_finder(made->estimates.session->finder);
	if (r == -EFBIG)
		diag_fail(diag, EFBIG, "the drawing would be larger than %u MiB",
			  DRAWING_MAX_BYTES >> 20);
	else if (r)
		diag_fail(diag, -r, "out of memory");
	else if (c->output)
		r = render(c, &b, made->view->function->block_count - hidden, diag);
	else
		r = cmd_write(b.data, b.size);
	if (!r && hidden)
		fprintf(stderr, "culprit: %llu %s %s%s not shown (%s)\n",
			TEXT_COUNT(hidden, "block", "blocks"),
			c->choice.limit ? "" : "that never ran ", text_plural(hidden, "is", "are"),
			c->choice.limit ? "--limit" : "--all");
	buf_free(&b);
	return r;
}

static int show(void *arg, struct report_run *run)
{
	struct cfg *c = arg;
	struct cfg_report made = {0};
	int r = report_take_function(&c->report, run->operands, &c->cfg.function, &run->diag);

	if (!r && c->output && c->report.format != TABLE_TEXT)
		r = diag_fail(&run->diag, EINVAL, "one of --output, --json and --csv");
	if (!r)
		r = cfg_make(&run->session, &c->cfg, &made, &run->header, &run->diag);
	if (!r)
		r = c->report.format == TABLE_TEXT
			    ? draw(c, &made, &run->header, &run->diag)
			    : print_table(&made, &run->header, c->report.format);
	report_print_choices(&run->session, &made.pick, r);
	cfg_free(&made);
	return r;
}

int cmd_cfg(int argc, char **argv)
{
	struct cfg c = {.cfg.syntax = ISA_SYNTAX_ATT};

	return report_run(&cmd_cfg_spec, argc, argv, take_option, show, &c,
			  &c.cfg.estimates.metrics);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/report.h"
#include "report/calls/calls.h"

/* culprit calls: who called what, and what it cost. */

#define PRUNE_DEFAULT 1
#define HOT_DEFAULT   50
#define GROUPS	      "process thread subject" /* --by */

enum { CALLS_HOT = REPORT_OPTION_END, CALLS_BY };

struct calls {
	struct report_options report;
	struct calls_options calls;
	const char *html; /* file of the page; NULL: none */
};

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"callers", 0, NULL, "bottom up: where samples were taken, and who called that",
	 CMD_AT(FLAG, calls, calls.callers)},
	{"gprof", 0, NULL, "gprof's listing, with gprof's own estimates beside the measured values",
	 CMD_AT(FLAG, calls, calls.gprof)},
	{"merge", 0, NULL, "one line for each callee, whatever the call site",
	 CMD_AT(FLAG, calls, calls.tree.merge_sites)},
	{"fold", 0, NULL, "folds recursion: no function stands below itself",
	 CMD_AT(FLAG, calls, calls.tree.fold)},
	{"no-inlined", 0, NULL, "counts inlined functions as part of their callers",
	 CMD_AT(FLAG, calls, calls.tree.no_inlined)},
	{"hot", CALLS_HOT, "[=PERCENT]",
	 "only the hot path: callees with this share of their caller (50)"},
	{"depth", 0, "N", "at most N levels", CMD_AT(COUNT, calls, calls.depth)},
	{"limit", 'n', "N", "only the N heaviest lines below each line; one more sums up the rest",
	 CMD_AT(COUNT, calls, calls.limit)},
	{"prune", 0, "PERCENT", "leaves out lines with less than this share (1; JSON and CSV: 0)",
	 CMD_AT(PERCENT, calls, calls.prune)},
	REPORT_METRIC_OPTION(calls, calls.metrics),
	{"by", CALLS_BY, "WHAT", "a tree for each process, thread or subject", GROUPS},
	{"idle", 0, NULL, "includes the kernel's idle functions", CMD_AT(FLAG, calls, calls.idle)},
	{"html", 0, "FILE", "writes a page instead: flame graph and icicle, with search and zoom",
	 CMD_AT(TEXT, calls, html)},
	REPORT_SELECTION_OPTIONS,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_calls_spec = {
	"calls",
	"[FUNCTION]",
	"Shows who called what: a tree of calls from the start of each thread, with the samples "
	"in\n"
	"a function and in all that it called. Selections keep the stacks that have a matching\n"
	"function or image anywhere; percentages are of all samples of the epochs, idle time left "
	"out.",
	options,
	false,
};

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct calls *c = arg;
	unsigned by;

	if (value == CALLS_HOT) {
		c->calls.hot = HOT_DEFAULT;
		return text ? cmd_take_percent("hot", text, &c->calls.hot, diag) : 0;
	}
	if (value != CALLS_BY)
		return report_take_option(arg, value, text, diag);
	if (cmd_take_choice("by", text, GROUPS, &by, diag))
		return -EINVAL;
	c->calls.group = QUERY_PROCESS + by;
	return 0;
}

static int check_options(const struct calls *c, struct diag *diag)
{
	if (c->calls.gprof &&
	    (c->calls.callers || c->calls.function || c->calls.tree.fold || c->calls.group))
		return diag_fail(
			diag, EINVAL,
			"--gprof lists all functions: leave out --callers, --fold and --by");
	if (c->html && (c->calls.function || c->calls.gprof))
		return diag_fail(diag, EINVAL,
				 "--html shows the whole tree: leave out FUNCTION and --gprof; "
				 "--function keeps the stacks that have a function");
	if (c->html && c->report.format != TABLE_TEXT)
		return diag_fail(diag, EINVAL, "one of --html, --json and --csv");
	return 0;
}

static int save_page(const struct calls_page *page, const struct report_header *h, const char *path,
		     struct diag *diag)
{
	FILE *out = strcmp(path, "-") ? output_open(path, diag) : stdout;

	if (!out)
		return -EIO;
	int r = calls_page_write(page, h, out);
	if (out != stdout)
		return output_close(out, path, r, diag);
	if (fflush(out) && !r)
		r = -EIO;
	return r ? diag_fail(diag, -r, "cannot write %s: %s", path, strerror(-r)) : 0;
}

static int write_page(const struct calls_report *made, struct report_header *h, const char *path,
		      struct diag *diag)
{
	struct calls_page *page = NULL;

	report_tell_damage(h);
	int r = calls_page_new(made, h, &page, diag);
	if (!r)
		r = save_page(page, h, path, diag);
	calls_page_free(page);
	return r;
}

static int print(const struct calls *c, const struct calls_report *made, struct report_header *h,
		 struct diag *diag)
{
	struct table *t = NULL;

	progress_clear();
	if (c->html)
		return write_page(made, h, c->html, diag);
	if (c->report.format == TABLE_JSON)
		return calls_json(made, h, stdout, diag);
	int r = calls_table(made, h, &t, diag);
	if (!r)
		r = report_print(t, h, c->report.format);
	table_free(t);
	return r;
}

static int show(void *arg, struct report_run *run)
{
	struct calls *c = arg;
	struct calls_report made = {0};

	c->calls.function = *run->operands;
	c->calls.page = c->html;
	if (c->calls.prune < 0)
		c->calls.prune = c->report.format == TABLE_TEXT && !c->html ? PRUNE_DEFAULT : 0;
	int r = *run->operands && run->operands[1]
			? diag_fail(&run->diag, EINVAL, "one function at a time")
			: check_options(c, &run->diag);
	if (!r)
		r = calls_make(&run->session, &c->calls, &made, &run->header, &run->diag);
	if (!r)
		r = print(c, &made, &run->header, &run->diag);
	calls_free(&made);
	return r;
}

int cmd_calls(int argc, char **argv)
{
	struct calls c = {.calls = {.group = QUERY_WHOLE, .prune = -1}};

	return report_run(&cmd_calls_spec, argc, argv, take_option, show, &c, &c.calls.metrics);
}

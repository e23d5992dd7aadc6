/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include "cmd/cmd.h"
#include "cmd/report.h"
#include "report/code/list.h"

/* culprit list: one function's instructions and source lines with their samples. */

struct list {
	struct report_options report;
	struct list_options list;
	const char *file; /* NULL: a function */
};

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"asm", 'A', NULL, "instructions only"},
	{"source", 'S', NULL, "source lines only, each once"},
	{"file", 0, "FILE", "a whole source file instead of a function", CMD_AT(NAME, list, file)},
	{"min", 0, "PERCENT",
	 "only rows with at least this share of the samples, and the rows around them",
	 CMD_AT(PERCENT, list, list.min_percent)},
	{"intel", 0, NULL, "Intel's syntax instead of AT&T's", CMD_AT(SET, list, list.syntax),
	 .number = ISA_SYNTAX_INTEL},
	{"no-cpi", 0, NULL, "samples only, without executions and CPI: quicker",
	 CMD_AT(FLAG, list, list.no_cpi)},
	REPORT_METRIC_OPTION(list, list.metrics),
	REPORT_SELECTION_OPTIONS,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_list_spec = {
	"list",
	"[FUNCTION|0xADDRESS]",
	"Shows one function: its instructions and source lines, with samples. FUNCTION is a name, "
	"a\n"
	"part of one, or a regular expression; an address is the image's own (see --image).\n"
	"Percentages are of the function's samples. With --file, a whole source file.",
	options,
	false,
};

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct list *l = arg;

	if (value != 'A' && value != 'S')
		return report_take_option(arg, value, text, diag);
	if (l->list.form != LISTING_BOTH)
		return diag_fail(diag, EINVAL, "one of --asm and --source, once");
	l->list.form = value == 'A' ? LISTING_ASSEMBLY : LISTING_BY_LINE;
	return 0;
}

static int show_file(struct list *l, struct report_run *run)
{
	struct list_file_report made = {0};

	if (*run->operands || l->list.form == LISTING_ASSEMBLY)
		return diag_fail(&run->diag, EINVAL,
				 "--file shows source lines: leave out FUNCTION and --asm");
	l->list.what = l->file;
	int r = list_file_make(&run->session, &l->list, &made, &run->header, &run->diag);
	if (!r)
		r = report_print(made.table, &run->header, l->report.format);
	list_file_free(&made);
	return r;
}

static int show(void *arg, struct report_run *run)
{
	struct list *l = arg;
	struct list_report made = {0};

	if (l->file)
		return show_file(l, run);
	/* What perf's list is for. */
	if (!*run->operands && !l->report.function)
		return diag_fail(
			&run->diag, EINVAL,
			"which function? culprit prof ranks them (and events are listed by "
			"culprit doctor --events)");
	int r = report_take_function(&l->report, run->operands, &l->list.what, &run->diag);
	if (r)
		return r;
	r = list_make(&run->session, &l->list, &made, &run->header, &run->diag);
	if (!r)
		r = report_print(made.table, &run->header, l->report.format);
	report_print_choices(&run->session, &made.pick, r);
	list_free(&made);
	return r;
}

int cmd_list(int argc, char **argv)
{
	struct list l = {.list.form = LISTING_BOTH};

	return report_run(&cmd_list_spec, argc, argv, take_option, show, &l, &l.list.metrics);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/cmd.h"
#include "cmd/pager.h"
#include "cmd/progress.h"
#include "cmd/report.h"
#include "report/code/calc.h"
#include "util/text.h"

/* culprit calc: a function's blocks and instructions; Figures 2 and 4 of Anderson et al., 1997. */

struct calc {
	struct report_options report;
	struct calc_options calc;
};

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"cutoff", 0, "PERCENT",
	 "without FUNCTION: the functions that together have this share; default 95",
	 CMD_AT(PERCENT, calc, calc.cutoff)},
	{"blocks", 0, "PERCENT",
	 "leaves out blocks with a smaller share of the samples; default 0.5",
	 CMD_AT(PERCENT, calc, calc.block_percent)},
	{"brief", 0, NULL, "the summary of each function only", CMD_AT(FLAG, calc, calc.brief)},
	{"intel", 0, NULL, "Intel's syntax instead of AT&T's", CMD_AT(SET, calc, calc.syntax),
	 .number = ISA_SYNTAX_INTEL},
	REPORT_ESTIMATES_OPTIONS(calc, calc.estimates),
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

static int print(struct calc_report *made, const struct report_header *h, enum table_format format,
		 struct diag *diag)
{
	progress_clear();
	int r = calc_print(made, h, format, stdout, stderr, pager_width(), diag);
	if (!r && made->failed)
		fprintf(stderr, "culprit: %llu %s with %llu %s %s left out%s: %s\n",
			TEXT_COUNT(made->failed, "function", "functions"),
			TEXT_COUNT(made->failed_samples, "sample", "samples"),
			text_plural(made->failed, "is", "are"),
			text_plural(made->failed, "", ", first"), made->failure.text);
	return r;
}

static int show(void *arg, struct report_run *run)
{
	struct calc *c = arg;
	struct calc_report made = {0};
	int r = 0;

	if (*run->operands)
		r = report_take_function(&c->report, run->operands, &c->calc.function, &run->diag);
	if (!r)
		r = calc_make(&run->session, &c->calc, &made, &run->header, &run->diag);
	if (!r)
		r = print(&made, &run->header, c->report.format, &run->diag);
	report_print_choices(&run->session, &made.pick, r);
	calc_free(&made);
	return r;
}

int cmd_calc(int argc, char **argv)
{
	struct calc c = {.calc = {.cutoff = 95, .syntax = ISA_SYNTAX_ATT, .block_percent = 0.5}};

	return report_run(&cmd_calc_spec, argc, argv, report_take_option, show, &c,
			  &c.calc.estimates.metrics);
}

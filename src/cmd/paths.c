/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include "cmd/cmd.h"
#include "cmd/report.h"
#include "report/paths/paths.h"
#include "util/num.h"

/* culprit paths: the hot paths through functions; Ammons, Ball and Larus, PLDI 1997. */

#define ROWS_MAX 1000000 /* that can be asked for */

struct paths {
	struct report_options report;
	struct paths_options paths;
};

enum { OPT_HOT = REPORT_OPTION_END };

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"by", 0, "METRIC", "time, samples, instructions, executions; default: the first there is",
	 PATHS_BY_NAMES, CMD_AT(CHOICE, paths, paths.by)},
	{"hot", OPT_HOT, "PERCENT", "what share of the metric makes a path hot; default 1"},
	{"procedures", 0, NULL, "a row for each function instead of each path",
	 CMD_AT(FLAG, paths, paths.procedures)},
	{"path", 0, "N", "the path of this number of FUNCTION, block by block",
	 CMD_AT(COUNT, paths, paths.path), .number = UINT32_MAX},
	{"limit", 'n', "N", "how many rows; default 20", CMD_AT(COUNT, paths, paths.limit),
	 .number = ROWS_MAX},
	REPORT_SELECTION_OPTIONS,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_paths_spec = {
	"paths",
	"[FUNCTION|0xADDRESS]",
	"The paths through functions that cost most, counted by culprit record --paths: their "
	"lines,\n"
	"how their branches went, how often they ran, and what an execution costs beside the\n"
	"function's mean.",
	options,
	false,
};

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct paths *p = arg;

	if (value != OPT_HOT)
		return report_take_option(arg, value, text, diag);
	if (num_parse_percent(text, &p->paths.hot_percent))
		return diag_fail(diag, EINVAL, "'%s' is not a percentage like 1 or 0.1", text);
	return 0;
}

static int check(const struct paths *p, struct diag *diag)
{
	if (p->paths.path && !p->paths.function)
		return diag_fail(diag, EINVAL, "--path is of a function: culprit paths FUNCTION");
	if (p->paths.procedures && p->paths.function)
		return diag_fail(diag, EINVAL, "--procedures are of all functions");
	return 0;
}

static int show(void *arg, struct report_run *run)
{
	struct paths *p = arg;
	struct paths_report made = {0};
	int r = 0;

	if (*run->operands || p->report.function)
		r = report_take_function(&p->report, run->operands, &p->paths.function, &run->diag);
	r = r ?: check(p, &run->diag);
	r = r ?: paths_make(&run->session, &p->paths, &made, &run->header, &run->diag);
	if (!r)
		r = report_print(made.table, &run->header, p->report.format);
	paths_free(&made);
	return r;
}

int cmd_paths(int argc, char **argv)
{
	struct paths p = {.paths = {.by = PATHS_BY_BEST, .hot_percent = 1, .limit = 20}};

	return report_run(&cmd_paths_spec, argc, argv, take_option, show, &p, NULL);
}

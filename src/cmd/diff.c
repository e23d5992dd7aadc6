/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "cmd/report.h"
#include "report/compare/diff.h"

/* culprit diff: what changed from one set of samples to another. */

struct diff {
	struct report_options report;
	struct diff_options diff;
};

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"by", 0, "WHAT", "function (default), image, file, line, block, instruction", DIFF_NAMES,
	 CMD_AT(CHOICE, diff, diff.table.by)},
	{"normalize", 0, "WHAT", "none (default), time: to the mean run time, samples",
	 SETS_NORMALS, CMD_AT(CHOICE, diff, diff.normal)},
	REPORT_METRIC_OPTION(diff, diff.table.metrics),
	{"cpi", 0, NULL, "adds CPI, calls and stall causes of the functions shown",
	 CMD_AT(FLAG, diff, diff.cpi)},
	{"changed", 0, NULL, "only what changed by more than sampling explains",
	 CMD_AT(FLAG, diff, diff.table.changed)},
	{"min", 0, "PERCENT", "only rows with at least this share of A or of B",
	 CMD_AT(PERCENT, diff, diff.table.min_percent)},
	{"false-alarms", 0, "PERCENT", "false alarms allowed among the changed rows; default 5",
	 CMD_AT(SOME_PERCENT, diff, diff.table.false_alarms)},
	{"sort", 0, "COLUMN", "change (default), delta, a, b, percent, chance, name", DIFF_SORTS,
	 CMD_AT(CHOICE, diff, diff.table.sort)},
	{"limit", 'n', "N", "only the first N rows; the rest is summed up in a note",
	 CMD_AT(COUNT, diff, diff.table.limit)},
	{"idle", 0, NULL, "includes the kernel's idle functions", CMD_AT(FLAG, diff, diff.idle)},
	REPORT_SELECTION_OPTIONS,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_diff_spec = {
	"diff",
	"A B",
	"Shows what changed from set A to set B, also between builds of a program. A SET is a\n"
	"database, DB@EPOCHS, or EPOCHS of the report's database, each with ,KEY=GLOB for a part:\n"
	"machine=, comm=, label:NAME=. See culprit-diff(1) and culprit-stats(1).",
	options,
	false,
};

static int name_sets(struct diff *d, struct sets *sets, struct report_run *run)
{
	char **texts = run->operands;
	int r = 0;

	if (!texts[0] || !texts[1] || texts[2])
		return diag_fail(&run->diag, EINVAL, "name two sets to compare, A and B");
	if (d->diff.cpi && d->diff.table.by != DIFF_FUNCTION)
		return diag_fail(&run->diag, EINVAL, "--cpi is for functions; leave out --by");
	for (int i = 0; i < 2 && !r; i++)
		r = sets_add(sets, &d->report, texts[i], &run->diag);
	d->diff.function = d->report.function;
	return r;
}

static int show(void *arg, struct report_run *run)
{
	struct diff *d = arg;
	struct sets sets = {.progress = progress_show};
	struct diff_report made = {0};

	d->diff.table.false_alarms /= 100;
	int r = name_sets(d, &sets, run);
	if (!r)
		r = diff_make(&sets, &d->diff, &made, &run->header, &run->diag);
	if (!r)
		r = report_print(made.table, &run->header, d->report.format);
	diff_free(&made);
	report_end_sets(&sets);
	return r;
}

int cmd_diff(int argc, char **argv)
{
	struct diff d = {.diff.table.false_alarms = 5};

	return report_run(&cmd_diff_spec, argc, argv, report_take_option, show, &d,
			  &d.diff.table.metrics);
}

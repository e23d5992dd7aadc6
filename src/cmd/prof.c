/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/cmd.h"
#include "cmd/hints.h"
#include "cmd/report.h"
#include "report/prof/prof.h"

/* culprit prof: where the time went, ranked; Figure 1 of Anderson et al., SOSP 1997. */

struct prof {
	struct report_options report;
	struct prof_options prof;
};

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"by", 0, "WHAT", "function (default), image, file, line, loop, process, thread, subject",
	 RANK_NAMES, CMD_AT(CHOICE, prof, prof.rank.by)},
	{"inclusive", 0, NULL, "counts what was called too, by stacks; ranked by that",
	 CMD_AT(FLAG, prof, prof.table.inclusive)},
	{"sort", 0, "COLUMN", "an event, a metric or a column's name; default: the first event",
	 CMD_AT(TEXT, prof, prof.table.sort)},
	{"limit", 'n', "N", "only the first N rows; the rest is summed up in a note",
	 CMD_AT(COUNT, prof, prof.table.limit)},
	REPORT_METRIC_OPTION(prof, prof.table.metrics),
	{"idle", 0, NULL, "includes the kernel's idle functions",
	 CMD_AT(FLAG, prof, prof.rank.idle)},
	REPORT_SELECTION_OPTIONS,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_prof_spec = {
	"prof",
	"",
	"Shows where the time went: samples, ranked. Percentages are of all samples of the "
	"epochs,\n"
	"idle time left out, whatever is selected.",
	options,
	false,
};

static int show(void *arg, struct report_run *run)
{
	struct prof *p = arg;
	struct prof_report made = {0};

	if (p->prof.table.sort)
		p->prof.table.sort_hint = hints_sort(p->prof.table.sort);
	int r = prof_make(&run->session, &p->prof, &made, &run->header, &run->diag);
	if (!r)
		r = report_print(made.table, &run->header, p->report.format);
	prof_free(&made);
	return r;
}

int cmd_prof(int argc, char **argv)
{
	struct prof p = {0};

	return report_run(&cmd_prof_spec, argc, argv, report_take_option, show, &p,
			  &p.prof.table.metrics);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/cmd.h"
#include "cmd/report.h"
#include "report/code/summary.h"

/* culprit summary: where the cycles of a program or a machine went, by cause. */

struct summary {
	struct report_options report;
	struct summary_options summary;
};

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	REPORT_CAUSE_OPTION(summary, summary.cause, "ranks functions by what they lose to it"),
	{"limit", 'n', "N", "with --cause: only the first N functions; default 20",
	 CMD_AT(COUNT, summary, summary.limit)},
	{"cutoff", 0, "PERCENT", "analyses the functions that together have this share; default 99",
	 CMD_AT(SOME_PERCENT, summary, summary.cutoff)},
	REPORT_ESTIMATES_OPTIONS(summary, summary.estimates),
	REPORT_SELECTION_OPTIONS,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_summary_spec = {
	"summary",
	"",
	"Where the cycles of everything that is selected went, by cause; or, with --cause, which\n"
	"functions lost the most to one. Percentages are of the samples analysed.",
	options,
	false,
};

static int show(void *arg, struct report_run *run)
{
	struct summary *s = arg;
	struct summary_report made = {0};
	int r = summary_make(&run->session, &s->summary, &made, &run->header, &run->diag);

	if (!r)
		r = report_print(made.table, &run->header, s->report.format);
	summary_free(&made);
	return r;
}

int cmd_summary(int argc, char **argv)
{
	struct summary s = {.summary = {.limit = 20, .cause = CULPRIT_CAUSES, .cutoff = 99}};

	return report_run(&cmd_summary_spec, argc, argv, report_take_option, show, &s,
			  &s.summary.estimates.metrics);
}

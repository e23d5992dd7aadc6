/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/cmd.h"
#include "cmd/report.h"
#include "report/code/stalls.h"

/* culprit stalls: the instructions that cost the most cycles, of everything that is selected. */

#define STALLS_MAX 100000 /* that can be asked for */

struct stalls {
	struct report_options report;
	struct stalls_options stalls;
};

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"limit", 'n', "N", "how many stalls to show; default 20",
	 CMD_AT(COUNT, stalls, stalls.limit), .number = STALLS_MAX},
	REPORT_CAUSE_OPTION(stalls, stalls.cause,
			    "only stalls that may have this cause, ranked by its part"),
	REPORT_ESTIMATES_OPTIONS(stalls, stalls.estimates),
	REPORT_SELECTION_OPTIONS,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_stalls_spec = {
	"stalls",
	"",
	"The worst stalls of everything that is selected: where, how many cycles, and what is to\n"
	"blame. Percentages are of all selected samples.",
	options,
	false,
};

static int show(void *arg, struct report_run *run)
{
	struct stalls *s = arg;
	struct stalls_report made = {0};
	int r = stalls_make(&run->session, &s->stalls, &made, &run->header, &run->diag);

	if (!r)
		r = report_print(made.table, &run->header, s->report.format);
	stalls_free(&made);
	return r;
}

int cmd_stalls(int argc, char **argv)
{
	struct stalls s = {.stalls = {.limit = 20, .cause = CULPRIT_CAUSES}};

	return report_run(&cmd_stalls_spec, argc, argv, report_take_option, show, &s,
			  &s.stalls.estimates.metrics);
}

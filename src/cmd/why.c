/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>
#include "cmd/cmd.h"
#include "cmd/pager.h"
#include "cmd/progress.h"
#include "cmd/report.h"
#include "report/why/why.h"

/* culprit why: in ten plain sentences where the time went and what is to blame. */

struct why {
	struct report_options report;
};

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	REPORT_EPOCH_OPTION("last (default), all, NAME or its beginning, FROM..TO"),
	{"event", 0, "GLOB", "events by name", CMD_AT(TEXT, report_options, selection.event)},
	{"subject", REPORT_SUBJECT, "KEY=GLOB", SUBJECT_KEYS "; may be repeated"},
	REPORT_MACHINE_OPTION,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_why_spec = {
	"why",
	"",
	"In ten plain sentences where the time went and what is to blame, what matters most "
	"first.\n"
	"Under each stands the report that shows it.",
	options,
	false,
};

static int show(void *arg, struct report_run *run)
{
	struct why *w = arg;
	struct why_report made;
	int r = why_make(&run->session, &made, &run->header, &run->diag);

	if (!r && w->report.format == TABLE_TEXT) {
		progress_clear();
		r = why_print(&made, &run->header, stdout, pager_width());
		if (r)
			diag_fail(&run->diag, -r, "%s", strerror(-r));
	} else if (!r) {
		r = report_print(made.table, &run->header, w->report.format);
	}
	why_free(&made);
	return r;
}

int cmd_why(int argc, char **argv)
{
	struct why w = {0};

	return report_run(&cmd_why_spec, argc, argv, report_take_option, show, &w, NULL);
}

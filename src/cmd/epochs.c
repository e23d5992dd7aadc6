/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/cmd.h"
#include "cmd/report.h"
#include "report/database/epochs.h"

/* culprit epochs: what a database holds, an epoch a row. */

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"epoch", 0, "EPOCHS", "all (default), last, NAME or its beginning, FROM..TO",
	 CMD_AT(TEXT, report_options, epoch)},
	REPORT_MACHINE_OPTION,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_epochs_spec = {
	"epochs", "",	 "Shows what a database holds, an epoch a row, the oldest first.",
	options,  false,
};

static int show(void *arg, struct report_run *run)
{
	const struct report_options *report = arg;
	struct epochs_report made = {0};
	int r = epochs_make(&run->session, &made, &run->header, &run->diag);

	if (!r)
		r = report_print(made.table, &run->header, report->format);
	epochs_free(&made);
	return r;
}

int cmd_epochs(int argc, char **argv)
{
	struct report_options report = {.epoch = "all"};

	return report_run(&cmd_epochs_spec, argc, argv, NULL, show, &report, NULL);
}

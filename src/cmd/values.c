/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/cmd.h"
#include "cmd/report.h"
#include "report/code/values.h"

/* culprit values: what values instructions had. */

#define ROWS_MAX 100000 /* that can be asked for */

struct values {
	struct report_options report;
	struct values_report_options values;
};

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"invariant", 0, "PERCENT", "only places where one value has at least this share",
	 CMD_AT(SOME_PERCENT, values, values.invariant_percent)},
	{"arguments", 0, NULL, "only arguments of functions",
	 CMD_AT(FLAG, values, values.arguments)},
	{"strides", 0, NULL, "only strides: how far an instruction's address moves each time",
	 CMD_AT(FLAG, values, values.strides)},
	{"widths", 0, NULL, "only places where all values fit in fewer bytes than are used",
	 CMD_AT(FLAG, values, values.widths)},
	{"limit", 'n', "N", "how many places to rank; default 20",
	 CMD_AT(COUNT, values, values.limit), .number = ROWS_MAX},
	{"intel", 0, NULL, "Intel's syntax instead of AT&T's", CMD_AT(SET, values, values.syntax),
	 .number = ISA_SYNTAX_INTEL},
	REPORT_SELECTION_OPTIONS,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_values_spec = {
	"values",
	"[FUNCTION|0xADDRESS]",
	"What values instructions had (record --values): of each instruction of a function the "
	"most\n"
	"frequent ones; or, without FUNCTION, the places of all that had most.",
	options,
	false,
};

static int show(void *arg, struct report_run *run)
{
	struct values *v = arg;
	struct values_report made = {0};
	const char *what = NULL;
	int r = *run->operands ? report_take_function(&v->report, run->operands, &what, &run->diag)
			       : 0;

	if (!r)
		r = values_report_make(&run->session, &v->values, what, &made, &run->header,
				       &run->diag);
	report_print_choices(&run->session, &made.pick, r);
	if (!r)
		r = report_print(made.table, &run->header, v->report.format);
	values_report_free(&made);
	return r;
}

int cmd_values(int argc, char **argv)
{
	struct values v = {.values = {.limit = 20}};

	return report_run(&cmd_values_spec, argc, argv, report_take_option, show, &v, NULL);
}

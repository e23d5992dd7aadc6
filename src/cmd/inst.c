/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/cmd.h"
#include "cmd/report.h"
#include "report/code/inst.h"

/* culprit inst: what processors told of single instructions. */

#define ROWS_MAX 100000 /* that can be asked for */

struct inst {
	struct report_options report;
	struct inst_options inst;
};

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"by", 0, "WHAT",
	 "ranks instructions by samples (default), aborts, latency, or any event or latency",
	 INST_BY_NAMES, CMD_AT(CHOICE, inst, inst.by)},
	{"limit", 'n', "N", "how many instructions to rank; default 20",
	 CMD_AT(COUNT, inst, inst.limit), .number = ROWS_MAX},
	{"intel", 0, NULL, "Intel's syntax instead of AT&T's", CMD_AT(SET, inst, inst.syntax),
	 .number = ISA_SYNTAX_INTEL},
	REPORT_SELECTION_OPTIONS,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_inst_spec = {
	"inst",
	"[FUNCTION|0xADDRESS]",
	"What the processor told of single instructions that it sampled (AMD's IBS, Intel's PEBS,\n"
	"Arm's SPE; or a modelled core, with culprit sim): of each instruction of a function how "
	"often what happened, and what each "
	"stage\n"
	"took; or, without FUNCTION, the first instructions of all by one of these.",
	options,
	false,
};

static int show(void *arg, struct report_run *run)
{
	struct inst *i = arg;
	struct inst_report made = {0};
	const char *what = NULL;
	int r = *run->operands ? report_take_function(&i->report, run->operands, &what, &run->diag)
			       : 0;

	if (!r && what)
		r = inst_function_make(&run->session, &i->inst, what, &made, &run->header,
				       &run->diag);
	else if (!r)
		r = inst_ranking_make(&run->session, &i->inst, &made, &run->header, &run->diag);
	report_print_choices(&run->session, &made.pick, r);
	if (!r)
		r = report_print(made.table, &run->header, i->report.format);
	inst_free(&made);
	return r;
}

int cmd_inst(int argc, char **argv)
{
	struct inst i = {.inst = {.limit = 20}};

	return report_run(&cmd_inst_spec, argc, argv, report_take_option, show, &i, NULL);
}

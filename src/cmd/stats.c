/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "cmd/report.h"
#include "report/compare/stats.h"

/* culprit stats: what varies between sets of samples; Figure 3 of Anderson et al., SOSP 1997. */

enum { STATS_BY = REPORT_OPTION_END };

#define NAMES "function image file line loop" /* --by */

struct stats_command {
	struct report_options report;
	struct stats_options stats;
	bool each;
	double false_alarms; /* percent */
	struct sets sets;
};

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"by", STATS_BY, "WHAT", "function (default), image, file, line, loop", NAMES},
	{"each", 0, NULL, "makes a set of each epoch of the sets",
	 CMD_AT(FLAG, stats_command, each)},
	{"normalize", 0, "WHAT", "none (default), time: to the mean run time, samples",
	 SETS_NORMALS, CMD_AT(CHOICE, stats_command, stats.normal)},
	REPORT_METRIC_OPTION(stats_command, stats.table.metrics),
	{"false-alarms", 0, "PERCENT", "false alarms allowed among the varying rows; default 5",
	 CMD_AT(SOME_PERCENT, stats_command, false_alarms)},
	{"sort", 0, "COLUMN", "varies (default), range, sum, mean, deviation, chance, name",
	 STATS_SORTS, CMD_AT(CHOICE, stats_command, stats.table.sort)},
	{"limit", 'n', "N", "only the first N rows",
	 CMD_AT(COUNT, stats_command, stats.table.limit)},
	{"idle", 0, NULL, "includes the kernel's idle functions",
	 CMD_AT(FLAG, stats_command, stats.rank.idle)},
	REPORT_SELECTION_OPTIONS,
	REPORT_FORM_OPTIONS,
	{NULL},
};

const struct cmd_spec cmd_stats_spec = {
	"stats",
	"SET SET...",
	"Shows what varies between sets of samples, and whether by more than sampling explains. A "
	"SET\n"
	"is a database, DB@EPOCHS, or EPOCHS of the report's database, each with ,KEY=GLOB for a\n"
	"part: machine=, comm=, label:NAME=. See culprit-stats(1).",
	options,
	false,
};

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	static const enum rank_by by[] = {RANK_FUNCTION, RANK_IMAGE, RANK_FILE, RANK_LINE,
					  RANK_LOOP};
	struct stats_command *c = arg;
	unsigned number;

	if (value != STATS_BY)
		return report_take_option(arg, value, text, diag);
	if (cmd_take_choice("by", text, NAMES, &number, diag))
		return -EINVAL;
	c->stats.rank.by = by[number];
	return 0;
}

static int collect_sets(struct stats_command *c, char **texts, struct diag *diag)
{
	int r = 0;

	for (char **text = texts; *text && !r; text++)
		r = sets_add(&c->sets, &c->report, *text, diag);
	if (!r && !*texts && c->each)
		r = sets_add(&c->sets, &c->report, c->report.epoch ? c->report.epoch : "all", diag);
	if (!r && c->each)
		r = sets_split(&c->sets, diag);
	if (!r && c->sets.count < 2)
		r = diag_fail(diag, EINVAL, "%s",
			      c->each ? "these are less than two epochs"
				      : "two sets or more, or --each: a set of each epoch");
	return r;
}

static int show(void *arg, struct report_run *run)
{
	struct stats_command *c = arg;
	struct stats_report made = {0};

	c->stats.rank.function = c->report.function;
	c->stats.table.false_alarms = c->false_alarms / 100;
	int r = collect_sets(c, run->operands, &run->diag);
	if (!r)
		r = stats_make(&c->sets, &c->stats, &made, &run->header, &run->diag);
	if (!r)
		r = report_print(made.table, &run->header, c->report.format);
	stats_report_free(&made);
	report_end_sets(&c->sets);
	return r;
}

int cmd_stats(int argc, char **argv)
{
	struct stats_command c = {.false_alarms = 5, .sets.progress = progress_show};

	return report_run(&cmd_stats_spec, argc, argv, take_option, show, &c,
			  &c.stats.table.metrics);
}

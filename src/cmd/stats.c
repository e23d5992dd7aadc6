/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/stats.h"
#include "cmd/prof_table.h"
#include "cmd/sets.h"
#include "cmd/stats_table.h"
#include "cmd/cmd.h"

/* culprit stats: what varies between sets of samples; Figure 3 of Anderson et al., SOSP 1997. */

enum {
	STATS_BY = REPORT_OPTION_END,
	STATS_SORT,
	STATS_NORMAL,
	STATS_ALARMS,
	STATS_EACH,
	STATS_IDLE
};

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"by", STATS_BY, "WHAT", "function (default), image, file, line, loop",
	 "function image file line loop"},
	{"each", STATS_EACH, NULL, "makes a set of each epoch of the sets"},
	{"normalize", STATS_NORMAL, "WHAT", "none (default), time: to the mean run time, samples",
	 "none time samples"},
	REPORT_METRIC_OPTION,
	{"false-alarms", STATS_ALARMS, "PERCENT", "of the rows said to vary; default 5"},
	{"sort", STATS_SORT, "COLUMN",
	 "varies (default), range, sum, mean, deviation, chance, name",
	 "varies range sum mean deviation chance name"},
	{"limit", 'n', "N", "only the first N rows"},
	{"idle", STATS_IDLE, NULL, "with the kernel's idle functions"},
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

struct stats_command {
	struct report_options report;
	struct rank_options rank;
	struct stats_table table;
	enum sets_normal normal;
	bool each;
	double false_alarms;
	struct sets sets;
};

static int take_by(struct stats_command *c, const char *text, struct diag *diag)
{
	int r = prof_table_parse_by(text, &c->rank.by, diag);

	if (r || rank_group(c->rank.by) != QUERY_WHOLE)
		r = diag_fail(diag, EINVAL,
			      "--by '%s' is none of function, image, file, line, loop", text);
	return r;
}

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct stats_command *c = arg;

	switch (value) {
	case STATS_BY:
		return take_by(c, text, diag);
	case STATS_SORT:
		return stats_table_parse_sort(text, &c->table.sort, diag);
	case STATS_NORMAL:
		return sets_parse_normal(text, &c->normal, diag);
	case STATS_ALARMS:
		return cmd_take_some_percent("false-alarms", text, &c->false_alarms, diag);
	case REPORT_METRIC:
		return metrics_take(&c->table.metrics, text, diag);
	case STATS_EACH:
		c->each = true;
		return 0;
	case STATS_IDLE:
		c->rank.idle = true;
		return 0;
	case 'n':
		return cmd_take_count("limit", text, UINT64_MAX, &c->table.limit, diag);
	}
	return report_take_option(&c->report, value, text, diag);
}

static int collect_sets(struct stats_command *c, int count, char **texts, struct diag *diag)
{
	int r = 0;

	for (int i = 0; i < count && !r; i++)
		r = sets_add(&c->sets, &c->report, texts[i], diag);
	if (!r && !count && c->each)
		r = sets_add(&c->sets, &c->report, c->report.epoch ? c->report.epoch : "all", diag);
	if (!r && c->each)
		r = sets_split(&c->sets, diag);
	if (!r && c->sets.count < 2)
		r = diag_fail(diag, EINVAL, "%s",
			      c->each ? "these are less than two epochs"
				      : "two sets or more, or --each: a set of each epoch");
	return r;
}

/* How much the sets differ as a whole. */
static void note_times(const struct sets *s, struct report_header *h)
{
	double sum = 0, squares = 0, least = s->list[0]->seconds, most = least, mean;

	for (size_t i = 0; i < s->count; i++) {
		double seconds = s->list[i]->seconds;

		if (!(seconds > 0))
			return;
		sum += seconds;
		least = seconds < least ? seconds : least;
		most = seconds > most ? seconds : most;
	}
	mean = sum / (double)s->count;
	for (size_t i = 0; i < s->count; i++)
		squares += (s->list[i]->seconds - mean) * (s->list[i]->seconds - mean);
	report_header_note(h, "run time: mean %.4g s, std-dev %.3g, min %.4g, max %.4g", mean,
			   sqrt(squares / (double)(s->count - 1)), least, most);
}

static int show(struct stats_command *c, struct diag *diag)
{
	struct report_header h = {0};
	struct table *t = NULL;
	int r = sets_describe(&c->sets, c->rank.idle, &h);

	if (!r)
		note_times(&c->sets, &h);
	if (r)
		diag_fail(diag, -r, "out of memory");
	else
		r = stats_table_make(&c->table, &c->sets, c->rank.by, &h, &t, diag);
	if (!r)
		r = report_print(t, &h, c->report.format);
	table_free(t);
	report_header_free(&h);
	return r;
}

int cmd_stats(int argc, char **argv)
{
	struct stats_command c = {.false_alarms = 5};
	struct diag diag = {""};
	int operand, r = cmd_parse(&cmd_stats_spec, argc, argv, take_option, &c, &operand);

	if (r >= 0) {
		metrics_free(&c.table.metrics);
		return r;
	}
	c.rank.function = c.report.function;
	c.table.false_alarms = c.false_alarms / 100;
	c.table.shares = c.normal == SETS_BY_SAMPLES;
	r = collect_sets(&c, argc - operand, argv + operand, &diag);
	if (!r)
		r = sets_rank(&c.sets, &c.rank, &diag);
	if (!r)
		r = sets_weigh(&c.sets, c.normal, &diag);
	if (!r)
		r = show(&c, &diag);
	sets_free(&c.sets);
	metrics_free(&c.table.metrics);
	if (r == -EINVAL)
		return cmd_fail_usage("stats", &diag);
	return r < 0 ? cmd_fail(&diag) : r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "cmd/diff_table.h"
#include "cmd/cmd.h"
#include "cmd/insights.h"

/* culprit diff: what changed from one set of samples to another. */

enum {
	OPT_BY = REPORT_OPTION_END,
	OPT_SORT,
	OPT_NORMAL,
	OPT_ALARMS,
	OPT_MIN,
	OPT_CHANGED,
	OPT_CPI,
	OPT_IDLE
};

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"by", OPT_BY, "WHAT", "function (default), image, file, line, block, instruction",
	 "function image file line block instruction"},
	{"normalize", OPT_NORMAL, "WHAT", "none (default), time: to the mean run time, samples",
	 "none time samples"},
	REPORT_METRIC_OPTION,
	{"cpi", OPT_CPI, NULL, "with CPI, calls and stall causes of the functions shown"},
	{"changed", OPT_CHANGED, NULL, "only what changed by more than sampling explains"},
	{"min", OPT_MIN, "PERCENT", "only rows with so much of the samples of A or B"},
	{"false-alarms", OPT_ALARMS, "PERCENT", "of the rows said to have changed; default 5"},
	{"sort", OPT_SORT, "COLUMN", "change (default), delta, a, b, percent, chance, name",
	 "change delta a b percent chance name"},
	{"limit", 'n', "N", "only the first N rows; the rest is summed up in a note"},
	{"idle", OPT_IDLE, NULL, "with the kernel's idle functions"},
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

struct diff {
	struct report_options report;
	struct rank_options rank;
	struct diff_table table;
	enum sets_normal normal;
	bool cpi;
	struct sets sets;
	struct diff_rows rows;
};

static int take_by(const char *text, enum diff_by *ret, struct diag *diag)
{
	static const char *const names[] = {
		[DIFF_FUNCTION] = "function", [DIFF_IMAGE] = "image",
		[DIFF_FILE] = "file",	      [DIFF_LINE] = "line",
		[DIFF_BLOCK] = "block",	      [DIFF_INSTRUCTION] = "instruction",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(text, names[i])) {
			*ret = (enum diff_by)i;
			return 0;
		}
	}
	return diag_fail(diag, EINVAL,
			 "--by '%s' is none of function, image, file, line, block, instruction",
			 text);
}

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct diff *d = arg;

	switch (value) {
	case OPT_BY:
		return take_by(text, &d->table.by, diag);
	case OPT_SORT:
		return diff_table_parse_sort(text, &d->table.sort, diag);
	case OPT_NORMAL:
		return sets_parse_normal(text, &d->normal, diag);
	case OPT_ALARMS:
		return cmd_take_some_percent("false-alarms", text, &d->table.false_alarms, diag);
	case OPT_MIN:
		return cmd_take_percent("min", text, &d->table.min_percent, diag);
	case REPORT_METRIC:
		return metrics_take(&d->table.metrics, text, diag);
	case OPT_CHANGED:
		d->table.changed = true;
		return 0;
	case OPT_CPI:
		d->cpi = true;
		return 0;
	case OPT_IDLE:
		d->rank.idle = true;
		return 0;
	case 'n':
		return cmd_take_count("limit", text, UINT64_MAX, &d->table.limit, diag);
	}
	return report_take_option(&d->report, value, text, diag);
}

static int read_sets(struct diff *d, char **texts, int count, struct diag *diag)
{
	int r = 0;

	if (count != 2)
		return diag_fail(diag, EINVAL, "two sets are compared, A and B");
	if (d->cpi && d->table.by != DIFF_FUNCTION)
		return diag_fail(diag, EINVAL, "--cpi is of functions; leave out --by");
	for (int i = 0; i < 2 && !r; i++)
		r = sets_add(&d->sets, &d->report, texts[i], diag);
	d->rank.by = diff_rank(d->table.by);
	d->rank.function = d->report.function;
	if (!r)
		r = sets_rank(&d->sets, &d->rank, diag);
	return r ? r : sets_weigh(&d->sets, d->normal, diag);
}

static int estimate(struct diff *d, struct diag *diag)
{
	int r = 0;

	for (size_t s = 0; s < 2 && !r && d->cpi; s++) {
		const struct set *one = d->sets.list[s];
		struct insights_request request = {
			.query = one->query,
			.reader = one->reader,
			.finder = one->finder,
			.method = FREQUENCY_FLOW,
		};

		r = insights_new(&request, &d->table.insights[s], diag);
	}
	return r;
}

/* Whose intervals could be narrower. */
static void describe_edges(const struct diff *d, struct report_header *h)
{
	for (size_t s = 0; s < 2; s++)
		if (d->table.insights[s] && !insights_basis(d->table.insights[s])->edges)
			report_header_note(
				h,
				"set %zu: CPI and calls are from samples alone, %s: `culprit "
				"record --edges` narrows their intervals",
				s + 1, insights_without_edges(d->sets.list[s]->reader));
}

static int show(struct diff *d, struct diag *diag)
{
	struct report_header h = {0};
	struct table *t = NULL;
	int r = diff_rows_new(&d->sets, d->table.by, d->normal == SETS_BY_SAMPLES,
			      d->table.false_alarms, &d->rows);

	if (!r)
		r = sets_describe(&d->sets, d->rank.idle, &h);
	if (!r)
		describe_edges(d, &h);
	if (r)
		diag_fail(diag, -r, "out of memory");
	else
		r = diff_table_make(&d->table, &d->sets, &d->rows, &h, &t, diag);
	if (!r)
		r = report_print(t, &h, d->report.format);
	table_free(t);
	report_header_free(&h);
	return r;
}

int cmd_diff(int argc, char **argv)
{
	struct diff d = {.table.false_alarms = 5};
	struct diag diag = {""};
	int operand, r = cmd_parse(&cmd_diff_spec, argc, argv, take_option, &d, &operand);

	if (r >= 0) {
		metrics_free(&d.table.metrics);
		return r;
	}
	d.table.false_alarms /= 100;
	r = read_sets(&d, argv + operand, argc - operand, &diag);
	if (!r)
		r = estimate(&d, &diag);
	if (!r)
		r = show(&d, &diag);
	diff_rows_free(&d.rows);
	insights_free(d.table.insights[0]);
	insights_free(d.table.insights[1]);
	sets_free(&d.sets);
	metrics_free(&d.table.metrics);
	if (r == -EINVAL)
		return cmd_fail_usage("diff", &diag);
	return r < 0 ? cmd_fail(&diag) : r;
}

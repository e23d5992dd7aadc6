/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/inclusive.h"
#include "cmd/prof_table.h"
#include "cmd/report.h"
#include "cmd/cmd.h"

/* culprit prof: where the time went, ranked; Figure 1 of Anderson et al., SOSP 1997. */

enum { PROF_BY = REPORT_OPTION_END, PROF_SORT, PROF_INCLUSIVE, PROF_IDLE };

static const struct cmd_option options[] = {
	REPORT_DB_OPTION,
	{"by", PROF_BY, "WHAT",
	 "function (default), image, file, line, loop, process, thread, subject",
	 "function image file line loop process thread subject"},
	{"inclusive", PROF_INCLUSIVE, NULL,
	 "with all that was called, as stacks tell; ranked by that"},
	{"sort", PROF_SORT, "COLUMN",
	 "an event, a metric or a column's name; default: the first event"},
	{"limit", 'n', "N", "only the first N rows; the rest is summed up in a note"},
	REPORT_METRIC_OPTION,
	{"idle", PROF_IDLE, NULL, "with the kernel's idle functions"},
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

struct prof {
	struct report_options report;
	struct prof_table table;
	struct rank_options rank;
	struct image_finder *finder;
	struct db_reader *reader;
	struct stack_set *stacks; /* NULL: not asked for */
};

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct prof *p = arg;

	switch (value) {
	case PROF_BY:
		return prof_table_parse_by(text, &p->rank.by, diag);
	case PROF_SORT:
		p->table.sort = text;
		return 0;
	case PROF_INCLUSIVE:
		p->table.inclusive = true;
		return 0;
	case REPORT_METRIC:
		return metrics_take(&p->table.metrics, text, diag);
	case PROF_IDLE:
		p->rank.idle = true;
		return 0;
	case 'n':
		return cmd_take_count("limit", text, UINT64_MAX, &p->table.limit, diag);
	}
	return report_take_option(&p->report, value, text, diag);
}

/* Without a pid in any subject, a ranking by process would be one by command. */
static int check_processes(const struct query *q, struct diag *diag)
{
	uint32_t count = intern_count(q->groups);
	const void *subject;
	size_t size;

	for (uint32_t i = 0; i < count; i++) {
		subject = intern_get(q->groups, i, &size);
		if (subject_get(subject, size, "pid", NULL))
			return 0;
	}
	if (!count)
		return 0;
	return diag_fail(
		diag, ENODATA,
		"this profile was not taken per process: record with --per-process, or see "
		"--by subject for command names");
}

static int describe(struct prof *p, const struct query *q, const struct rank *k,
		    struct report_header *h)
{
	int r = report_describe(h, p->reader, q, p->finder);

	if (r)
		return r;
	report_describe_rank(h, q, k, p->rank.idle);
	if (p->stacks)
		report_describe_stacks(h, p->stacks);
	return 0;
}

static int show(struct prof *p, const struct query *q, const struct rank *k, struct diag *diag)
{
	struct report_header h = {0};
	struct table *t = NULL;
	int r;

	r = describe(p, q, k, &h);
	if (r)
		diag_fail(diag, -r, "out of memory");
	else
		r = prof_table_make(&p->table, q, k, p->rank.by, &h, &t, diag);
	if (!r)
		r = report_print(t, &h, p->report.format);
	table_free(t);
	report_header_free(&h);
	return r;
}

/* What each row took with all that it called. */
static int add_inclusive(struct prof *p, const struct rank_source *source, struct rank *k,
			 struct diag *diag)
{
	struct stack_options wanted = {
		.inlines = p->rank.by == RANK_FILE || p->rank.by == RANK_LINE,
		.idle = p->rank.idle,
	};
	int r = stack_set_finish(p->stacks, &wanted, source, diag);

	if (r)
		return r;
	if (!p->stacks->quality.stacks)
		return report_fail_no_stacks(diag);
	return inclusive_add(k, &p->rank, p->stacks, diag);
}

static int run(struct prof *p, struct diag *diag)
{
	const struct db_epoch *const *epochs;
	struct rank_source source;
	struct query *q = NULL;
	struct rank *k = NULL;
	const char *path;
	size_t count;
	int r;

	if (p->table.inclusive && !inclusive_is_known(p->rank.by))
		return diag_fail(diag, EINVAL,
				 "--inclusive goes with --by function, image, file and line");
	p->rank.function = p->report.function;
	/* What is on stacks has samples of all images. */
	if (p->table.inclusive) {
		p->rank.image = p->report.selection.image;
		p->report.selection.image = NULL;
	}
	p->table.balance = p->rank.by == RANK_PROCESS;
	r = query_new(&p->report.selection, rank_group(p->rank.by), &q, diag);
	if (!r && p->table.inclusive)
		r = stack_set_new(q, &p->stacks, diag);
	if (!r)
		r = report_open(&p->report, &path, &p->reader, diag);
	if (!r)
		r = query_read(q, p->reader, diag);
	if (!r && p->rank.by == RANK_PROCESS)
		r = check_processes(q, diag);
	if (!r) {
		epochs = db_reader_selected(p->reader, &count);
		r = image_finder_new(path, count ? epochs[0]->machine : NULL, &p->finder);
		if (r)
			diag_fail(diag, -r, "cannot look for symbols: %s", strerror(-r));
	}
	if (!r) {
		source = report_source(p->finder);
		r = rank_new(q, &p->rank, &source, &k, diag);
		if (!r && p->stacks)
			r = add_inclusive(p, &source, k, diag);
	}
	if (!r)
		r = show(p, q, k, diag);
	rank_free(k);
	stack_set_free(p->stacks);
	query_free(q);
	return r;
}

int cmd_prof(int argc, char **argv)
{
	struct prof p = {0};
	struct diag diag = {""};
	int r;

	r = cmd_parse(&cmd_prof_spec, argc, argv, take_option, &p, NULL);
	if (r >= 0) {
		metrics_free(&p.table.metrics);
		return r;
	}
	r = run(&p, &diag);
	metrics_free(&p.table.metrics);
	image_finder_free(p.finder);
	report_close(p.reader);
	if (r == -EINVAL)
		return cmd_fail_usage("prof", &diag);
	return r < 0 ? cmd_fail(&diag) : r;
}

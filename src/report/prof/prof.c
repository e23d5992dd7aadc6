/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/prof/prof.h"

#include <errno.h>
#include "analyze/calls/inclusive.h"
#include "report/describe.h"

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

/* What each row took with all that it called. */
static int add_inclusive(const struct rank_options *by, const struct rank_source *source,
			 struct prof_report *p, struct diag *diag)
{
	struct stack_options wanted = {
		.inlines = by->by == RANK_FILE || by->by == RANK_LINE,
		.idle = by->idle,
	};
	int r = stack_set_finish(p->stacks, &wanted, source, diag);

	if (r)
		return r;
	if (!p->stacks->quality.stacks)
		return report_fail_no_stacks(diag);
	return inclusive_add(p->rank, by, p->stacks, diag);
}

static int rank(struct report_session *s, const struct prof_options *o, struct prof_report *ret,
		struct diag *diag)
{
	struct query_selection selection = s->options->selection;
	struct rank_options by = o->rank;
	struct rank_source source = report_session_source(s);

	by.function = s->options->function;
	/* What is on stacks has samples of all images. */
	if (o->table.inclusive) {
		by.image = selection.image;
		selection.image = NULL;
	}
	int r = report_session_open(s, &selection, rank_group(by.by), diag);
	if (!r && o->table.inclusive)
		r = stack_set_new(s->query, &ret->stacks, diag);
	if (!r)
		r = query_read(s->query, s->reader, diag);
	if (!r && by.by == RANK_PROCESS)
		r = check_processes(s->query, diag);
	if (!r)
		r = rank_new(s->query, &by, &source, &ret->rank, diag);
	if (!r && ret->stacks)
		r = add_inclusive(&by, &source, ret, diag);
	return r;
}

int prof_make(struct report_session *s, const struct prof_options *o, struct prof_report *ret,
	      struct report_header *h, struct diag *diag)
{
	struct prof_table table = o->table;

	*ret = (struct prof_report){0};
	if (o->table.inclusive && !inclusive_is_known(o->rank.by))
		return diag_fail(diag, EINVAL,
				 "--inclusive works with --by function, image, file and line");
	int r = rank(s, o, ret, diag);
	if (r)
		return r;
	report_describe(h, s);
	report_describe_rank(h, s->query, ret->rank, o->rank.idle);
	if (ret->stacks)
		report_describe_stacks(h, ret->stacks);
	table.balance = o->rank.by == RANK_PROCESS;
	return prof_table_make(&table, s->query, ret->rank, o->rank.by, h, &ret->table, diag);
}

void prof_free(struct prof_report *r)
{
	table_free(r->table);
	rank_free(r->rank);
	stack_set_free(r->stacks);
}

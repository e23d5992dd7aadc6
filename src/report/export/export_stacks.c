/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>
#include "report/describe.h"
#include "report/export/export.h"

/* culprit export: stacks, for programs that show them. */

static int put_folded(const struct stack_set *s, const struct stacks_about *about, struct buf *b)
{
	(void)about;
	return stacks_write_folded(s, b);
}

static int (*const writers[EXPORT_STACKS])(const struct stack_set *, const struct stacks_about *,
					   struct buf *) = {
	[EXPORT_FOLDED] = put_folded,
	[EXPORT_PPROF] = stacks_write_pprof,
	[EXPORT_SPEEDSCOPE] = stacks_write_speedscope,
	[EXPORT_CALLGRIND] = stacks_write_callgrind,
};

static struct stacks_about describe(const struct report_session *s)
{
	struct stacks_about about = {.title = "culprit"};
	const struct db_epoch *const *epochs;
	size_t count;

	epochs = db_reader_selected(s->reader, &count);
	for (size_t i = 0; i < count; i++) {
		if (!i || epochs[i]->start_ns < about.start_ns)
			about.start_ns = epochs[i]->start_ns;
		if (epochs[i]->end_ns > about.end_ns)
			about.end_ns = epochs[i]->end_ns;
	}
	if (count)
		about.title = epochs[count - 1]->name;
	if (about.end_ns < about.start_ns)
		about.end_ns = about.start_ns;
	return about;
}

int export_stacks_make(struct report_session *s, struct export_stacks_report *ret,
		       struct diag *diag)
{
	struct stack_options options = {.inlines = true};
	struct rank_source source = report_session_source(s);
	int r = report_session_open(s, NULL, QUERY_SUBJECT, diag);

	*ret = (struct export_stacks_report){0};
	if (!r)
		r = stack_set_new(s->query, &ret->set, diag);
	if (!r)
		r = query_read(s->query, s->reader, diag);
	if (!r)
		r = stack_set_finish(ret->set, &options, &source, diag);
	if (!r && !ret->set->quality.stacks)
		r = report_fail_no_stacks(diag);
	if (!r)
		ret->about = describe(s);
	return r;
}

void export_stacks_free(struct export_stacks_report *r)
{
	stack_set_free(r->set);
}

void export_stacks_write(const struct export_stacks_report *r, enum export_stacks form,
			 struct buf *to)
{
	writers[form](r->set, &r->about, to);
}

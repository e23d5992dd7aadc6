/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include "cmd/export.h"
#include "exchange/stacks.h"

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

static struct stacks_about describe(const struct export_source *s)
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

static int read_stacks(struct export_source *s, struct stack_set **ret, struct diag *diag)
{
	struct stack_options options = {.inlines = true};
	struct rank_source source = report_source(s->finder);
	int r = stack_set_new(s->query, ret, diag);

	if (!r)
		r = query_read(s->query, s->reader, diag);
	if (!r)
		r = stack_set_finish(*ret, &options, &source, diag);
	if (!r && !(*ret)->quality.stacks)
		r = report_fail_no_stacks(diag);
	return r;
}

int export_stacks(struct report_options *report, const char *const files[EXPORT_STACKS],
		  struct diag *diag)
{
	struct export_source s = {0};
	struct stack_set *set = NULL;
	struct stacks_about about;
	struct buf b;
	int r = export_open(&s, report, QUERY_SUBJECT, diag);

	if (!r)
		r = read_stacks(&s, &set, diag);
	for (size_t i = 0; i < EXPORT_STACKS && !r; i++) {
		if (!files[i])
			continue;
		about = describe(&s);
		buf_init(&b, EXPORT_MAX_BYTES);
		writers[i](set, &about, &b);
		r = export_save(&b, files[i], diag);
		buf_free(&b);
	}
	stack_set_free(set);
	export_close(&s);
	return r;
}

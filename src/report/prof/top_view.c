/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/prof/top_view.h"

#include <errno.h>
#include <string.h>
#include "report/prof/prof_table.h"
#include "report/describe.h"
#include "util/num.h"

int top_view_init(struct top_view *v, const char *db, struct diag *diag)
{
	int r = image_finder_new(db, NULL, &v->session.finder);

	v->session.path = db;
	return r ? diag_fail(diag, -r, "cannot look for symbols: %s", strerror(-r)) : 0;
}

void top_view_free(struct top_view *v)
{
	report_session_close(&v->session);
}

int top_view_load(struct top_view *v, const char *expression, struct diag *diag)
{
	struct db_reader *reader;
	int r = db_reader_open(v->session.path, &io_system, &reader, diag);

	if (r)
		return r;
	r = db_reader_select(reader, expression, diag);
	if (r) {
		db_reader_free(reader);
		reader = NULL;
	}
	/* Nothing sampled yet is no error here. */
	if (r && r != -ENOENT)
		return r;
	db_reader_free(v->session.reader);
	v->session.reader = reader;
	image_finder_refresh(v->session.finder);
	return 0;
}

static const char *choose_sort(const struct top_view *v, const struct query *q)
{
	if (v->sort)
		return v->sort;
	if (v->sort_at >= q->event_count)
		return q->event_count ? prof_table_by_name(v->rank.by) : NULL;
	return q->events[v->sort_at].label;
}

static void describe(const struct top_view *v, const struct query *q, const struct rank *k,
		     struct top_frame *f)
{
	const struct db_epoch *const *epochs;
	size_t count;

	if (v->session.reader) {
		epochs = db_reader_selected(v->session.reader, &count);
		report_describe_epochs(&f->header, epochs, count);
	}
	report_describe_query(&f->header, q);
	if (v->session.reader)
		report_describe_reader(&f->header, v->session.reader);
	report_describe_rank(&f->header, q, k, v->rank.idle);
	f->taken = num_add_sat(f->header.samples, q->idle_skipped);
}

static int tabulate(struct top_view *v, const struct query *q, const struct rank *k, size_t limit,
		    struct top_frame *f, struct diag *diag)
{
	struct prof_table how = {.limit = limit, .metrics = v->metrics, .events_may_lack = true};

	describe(v, q, k, f);
	f->row_count = k->row_count;
	f->sorted_by = how.sort = choose_sort(v, q);
	how.sort_hint = v->sort_hint;
	return prof_table_make(&how, q, k, v->rank.by, &f->header, &f->table, diag);
}

int top_view_make(struct top_view *v, size_t limit, struct top_frame *ret, struct diag *diag)
{
	struct query_selection everything = {0};
	struct rank_source source = report_session_source(&v->session);
	struct rank *k = NULL;

	memset(ret, 0, sizeof(*ret));
	int r = query_new(&everything, rank_group(v->rank.by), &ret->query, diag);
	if (!r && v->session.reader)
		r = query_read(ret->query, v->session.reader, diag);
	if (r == -ENOENT)
		r = 0;
	if (!r)
		r = rank_new(ret->query, &v->rank, &source, &k, diag);
	if (!r)
		r = tabulate(v, ret->query, k, limit, ret, diag);
	rank_free(k);
	image_finder_idle(v->session.finder);
	if (r)
		top_frame_free(ret);
	return r;
}

void top_frame_free(struct top_frame *f)
{
	report_header_free(&f->header);
	table_free(f->table);
	query_free(f->query);
	memset(f, 0, sizeof(*f));
}

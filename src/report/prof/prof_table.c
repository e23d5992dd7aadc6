/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "report/prof/prof_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "report/prof/prof_balance.h"
#include "report/describe.h"
#include "util/buf.h"
#include "util/num.h"
#include "util/text.h"

enum sort_key {
	SORT_EVENT,
	SORT_TOTAL,
	SORT_OWN,
	SORT_METRIC,
	SORT_FUNCTION,
	SORT_IMAGE,
	SORT_FILE,
	SORT_GROUP
};

struct order {
	const struct query *query;
	enum sort_key key;
	size_t event, metric;
	const struct metrics_bound *metrics;
};

/* The columns of the table that depend on what it ranks. */
struct columns {
	int samples, percent, cumulative;
	int total, total_percent, totals; /* totals: the first of the group, not in text */
	int events; /* the first of the group; each but the first has a share after it */
	int function, image, build_id, file, line, comm, pid, thread, subject;
	int own, depth, header, parent, irreducible; /* of loops */
};

static int compare_names(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_groups(const struct query *q, const struct rank_row *a, const struct rank_row *b)
{
	size_t a_size = 0, b_size = 0;
	const void *x = intern_get(q->groups, a->group, &a_size);
	const void *y = intern_get(q->groups, b->group, &b_size);
	int d = x && y ? memcmp(x, y, a_size < b_size ? a_size : b_size) : 0;

	return d ? d : NUM_ORDER(a_size, b_size);
}

static int compare_counts(const struct rank_row *a, const struct rank_row *b, size_t event)
{
	return NUM_ORDER(b->counts[event], a->counts[event]);
}

/* Largest first; rows without a value come last. */
static int compare_metrics(const struct order *o, const struct rank_row *a,
			   const struct rank_row *b)
{
	double x = 0, y = 0;
	bool has_x = metrics_value(o->metrics, o->metric, a->counts, &x);
	bool has_y = metrics_value(o->metrics, o->metric, b->counts, &y);

	return has_x == has_y ? NUM_ORDER(y, x) : has_y - has_x;
}

static int compare_places(const struct rank_row *a, const struct rank_row *b)
{
	int d = compare_names(a->file, b->file);

	return d ? d : NUM_ORDER(a->line, b->line);
}

static int compare_images(const struct rank_row *a, const struct rank_row *b)
{
	int d;

	if (!a->image || !b->image)
		return 0;
	d = compare_names(a->image->path, b->image->path);
	return d ? d : memcmp(&a->image->id, &b->image->id, sizeof(a->image->id));
}

/* The key that was asked for, then everything else, so that equal input gives equal output. */
static int compare_rows(const void *x, const void *y, void *arg)
{
	const struct rank_row *a = x, *b = y;
	const struct order *o = arg;
	int d = 0;

	switch (o->key) {
	case SORT_TOTAL:
		d = NUM_ORDER(b->inclusive[0], a->inclusive[0]);
		break;
	case SORT_OWN:
		d = NUM_ORDER(b->own[0], a->own[0]);
		break;
	case SORT_METRIC:
		d = compare_metrics(o, a, b);
		break;
	case SORT_FUNCTION:
		d = compare_names(a->function, b->function);
		break;
	case SORT_IMAGE:
		d = compare_images(a, b);
		break;
	case SORT_FILE:
		d = compare_places(a, b);
		break;
	case SORT_GROUP:
		d = compare_groups(o->query, a, b);
		break;
	case SORT_EVENT:
		break;
	}
	d = d ? d : compare_counts(a, b, o->event);
	d = d ? d : compare_counts(a, b, 0);
	d = d ? d : NUM_ORDER(a->depth, b->depth);
	d = d ? d : compare_names(a->function, b->function);
	d = d ? d : compare_places(a, b);
	d = d ? d : compare_images(a, b);
	d = d ? d : NUM_ORDER(a->header, b->header);
	return d ? d : compare_groups(o->query, a, b);
}

/* Lets the row at the top of a heap sink to its place; the last in order is on top. */
static void sink(struct rank_row *heap, size_t count, size_t at, struct order *o)
{
	struct rank_row row = heap[at];
	size_t child;

	while ((child = 2 * at + 1) < count) {
		if (child + 1 < count && compare_rows(&heap[child + 1], &heap[child], o) > 0)
			child++;
		if (compare_rows(&heap[child], &row, o) <= 0)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = row;
}

/* Brings the first `limit` rows to the front, in order; a screenful needs no sort of all. */
static void sort_rows(struct rank_row *rows, size_t count, size_t limit, struct order *o)
{
	struct rank_row row;

	if (!count)
		return;
	for (size_t i = limit < count ? limit / 2 : 0; i-- > 0;)
		sink(rows, limit, i, o);
	for (size_t i = limit; i < count; i++) {
		if (compare_rows(&rows[i], &rows[0], o) < 0) {
			row = rows[0];
			rows[0] = rows[i];
			rows[i] = row;
			sink(rows, limit, 0, o);
		}
	}
	qsort_r(rows, limit, sizeof(*rows), compare_rows, o);
}

static int fail_sort(const char *sort, const char *hint, struct diag *diag)
{
	return diag_fail(diag, EINVAL,
			 "--sort '%s' is neither an event of this profile, a metric, nor one of "
			 "samples, percent, total, self, function, image, file, line, process, "
			 "thread, subject%s%s",
			 sort, hint ? "; " : "", hint ? hint : "");
}

/* By source, an interpreter's samples are not known to be one's of what it ran. */
static bool has_own(const struct prof_table *p, enum rank_by by)
{
	return p->inclusive && (by == RANK_FUNCTION || by == RANK_IMAGE);
}

static int find_order(const struct prof_table *p, const struct query *q, enum rank_by by,
		      const struct metrics_bound *metrics, struct order *o, struct diag *diag)
{
	static const struct {
		const char *name;
		enum sort_key key;
	} columns[] = {
		{"samples", SORT_EVENT}, {"percent", SORT_EVENT}, {"function", SORT_FUNCTION},
		{"image", SORT_IMAGE},	 {"file", SORT_FILE},	  {"line", SORT_FILE},
		{"process", SORT_GROUP}, {"thread", SORT_GROUP},  {"subject", SORT_GROUP},
		{"total", SORT_TOTAL},	 {"self", SORT_OWN},
	};

	*o = (struct order){
		.query = q,
		.key = p->inclusive ? SORT_TOTAL : SORT_EVENT,
		.metrics = metrics,
	};
	if (!p->sort)
		return 0;
	for (size_t i = 0; i < q->event_count; i++) {
		if (!strcmp(p->sort, q->events[i].label)) {
			o->key = SORT_EVENT;
			o->event = i;
			return 0;
		}
	}
	for (size_t i = 0; i < p->metrics.count; i++) {
		if (!strcmp(p->sort, metric_name(p->metrics.list[i]))) {
			o->key = SORT_METRIC;
			o->metric = i;
			return 0;
		}
	}
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		if (!strcmp(p->sort, columns[i].name)) {
			o->key = columns[i].key;
			if (o->key == SORT_TOTAL && !p->inclusive)
				return diag_fail(diag, EINVAL, "--sort total needs --inclusive");
			if (o->key == SORT_OWN && !has_own(p, by))
				return diag_fail(diag, EINVAL,
						 "--sort self needs --inclusive, and --by function "
						 "or image");
			return 0;
		}
	}
	return fail_sort(p->sort, p->sort_hint, diag);
}

/* Whether an interpreter's samples are those of what it ran. */
static bool has_interpreted(const struct rank *k)
{
	for (size_t i = 0; i < k->row_count; i++)
		if (k->rows[i].own[0] != k->rows[i].counts[0])
			return true;
	return false;
}

/* Loops are counted with those inside them, so their shares do not add up; nor do those of rows in
 * order of their total, of which a share of "all above" would say nothing. */
static void add_event_columns(struct table *t, const struct prof_table *p, const struct query *q,
			      const struct rank *k, enum rank_by by, struct columns *c)
{
	const bool has = has_own(p, by), inclusive = p->inclusive;
	const char *first = q->event_count > 1 ? q->events[0].label : "samples";

	if (inclusive) {
		c->total = table_add_column(t, TABLE_COUNT, "total", "total");
		c->total_percent = table_add_column(t, TABLE_PERCENT, "total_percent", "total%");
	}
	c->samples = table_add_column(t, TABLE_COUNT, "samples", first);
	c->percent = table_add_column(t, TABLE_PERCENT, "percent", "%");
	c->cumulative = -1;
	c->events = c->percent + 1 + (has || !inclusive);
	if (by == RANK_LOOP || has)
		c->own = table_add_column(t, TABLE_COUNT, "self",
					  !has || has_interpreted(k) ? "self" : NULL);
	else if (!inclusive)
		c->cumulative = table_add_column(t, TABLE_PERCENT, "cumulative_percent", "cum%");
	for (size_t i = 0; i < q->event_count; i++) {
		int count = table_add_group_column(t, TABLE_COUNT, "events", q->events[i].label,
						   i ? q->events[i].label : NULL);

		table_set_spare(t, count, 4);
		if (i)
			table_set_spare(t, table_add_column(t, TABLE_PERCENT, NULL, "%"), 1);
	}
	table_set_spare(t, c->cumulative, 2);
	for (size_t i = 0; i < q->event_count && inclusive; i++) {
		int column =
			table_add_group_column(t, TABLE_COUNT, "totals", q->events[i].label, NULL);

		if (!i)
			c->totals = column;
	}
}

static void add_name_columns(struct table *t, enum rank_by by, struct columns *c)
{
	if (by == RANK_LOOP) {
		c->depth = table_add_column(t, TABLE_COUNT, "depth", "depth");
		c->header = table_add_column(t, TABLE_ADDRESS, "header", "header");
		c->parent = table_add_column(t, TABLE_ADDRESS, "parent", NULL);
		table_set_spare(t, c->header, 3);
		c->irreducible = table_add_column(t, TABLE_COUNT, "irreducible", NULL);
	}
	if (by == RANK_FUNCTION || by == RANK_LOOP)
		c->function = table_add_column(t, TABLE_NAME, "function", "function");
	if (by == RANK_FILE || by == RANK_LINE || by == RANK_LOOP)
		c->file = table_add_column(t, TABLE_NAME, "file", "file");
	if (by == RANK_LINE || by == RANK_LOOP)
		c->line = table_add_column(t, TABLE_COUNT, "line", "line");
	if (by == RANK_LINE) {
		c->function = table_add_column(t, TABLE_NAME, "function", "function");
	}
	if (by == RANK_PROCESS) {
		c->pid = table_add_column(t, TABLE_COUNT, "pid", "pid");
		c->comm = table_add_column(t, TABLE_NAME, "comm", "command");
	} else if (by == RANK_THREAD) {
		c->thread = table_add_column(t, TABLE_NAME, "thread", "thread");
		c->comm = table_add_column(t, TABLE_NAME, "comm", "command");
	} else if (by == RANK_SUBJECT) {
		c->subject = table_add_column(t, TABLE_NAME, "subject", "subject");
	} else {
		c->image = table_add_column(t, TABLE_NAME, "image", "image");
		c->build_id = table_add_column(t, TABLE_NAME, "build_id", NULL);
	}
}

static void set_image(struct table *t, const struct columns *c, const struct rank_row *row)
{
	if (row->image->id.kind == IMAGE_UNKNOWN)
		table_set_text(t, c->image, RANK_UNKNOWN);
	else
		report_set_image(t, c->image, c->build_id, row->image);
}

/* The subject's value of a key, if it has one. */
static void set_value(struct table *t, int column, const void *subject, size_t size,
		      const char *key)
{
	size_t n;
	const char *value = subject_get(subject, size, key, &n);

	if (value)
		table_set_name(t, column, value, n);
}

static void set_process(struct table *t, const struct columns *c, const void *subject, size_t size)
{
	uint64_t number = 0;
	size_t n;
	const char *pid = subject_get(subject, size, "pid", &n);

	set_value(t, c->comm, subject, size, "comm");
	if (!pid || n > 18)
		return;
	for (size_t i = 0; i < n; i++)
		number = 10 * number + (uint64_t)(pid[i] - '0') % 10;
	table_set_count(t, c->pid, number);
}

static void set_thread(struct table *t, const struct columns *c, const void *subject, size_t size)
{
	set_value(t, c->thread, subject, size, "thread");
	set_value(t, c->comm, subject, size, "comm");
}

/* "comm=make container=4f2a...": the command first, as long names are cut at the end. */
static void set_subject(struct table *t, const struct columns *c, const void *subject, size_t size)
{
	struct subject_pair pair;
	struct buf b;
	size_t at;
	bool is_comm;

	buf_init(&b, 2 * SUBJECT_MAX_BYTES + 2 * SUBJECT_MAX_PAIRS);
	for (int pass = 0; pass < 2; pass++) {
		for (at = 0; subject_next(subject, size, &at, &pair);) {
			is_comm = pair.key_size == 4 && !memcmp(pair.key, "comm", 4);
			if (is_comm != (pass == 0))
				continue;
			buf_append(&b, " ", b.size > 0);
			buf_append(&b, pair.key, pair.key_size);
			buf_append_u8(&b, '=');
			buf_append(&b, pair.value, pair.value_size);
		}
	}
	table_set_buf(t, c->subject, &b);
	buf_free(&b);
}

static void set_loop(struct table *t, const struct columns *c, const struct rank_row *row)
{
	table_set_count(t, c->own, row->own[0]);
	table_set_count(t, c->depth, row->depth);
	table_set_count(t, c->irreducible, row->irreducible);
	table_set_address(t, c->header, row->header);
	if (row->parent != ISA_NO_ADDRESS)
		table_set_address(t, c->parent, row->parent);
}

static void set_names(struct table *t, const struct columns *c, const struct query *q,
		      enum rank_by by, const struct rank_row *row)
{
	size_t size = 0;
	const void *subject = intern_get(q->groups, row->group, &size);

	if (by == RANK_PROCESS) {
		set_process(t, c, subject, size);
	} else if (by == RANK_THREAD) {
		set_thread(t, c, subject, size);
	} else if (by == RANK_SUBJECT) {
		set_subject(t, c, subject, size);
	} else {
		if (row->depth)
			set_loop(t, c, row);
		if (by == RANK_FUNCTION || by == RANK_LINE || by == RANK_LOOP)
			table_set_text(t, c->function, row->function);
		table_set_text(t, c->file, row->file);
		if (row->line)
			table_set_count(t, c->line, row->line);
		set_image(t, c, row);
	}
}

static void set_totals(struct table *t, const struct columns *c, const struct query *q,
		       const struct rank *k, const struct rank_row *row)
{
	table_set_count(t, c->total, row->inclusive[0]);
	if (row->own)
		table_set_count(t, c->own, row->own[0]);
	table_set_real(t, c->total_percent, table_percent(row->inclusive[0], k->totals[0]));
	for (size_t e = 0; e < q->event_count; e++)
		table_set_count(t, c->totals + (int)e, row->inclusive[e]);
}

/* Everything that makes a table. */
struct making {
	const struct query *query;
	const struct rank *rank;
	enum rank_by by;
	size_t limit;
	struct table *table;
	struct columns columns;
	struct metrics_bound metrics;
	struct prof_balance *balance; /* NULL: not wanted */
};

static void set_counts(struct making *m, const struct rank_row *row, uint64_t sum)
{
	const struct columns *c = &m->columns;
	const struct rank *k = m->rank;
	int column = c->events;

	table_set_count(m->table, c->samples, row->counts[0]);
	table_set_real(m->table, c->percent, table_percent(row->counts[0], k->totals[0]));
	if (row->inclusive)
		set_totals(m->table, c, m->query, k, row);
	if (c->cumulative >= 0)
		table_set_real(m->table, c->cumulative, table_percent(sum, k->totals[0]));
	for (size_t e = 0; e < m->query->event_count; e++) {
		table_set_count(m->table, column++, row->counts[e]);
		if (e)
			table_set_real(m->table, column++,
				       table_percent(row->counts[e], k->totals[e]));
	}
	metrics_set(&m->metrics, m->table, row->counts);
}

static void fill(struct making *m)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < m->limit; i++) {
		const struct rank_row *row = &m->rank->rows[i];

		table_add_row(m->table);
		sum += row->counts[0];
		set_counts(m, row, sum);
		prof_balance_set(m->balance, m->table, i);
		set_names(m->table, &m->columns, m->query, m->by, row);
	}
}

static void note_rest(struct report_header *h, const struct making *m, bool inclusive)
{
	const struct rank *k = m->rank;
	size_t limit = m->limit, more = limit < k->row_count ? k->row_count - limit : 0;
	uint64_t rest = 0;

	for (size_t i = limit; i < k->row_count; i++)
		rest += k->rows[i].counts[0];
	if (limit < k->row_count && m->by == RANK_LOOP)
		report_header_note(h, "%llu more %s not shown",
				   TEXT_COUNT(more, "row is", "rows are"));
	else if (limit < k->row_count)
		report_header_note(
			h, "%llu more %s, with %llu %s%s (%.2f%%), %s not shown",
			TEXT_COUNT(more, "row", "rows"), TEXT_COUNT(rest, "sample", "samples"),
			inclusive ? text_plural(more, " of its own", " of their own") : "",
			table_percent(rest, k->totals[0]), text_plural(more, "is", "are"));
}

static const char *const by_names[] = {
	[RANK_FUNCTION] = "function", [RANK_IMAGE] = "image",	  [RANK_FILE] = "file",
	[RANK_LINE] = "line",	      [RANK_PROCESS] = "process", [RANK_THREAD] = "thread",
	[RANK_SUBJECT] = "subject",   [RANK_LOOP] = "loop",
};

const char *prof_table_by_name(enum rank_by by)
{
	return by_names[by];
}

static int make(const struct prof_table *p, struct making *m, struct report_header *h)
{
	int r = p->balance ? prof_balance_new(m->query, m->rank, &m->balance) : 0;

	if (r)
		return r;
	add_event_columns(m->table, p, m->query, m->rank, m->by, &m->columns);
	metrics_add_columns(&m->metrics, m->table, "metrics", "");
	prof_balance_add_columns(m->balance, m->table);
	add_name_columns(m->table, m->by, &m->columns);
	note_rest(h, m, p->inclusive);
	fill(m);
	metrics_describe(&m->metrics, NULL, h);
	prof_balance_note(m->balance, h);
	prof_balance_free(m->balance);
	return 0;
}

int prof_table_make(const struct prof_table *p, const struct query *q, const struct rank *k,
		    enum rank_by by, struct report_header *h, struct table **ret, struct diag *diag)
{
	struct making m = {.query = q, .rank = k, .by = by};
	struct order order;
	int r = (p->events_may_lack ? metrics_bind_known : metrics_bind)(&p->metrics, q, k->totals,
									 &m.metrics, diag);

	if (!r)
		r = find_order(p, q, by, &m.metrics, &order, diag);
	if (r)
		return r;
	m.table = *ret = table_new("prof");
	m.limit = p->limit && p->limit < k->row_count ? (size_t)p->limit : k->row_count;
	sort_rows(k->rows, k->row_count, m.limit, &order);
	return make(p, &m, h) ? diag_fail(diag, ENOMEM, "out of memory") : 0;
}

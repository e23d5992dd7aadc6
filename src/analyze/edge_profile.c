/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/edge_profile.h"
#include "util/array.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/touches.h"

#define NO_IMAGE UINT32_MAX

struct reading {
	const struct query *query;
	struct edge_profile *profile;
	size_t rows;
};

void edge_profile_free(struct edge_profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->image_count; i++) {
		free(p->images[i].rows);
		free(p->touches[i].rows);
	}
	free(p->images);
	free(p->touches);
	free(p);
}

static uint32_t find_image(const struct reading *r, const struct image_id *id)
{
	uint32_t index;
	return intern_find(r->query->image_keys, id, sizeof(*id), &index) < 0 ? NO_IMAGE : index;
}

static bool want_edges(void *arg, const struct db_profile *p)
{
	(void)arg;
	(void)p;
	return true;
}

static bool want_none(void *arg, const struct db_profile *p)
{
	(void)arg;
	(void)p;
	return false;
}

static int add_row(struct reading *r, struct edge_list *list, const struct evidence_edge *row)
{
	if (r->rows >= EDGE_PROFILE_ROWS_MAX) {
		r->profile->refused += row->count;
		return 0;
	}
	if (array_grow(&list->rows, list->count, &list->room, sizeof(*list->rows), 256))
		return -ENOMEM;
	list->rows[list->count++] = *row;
	r->rows++;
	return 0;
}

static void add_up(struct edge_profile *e, const struct db_edge_row *row)
{
	if (row->from == DB_EDGE_START)
		e->windows += row->count;
	else if (row->to != DB_EDGE_END)
		e->passes += row->count;
}

static int take_edges(void *arg, const struct db_profile *p, const struct db_edge_row *rows,
		      size_t n)
{
	struct reading *r = arg;
	uint32_t from = find_image(r, p->image), to;
	bool are_touches = db_event_is_touches(p->event);
	struct edge_profile *e = r->profile;
	int err = 0;
	for (size_t i = 0; i < n && !err; i++) {
		to = rows[i].to_image ? find_image(r, rows[i].to_image) : from;
		if (from == NO_IMAGE || to == NO_IMAGE) {
			e->elsewhere += are_touches ? 0 : rows[i].count;
			continue;
		}
		if (!are_touches)
			add_up(e, &rows[i]);
		struct evidence_edge row = {.from = rows[i].from,
					    .to = rows[i].to,
					    .count = rows[i].count,
					    .to_image = to,
					    .windows = rows[i].windows};
		err = add_row(r, are_touches ? &e->touches[from] : &e->images[from], &row);
	}
	return err;
}

static int take_fact(void *arg, const char *epoch, const char *name, const char *value)
{
	struct reading *r = arg;
	struct edge_profile *p = r->profile;
	(void)epoch;
	if (strcmp(name, "cpu-id") == 0)
		snprintf(p->cpu_id, sizeof(p->cpu_id), "%s", value);
	else if (strcmp(name, "skid") == 0)
		snprintf(p->skid, sizeof(p->skid), "%s", value);
	else if (strcmp(name, "clock_hz") == 0)
		p->clock_hz = atof(value);
	return 0;
}

int edge_profile_read(const struct query *q, struct db_reader *reader, struct edge_profile **ret,
		      struct diag *diag)
{
	uint32_t count = intern_count(q->image_keys);
	struct reading r = {.query = q, .profile = calloc(1, sizeof(*r.profile))};
	struct db_visitor v = {.want = want_none,
			       .want_edges = want_edges,
			       .edges = take_edges,
			       .fact = take_fact,
			       .arg = &r};
	int err = r.profile ? 0 : -ENOMEM;
	if (!err) {
		r.profile->images = calloc(count + 1, sizeof(*r.profile->images));
		r.profile->touches = calloc(count + 1, sizeof(*r.profile->touches));
		if (r.profile->images && r.profile->touches)
			r.profile->image_count = count;
		else
			err = -ENOMEM;
	}
	if (err < 0)
		diag_fail(diag, -err, "out of memory for edges");
	else
		err = db_reader_query(reader, &v, diag);
	if (err < 0)
		edge_profile_free(r.profile);
	else
		*ret = r.profile;
	return err;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/frequency/edge_profile.h"
#include "util/array.h"
#include "util/num.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/touches.h"

#define NO_IMAGE UINT32_MAX

#define EPOCH_ROOM 64

struct reading {
	const struct query *query;
	struct edge_profile *profile;
	size_t rows;
	/* Of the epoch that is read; sampled: epochs with samples so far. */
	bool has_samples, is_whole, has_counts;
	uint32_t sampled;
	char cpu_epoch[EPOCH_ROOM], loops_epoch[EPOCH_ROOM]; /* of these facts */
};

void edge_profile_free(struct edge_profile *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->image_count; i++) {
		free(p->images[i].rows);
		free(p->touches[i].rows);
		free(p->pairs[i].rows);
	}
	free(p->images);
	free(p->touches);
	free(p->pairs);
	free(p);
}

static uint32_t find_image(const struct reading *r, const struct image_id *id)
{
	uint32_t index;

	return intern_find(r->query->image_keys, id, sizeof(*id), &index) < 0 ? NO_IMAGE : index;
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

static void add_up(struct edge_profile *e, const struct db_edge_item *edge)
{
	bool is_branch = edge->from != DB_EDGE_START && edge->to != DB_EDGE_END;

	if (edge->evidence == DB_EVIDENCE_COUNTS)
		e->counts = num_add_sat(e->counts, edge->count);
	else if (edge->evidence == DB_EVIDENCE_RECORDS)
		e->records += is_branch ? edge->count : 0;
	else if (edge->from == DB_EDGE_START)
		e->windows += edge->count;
	else
		e->passes += is_branch ? edge->count : 0;
}

/* Whether what was counted in the epoch is what was sampled in it. Of several reasons the last. */
static void end_epoch(struct reading *r)
{
	if (r->has_samples && !r->is_whole)
		r->profile->part = r->has_counts ? "not all that was sampled was counted"
						 : "not all epochs have counts";
	else if (r->has_counts && !r->has_samples)
		r->profile->part = "an epoch with counts has no samples";
	r->is_whole = r->has_counts = r->has_samples = false;
}

static void begin_epoch(void *arg, const struct db_epoch *epoch)
{
	struct reading *r = arg;

	end_epoch(r);
	r->has_samples = epoch->samples > 0;
	r->sampled += r->has_samples && r->sampled < EVIDENCE_EPOCHS_MAX;
}

/* What makes counts those of others than the samples, beside epochs. */
static void check_selection(struct reading *r, const struct db_reader *reader)
{
	struct edge_profile *p = r->profile;

	if (r->query->selection.subject_count)
		p->part = "a part of the samples is selected";
	else if (p->refused)
		p->part = "they are too many";
	else if (db_reader_damages(reader))
		p->part = "the database is damaged";
	else if (r->sampled == EVIDENCE_EPOCHS_MAX)
		p->part = "the epochs are too many";
	p->counted_epochs = p->counts && !p->part ? r->sampled : 0;
}

static int take_edge(void *arg, const char *epoch, const void *item)
{
	const struct db_edge_item *edge = item;
	struct reading *r = arg;
	uint32_t from = find_image(r, edge->image);
	uint32_t to = edge->to_image == edge->image ? from : find_image(r, edge->to_image);
	struct evidence_edge row = {.from = edge->from,
				    .to = edge->to,
				    .count = edge->count,
				    .to_image = to,
				    .evidence = edge->evidence,
				    .epoch = r->has_samples ? r->sampled : 0,
				    .windows = edge->windows};

	(void)epoch;
	r->has_counts |= edge->evidence == DB_EVIDENCE_COUNTS;
	if (from == NO_IMAGE || to == NO_IMAGE) {
		r->profile->elsewhere += edge->count;
		return 0;
	}
	add_up(r->profile, edge);
	return add_row(r, &r->profile->images[from], &row);
}

static int take_touch(void *arg, const char *epoch, const void *item)
{
	const struct db_touch_item *touch = item;
	struct reading *r = arg;
	uint32_t image = find_image(r, touch->image);
	struct evidence_edge row = {.from = touch->load,
				    .to = touch->place,
				    .count = touch->count,
				    .to_image = image,
				    .windows = touch->count};

	(void)epoch;
	return image == NO_IMAGE ? 0 : add_row(r, &r->profile->touches[image], &row);
}

static int take_raw(void *arg, const char *epoch, const void *item)
{
	const struct db_raw_item *raw = item;
	struct reading *r = arg;
	uint32_t image = find_image(r, raw->image);
	struct pair_list *list;
	struct iterations_pair *pair;

	(void)epoch;
	if (raw->form.kind != DB_RAW_PAIR || image == NO_IMAGE)
		return 0;
	if (r->rows >= EDGE_PROFILE_ROWS_MAX) {
		r->profile->refused += raw->count;
		return 0;
	}
	list = &r->profile->pairs[image];
	if (array_grow(&list->rows, list->count, &list->room, sizeof(*list->rows), 256))
		return -ENOMEM;
	pair = &list->rows[list->count++];
	/* In another file it was elsewhere. */
	*pair = (struct iterations_pair){
		.from = raw->offset,
		.to = raw->target,
		.count = raw->count,
		.missed = !raw->target_image ||
			  memcmp(raw->target_image, raw->image, sizeof(*raw->image)) != 0};
	db_pair_get(&raw->form, raw->values, pair->changes);
	r->rows++;
	return 0;
}

/* A fact, and of which epoch it is. */
static void take_text(char *to, size_t room, const char *value, char *ret_epoch, const char *epoch)
{
	snprintf(to, room, "%s", value);
	snprintf(ret_epoch, EPOCH_ROOM, "%s", epoch);
}

static int take_fact(void *arg, const char *epoch, const char *name, const char *value)
{
	struct reading *r = arg;
	struct edge_profile *p = r->profile;

	if (strcmp(name, "cpu-id") == 0)
		take_text(p->cpu_id, sizeof(p->cpu_id), value, r->cpu_epoch, epoch);
	else if (strcmp(name, "core-loops") == 0)
		take_text(p->core_loops, sizeof(p->core_loops), value, r->loops_epoch, epoch);
	else if (strcmp(name, "skid") == 0)
		snprintf(p->skid, sizeof(p->skid), "%s", value);
	else if (strcmp(name, "clock_hz") == 0)
		p->clock_hz = atof(value);
	else if (strcmp(name, "clock_deviation") == 0)
		p->clock_deviation = atof(value);
	else if (strcmp(name, "interrupted") == 0)
		p->interrupted = atof(value);
	else if (strcmp(name, DB_COUNTS_FACT) == 0)
		r->is_whole =
			strcmp(value, DB_COUNTS_WHOLE) == 0 || strcmp(value, DB_COUNTS_BURSTS) == 0;
	return 0;
}

int edge_profile_read(const struct query *q, struct db_reader *reader, struct edge_profile **ret,
		      struct diag *diag)
{
	uint32_t count = intern_count(q->image_keys);
	struct reading r = {.query = q, .profile = calloc(1, sizeof(*r.profile))};
	struct db_visitor v = {.epoch = begin_epoch,
			       .want = want_none,
			       .item = {[CHUNK_EDGES] = take_edge,
					[CHUNK_TOUCHES] = take_touch,
					[CHUNK_RAWS] = take_raw},
			       .fact = take_fact,
			       .arg = &r};
	int err = r.profile ? 0 : -ENOMEM;

	if (!err) {
		r.profile->images = calloc(count + 1, sizeof(*r.profile->images));
		r.profile->touches = calloc(count + 1, sizeof(*r.profile->touches));
		r.profile->pairs = calloc(count + 1, sizeof(*r.profile->pairs));
		if (r.profile->images && r.profile->touches && r.profile->pairs)
			r.profile->image_count = count;
		else
			err = -ENOMEM;
	}
	if (err < 0)
		diag_fail(diag, -err, "out of memory for edges");
	else
		err = db_reader_query(reader, &v, diag);
	if (err < 0) {
		edge_profile_free(r.profile);
		return err;
	}
	end_epoch(&r);
	/* Epochs may be of several machines. */
	if (strcmp(r.cpu_epoch, r.loops_epoch) != 0)
		r.profile->core_loops[0] = 0;
	check_selection(&r, reader);
	*ret = r.profile;
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/epoch.h"
#include "db/layout.h"
#include "db/reader_state.h"
#include "db/rows.h"

/* Shows the content of packs to a visitor. */

#define QUERY_ARENA_MAX ((size_t)256 << 20)

struct query {
	struct db_reader *reader;
	const struct db_visitor *v;
	const char *epoch;
	struct buf whole, raw;
	/* For the rows of one group, and again for these by subject; room for row_room. */
	uint64_t *offsets, *counts, *sorted_offsets, *sorted_counts;
	uint32_t *subjects;
	size_t row_room;
};

static void query_tell(void *arg, const char *what)
{
	struct query *q = arg;

	reader_note_damage(q->reader, what);
	if (q->v->damage)
		q->v->damage(q->v->arg, what);
}

static void rows_free(struct query *q)
{
	free(q->offsets);
	free(q->counts);
	free(q->sorted_offsets);
	free(q->sorted_counts);
	free(q->subjects);
	q->offsets = q->counts = q->sorted_offsets = q->sorted_counts = NULL;
	q->subjects = NULL;
	q->row_room = 0;
}

static int rows_reserve(struct query *q, size_t count)
{
	if (count <= q->row_room)
		return 0;
	rows_free(q);
	q->offsets = malloc(count * sizeof(*q->offsets));
	q->counts = malloc(count * sizeof(*q->counts));
	q->sorted_offsets = malloc(count * sizeof(*q->sorted_offsets));
	q->sorted_counts = malloc(count * sizeof(*q->sorted_counts));
	q->subjects = malloc(count * sizeof(*q->subjects));
	if (!q->offsets || !q->counts || !q->sorted_offsets || !q->sorted_counts || !q->subjects)
		return -ENOMEM;
	q->row_room = count;
	return 0;
}

static struct db_profile profile_of(const struct query *q, const struct rows_cursor *t,
				    const struct rows_group *g, uint32_t number)
{
	const struct db_bytes *subject = &t->head.subjects[g->subjects[number]];

	return (struct db_profile){
		.image = &t->head.images.ids[g->image],
		.image_path = t->head.images.paths[g->image].data,
		.image_path_size = t->head.images.paths[g->image].size,
		.event = &t->head.events[g->event],
		.subject = subject->data,
		.subject_size = subject->size,
		.epoch = q->epoch,
	};
}

static bool wanted(const struct query *q, const struct db_profile *p)
{
	return q->v->rows && (!q->v->want || q->v->want(q->v->arg, p));
}

static bool any_wanted(const struct query *q, const struct rows_cursor *t)
{
	struct db_profile p;

	for (uint32_t i = 0; i < t->group_count; i++)
		for (uint32_t n = 0; n < t->groups[i].subject_count; n++) {
			p = profile_of(q, t, &t->groups[i], n);
			if (wanted(q, &p))
				return true;
		}
	return false;
}

/* The rows stand by offset; the visitor gets them by subject (in starts: where each begins). */
static void sort_by_subject(struct query *q, const struct rows_group *g, uint32_t *starts)
{
	memset(starts, 0, ((size_t)g->subject_count + 2) * sizeof(*starts));
	for (uint32_t i = 0; i < g->row_count; i++)
		starts[q->subjects[i] + 2]++;
	for (uint32_t n = 0; n < g->subject_count; n++)
		starts[n + 2] += starts[n + 1];
	for (uint32_t i = 0; i < g->row_count; i++) {
		uint32_t to = starts[q->subjects[i] + 1]++;

		q->sorted_offsets[to] = q->offsets[i];
		q->sorted_counts[to] = q->counts[i];
	}
}

static int show_group(struct query *q, const struct rows_cursor *t, const struct rows_group *g)
{
	const uint64_t *offsets = q->offsets, *counts = q->counts;
	uint32_t *starts;
	struct db_profile p;
	int r = 0;

	if (g->subject_count == 1) {
		p = profile_of(q, t, g, 0);
		return wanted(q, &p) ? q->v->rows(q->v->arg, &p, offsets, counts, g->row_count) : 0;
	}
	starts = malloc(((size_t)g->subject_count + 2) * sizeof(*starts));
	if (!starts)
		return -ENOMEM;
	sort_by_subject(q, g, starts);
	for (uint32_t n = 0; n < g->subject_count && r == 0; n++) {
		uint32_t from = starts[n], count = starts[n + 1] - from;

		p = profile_of(q, t, g, n);
		if (count && wanted(q, &p))
			r = q->v->rows(q->v->arg, &p, q->sorted_offsets + from,
				       q->sorted_counts + from, count);
	}
	free(starts);
	return r;
}

/* The payload of a chunk, taken apart. */
struct streams {
	struct db_bytes list[CHUNK_STREAMS_MAX];
	uint32_t rows;
	struct arena *arena;
};

/* These return what is wrong with the chunk, and leave in ret what the visitor said. */
static int show_rows(struct query *q, const struct streams *in, int *ret)
{
	const struct rows_group *g;
	struct rows_cursor *t;
	struct kind_chunk at;
	int r = kind_chunk_open(&kind_rows, in->list, in->rows, in->arena, &at);

	if (r < 0)
		return r;
	t = at.cursor;
	if (!any_wanted(q, t))
		return 0;
	r = rows_reserve(q, t->head.count);
	while (r >= 0 && *ret == 0 &&
	       (r = rows_cursor_next_group(t, &g, q->offsets, q->counts, q->subjects)) == 1)
		*ret = show_group(q, t, g);
	return r < 0 ? r : 0;
}

static int show_items(struct query *q, const struct db_kind *kind, const struct streams *in,
		      int *ret)
{
	struct kind_chunk at;
	int r = kind_chunk_open(kind, in->list, in->rows, in->arena, &at);

	while (r >= 0 && *ret == 0) {
		r = kind_chunk_next(&at);
		if (r <= 0)
			break;
		*ret = q->v->item[kind->type](q->v->arg, q->epoch, at.item);
	}
	return r < 0 ? r : 0;
}

/* Rows are looked at in any case: who sees samples must know what is damaged. */
static bool is_shown(const struct db_visitor *v, const struct db_kind *kind)
{
	return kind && (kind == &kind_rows || v->item[kind->type]);
}

static int show_chunk(struct query *q, const struct pack *p, const struct catalog_entry *e)
{
	const struct db_kind *kind = kind_of(e->chunk.type);
	struct streams in = {.rows = e->chunk.rows};
	int r, shown = 0;

	if (!is_shown(q->v, kind))
		return 0;
	r = pack_read_chunk(p, e, &q->whole, query_tell, q);
	if (r < 0) /* told */
		return r == -ENOMEM ? r : 0;
	in.arena = arena_new(QUERY_ARENA_MAX);
	if (!in.arena)
		return -ENOMEM;
	r = chunk_open(q->whole.data + CHUNK_HEADER_SIZE, e->chunk.payload_size, &q->raw, in.list);
	if (r == 0)
		r = kind == &kind_rows ? show_rows(q, &in, &shown)
				       : show_items(q, kind, &in, &shown);
	arena_free(in.arena);
	if (r == -EBADMSG)
		pack_tell(p, e, query_tell, q, "a chunk cannot be decoded");
	return r < 0 && r != -EBADMSG ? r : shown;
}

static int show_pack(struct query *q, const struct pack *p)
{
	const struct catalog *c = &p->catalog;
	const struct db_visitor *v = q->v;
	int r = 0;

	for (uint32_t i = 0; i < c->counter_count && v->counter && r == 0; i++)
		r = v->counter(v->arg,
			       c->counters[i].event == DB_EVENT_NONE
				       ? NULL
				       : &c->events[c->counters[i].event],
			       c->counters[i].name, c->counters[i].value);
	for (uint32_t i = 0; i < c->fact_count && v->fact && r == 0; i++)
		r = v->fact(v->arg, q->epoch, c->facts[i].name, c->facts[i].value);
	for (uint32_t i = 0; i < c->entry_count && r == 0; i++)
		r = show_chunk(q, p, &c->entries[i]);
	return r;
}

static int show_epoch(struct db_reader *r, struct query *q, const struct db_epoch *epoch,
		      struct diag *diag)
{
	char text[128];
	struct epoch e;
	int fd = layout_open_dir(r->io, r->db_fd, epoch->machine), err;

	q->epoch = epoch->name;
	if (fd < 0)
		return diag_fail(diag, -fd, "cannot open %s/%s: %s", r->path, epoch->machine,
				 strerror(-fd));
	err = epoch_open(r->io, fd, epoch->name, &epoch_whole, query_tell, q, &e, diag);
	r->io->close(r->io->arg, fd);
	if (err == -ENOENT && !epoch->files) /* it never had data */
		return 0;
	if (err == -ENOENT) {
		snprintf(text, sizeof(text), "epoch %s was removed while it was being read",
			 epoch->name);
		query_tell(q, text);
		return 0;
	}
	if (err < 0)
		return err;
	if (q->v->epoch)
		q->v->epoch(q->v->arg, epoch);
	for (size_t i = 0; i < e.pack_count && err == 0; i++)
		err = show_pack(q, e.packs[i]);
	epoch_close(&e);
	return err;
}

int db_reader_query(struct db_reader *r, const struct db_visitor *v, struct diag *diag)
{
	struct query q = {.reader = r, .v = v};
	int err = r->chosen ? 0 : db_reader_select(r, "last", diag);

	if (err < 0)
		return err;
	buf_init(&q.whole, CHUNK_HEADER_SIZE + CHUNK_PAYLOAD_MAX);
	buf_init(&q.raw, CHUNK_RAW_MAX + 1);
	for (size_t i = 0; i < r->chosen_count && err == 0; i++)
		err = show_epoch(r, &q, r->chosen[i], diag);
	buf_free(&q.whole);
	buf_free(&q.raw);
	rows_free(&q);
	if (err == -ENOMEM)
		diag_fail(diag, ENOMEM, "out of memory for reading the database %s", r->path);
	return err;
}

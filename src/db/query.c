/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/epoch.h"
#include "db/layout.h"
#include "db/reader_state.h"
#include "util/array.h"

/* Showing what packs hold to a visitor. */

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
	/* For the edges of one group. */
	struct db_edge_row *edges;
	size_t edge_room;
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

static struct db_profile profile_of(const struct query *q, const struct rows_chunk *t,
				    const struct rows_group *g, uint32_t number)
{
	const struct db_bytes *subject = &t->subjects[g->subjects[number]];

	return (struct db_profile){
		.image = &t->images[g->image],
		.image_path = t->paths[g->image].data,
		.image_path_size = t->paths[g->image].size,
		.event = &t->events[g->event],
		.subject = subject->data,
		.subject_size = subject->size,
		.epoch = q->epoch,
	};
}

static bool wanted(const struct query *q, const struct db_profile *p)
{
	return q->v->rows && (!q->v->want || q->v->want(q->v->arg, p));
}

static bool any_wanted(const struct query *q, const struct rows_chunk *t)
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

static int show_group(struct query *q, const struct rows_chunk *t, const struct rows_group *g)
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
	struct rows_cursor at;
	struct rows_chunk t;
	int r = rows_chunk_open(in->list, in->rows, in->arena, &t);

	if (r == 0 && !any_wanted(q, &t))
		return 0;
	if (r == 0)
		r = rows_reserve(q, t.row_count);
	if (r == 0) {
		rows_cursor_start(&at, &t);
		while (*ret == 0 && (r = rows_cursor_next_group(&at, &g, q->offsets, q->counts,
								q->subjects)) == 1)
			*ret = show_group(q, &t, g);
	}
	return r < 0 ? r : 0;
}

static struct db_profile edges_profile(const struct query *q, const struct edges_chunk *t,
				       uint32_t group)
{
	const struct edges_group *g = &t->groups[group];

	return (struct db_profile){
		.image = &t->images.ids[g->image],
		.image_path = t->images.paths[g->image].data,
		.image_path_size = t->images.paths[g->image].size,
		.event = &t->events[g->event],
		.subject = "",
		.epoch = q->epoch,
	};
}

static bool edges_wanted(const struct query *q, const struct edges_chunk *t, uint32_t group)
{
	struct db_profile p = edges_profile(q, t, group);

	return !q->v->want_edges || q->v->want_edges(q->v->arg, &p);
}

/* Shows the cursor's next group. 0, what the visitor said, or an error of decoding in *ret_error.
 */
static int show_edge_group(struct query *q, const struct edges_chunk *t, uint32_t group,
			   struct edges_cursor *at, int *ret_error)
{
	struct db_profile p = edges_profile(q, t, group);
	uint32_t count = t->groups[group].row_count;
	struct db_edge_item e;
	int r = array_reserve(&q->edges, count, &q->edge_room, sizeof(*q->edges), 256);

	for (uint32_t i = 0; i < count && r >= 0; i++) {
		r = edges_cursor_next(at, &e);
		if (r == 1)
			q->edges[i] =
				(struct db_edge_row){e.from, e.to, e.to_image, e.count, e.windows};
	}
	*ret_error = r < 0 ? r : 0;
	if (r < 0 || !edges_wanted(q, t, group))
		return 0;
	return q->v->edges(q->v->arg, &p, q->edges, count);
}

static int show_edges(struct query *q, const struct streams *in, int *ret)
{
	struct edges_cursor at;
	struct edges_chunk t;
	bool any = false;
	int r = edges_chunk_open(in->list, in->rows, in->arena, &t);

	for (uint32_t i = 0; r == 0 && i < t.group_count && !any; i++)
		any = edges_wanted(q, &t, i);
	if (any)
		edges_cursor_start(&at, &t);
	for (uint32_t i = 0; any && i < t.group_count && r == 0 && *ret == 0; i++)
		*ret = show_edge_group(q, &t, i, &at, &r);
	return r < 0 ? r : 0;
}

static int show_stacks(struct query *q, const struct streams *in, int *ret)
{
	struct stacks_cursor at;
	struct db_stack_item s;
	struct stacks_chunk t;
	int r = stacks_chunk_open(in->list, in->rows, in->arena, &t);

	if (r == 0)
		stacks_cursor_start(&at, &t);
	for (; r >= 0 && *ret == 0; *ret = q->v->stack(q->v->arg, q->epoch, &s)) {
		r = stacks_cursor_next(&at, &s);
		if (r <= 0)
			break;
	}
	return r < 0 ? r : 0;
}

static int show_raws(struct query *q, const struct streams *in, int *ret)
{
	struct raws_cursor at;
	struct db_raw_item raw;
	struct raws_chunk t;
	int r = raws_chunk_open(in->list, in->rows, in->arena, &t);

	if (r == 0)
		raws_cursor_start(&at, &t);
	for (; r >= 0 && *ret == 0; *ret = q->v->raw(q->v->arg, q->epoch, &raw)) {
		r = raws_cursor_next(&at, &raw);
		if (r <= 0)
			break;
	}
	return r < 0 ? r : 0;
}

/* By the chunk's type; others are not shown. */
static int (*const shows[])(struct query *q, const struct streams *in, int *ret) = {
	[CHUNK_ROWS] = show_rows,
	[CHUNK_EDGES] = show_edges,
	[CHUNK_STACKS] = show_stacks,
	[CHUNK_RAWS] = show_raws,
};

static bool is_shown(const struct db_visitor *v, uint32_t type)
{
	return type == CHUNK_ROWS || (type == CHUNK_EDGES && v->edges) ||
	       (type == CHUNK_STACKS && v->stack) || (type == CHUNK_RAWS && v->raw);
}

static int show_chunk(struct query *q, const struct pack *p, const struct catalog_entry *e)
{
	struct streams in = {.rows = e->chunk.rows};
	int r = pack_read_chunk(p, e, &q->whole, query_tell, q), shown = 0;

	if (r < 0) /* told */
		return r == -ENOMEM ? r : 0;
	in.arena = arena_new(QUERY_ARENA_MAX);
	if (!in.arena)
		return -ENOMEM;
	r = chunk_open(q->whole.data + CHUNK_HEADER_SIZE, e->chunk.payload_size, &q->raw, in.list);
	if (r == 0)
		r = shows[e->chunk.type](q, &in, &shown);
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
		if (is_shown(v, c->entries[i].chunk.type))
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
	free(q.edges);
	if (err == -ENOMEM)
		diag_fail(diag, ENOMEM, "out of memory for reading the database %s", r->path);
	return err;
}

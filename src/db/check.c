/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "util/num.h"

/* Decoded dictionaries of a chunk: several times CHUNK_RAW_MAX at most. */
#define CHECK_ARENA_MAX ((size_t)256 << 20)

/* A row that outlives its chunk. */
struct kept_row {
	struct image_id image;
	struct db_event event;
	char event_name[DB_NAME_MAX + 1];
	char subject[SUBJECT_MAX_BYTES];
	struct db_row row;
	bool is_set;
};

struct check {
	const struct pack *p;
	pack_damage_fn *damage;
	void *arg;
	bool damaged;
	struct buf whole, raw;
	struct kept_row last; /* of the last sound rows chunk */
	struct check_totals totals;
};

static void check_told(void *arg, const char *what)
{
	struct check *c = arg;

	c->damaged = true;
	if (c->damage)
		c->damage(c->arg, what);
}

static void row_keep(struct kept_row *k, const struct db_row *row)
{
	k->image = *row->image;
	snprintf(k->event_name, sizeof(k->event_name), "%s", row->event->name);
	k->event = (struct db_event){k->event_name, row->event->period, row->event->flags};
	if (row->subject.size)
		memcpy(k->subject, row->subject.data, row->subject.size);
	k->row = (struct db_row){.image = &k->image,
				 .event = &k->event,
				 .subject = {k->subject, row->subject.size},
				 .offset = row->offset};
	k->is_set = true;
}

/* Every row of a chunk and their sum, and that they come after the chunk before; that they rise
 * within it is the cursor's business. */
static int check_rows(struct check *c, const struct catalog_entry *e, const struct rows_chunk *t)
{
	struct rows_cursor at;
	struct db_row row, last = {0};
	uint64_t samples = 0;
	bool any = false;
	int r;

	rows_cursor_start(&at, t);
	while ((r = rows_cursor_next(&at, &row)) == 1) {
		if (!any && c->last.is_set && db_row_compare(&c->last.row, &row) >= 0)
			return -EBADMSG;
		samples = num_add_sat(samples, row.count);
		last = row;
		any = true;
	}
	if (r < 0)
		return r;
	if (!any || samples != e->chunk.samples)
		return -EBADMSG;
	row_keep(&c->last, &last);
	return 0;
}

/* Every edge of a chunk and their sum; that they rise is the cursor's business. */
static int check_edges(const struct catalog_entry *e, const struct edges_chunk *t)
{
	struct edges_cursor at;
	struct db_edge_item edge;
	uint64_t passes = 0;
	int r;

	edges_cursor_start(&at, t);
	while ((r = edges_cursor_next(&at, &edge)) == 1)
		passes = num_add_sat(passes, edge.count);
	if (r < 0)
		return r;
	return t->row_count && passes == e->chunk.samples ? 0 : -EBADMSG;
}

/* The same for stacks. */
static int check_stacks(const struct catalog_entry *e, const struct stacks_chunk *t)
{
	struct stacks_cursor at;
	struct db_stack_item stack;
	uint64_t samples = 0;
	int r;

	stacks_cursor_start(&at, t);
	while ((r = stacks_cursor_next(&at, &stack)) == 1)
		samples = num_add_sat(samples, stack.count);
	if (r < 0)
		return r;
	return t->row_count && samples == e->chunk.samples ? 0 : -EBADMSG;
}

/* ... and for raw records. */
static int check_raws(const struct catalog_entry *e, const struct raws_chunk *t)
{
	struct raws_cursor at;
	struct db_raw_item raw;
	uint64_t samples = 0;
	int r;

	raws_cursor_start(&at, t);
	while ((r = raws_cursor_next(&at, &raw)) == 1)
		samples = num_add_sat(samples, raw.count);
	if (r < 0)
		return r;
	return t->row_count && samples == e->chunk.samples ? 0 : -EBADMSG;
}

static int check_decode(struct check *c, const struct catalog_entry *e,
			const struct db_bytes streams[CHUNK_STREAMS_MAX], struct arena *a)
{
	struct stacks_chunk stacks;
	struct edges_chunk edges;
	struct raws_chunk raws;
	struct rows_chunk rows;
	struct catalog head;
	int r;

	switch (e->chunk.type) {
	case CHUNK_HEAD:
		return catalog_decode(&streams[0], a, &head);
	case CHUNK_ROWS:
		r = rows_chunk_open(streams, e->chunk.rows, a, &rows);
		return r < 0 ? r : check_rows(c, e, &rows);
	case CHUNK_EDGES:
		r = edges_chunk_open(streams, e->chunk.rows, a, &edges);
		return r < 0 ? r : check_edges(e, &edges);
	case CHUNK_STACKS:
		r = stacks_chunk_open(streams, e->chunk.rows, a, &stacks);
		return r < 0 ? r : check_stacks(e, &stacks);
	case CHUNK_RAWS:
		r = raws_chunk_open(streams, e->chunk.rows, a, &raws);
		return r < 0 ? r : check_raws(e, &raws);
	default:
		return 0;
	}
}

static int check_chunk(struct check *c, const struct catalog_entry *e)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	struct arena *a;
	int r = pack_read_chunk(c->p, e, &c->whole, check_told, c);

	if (r < 0 || e->chunk.type > CHUNK_KNOWN)
		return r;
	a = arena_new(CHECK_ARENA_MAX);
	if (!a)
		return -ENOMEM;
	r = chunk_open(c->whole.data + CHUNK_HEADER_SIZE, e->chunk.payload_size, &c->raw, streams);
	if (r == 0)
		r = check_decode(c, e, streams, a);
	if (r == -EBADMSG) {
		char what[96];

		snprintf(what, sizeof(what), "the chunk at byte %" PRIu64 " cannot be decoded",
			 e->offset);
		pack_tell(c->p, e, check_told, c, what);
	}
	arena_free(a);
	return r;
}

/* Adds a chunk to the totals: sound, or -EBADMSG. */
static void check_count(struct check_totals *t, const struct chunk_header *h, int r)
{
	struct {
		uint64_t *rows, *sum, *lost;
	} of[] = {
		[CHUNK_ROWS] = {&t->rows, &t->samples, &t->lost_samples},
		[CHUNK_EDGES] = {&t->edges, &t->passes, &t->lost_passes},
		[CHUNK_STACKS] = {&t->stacks, &t->stack_samples, &t->lost_stack_samples},
		[CHUNK_RAWS] = {&t->raws, &t->raw_samples, &t->lost_raw_samples},
	};

	t->chunks++;
	t->damaged += r == -EBADMSG;
	if (h->type > CHUNK_KNOWN || !of[h->type].rows)
		return;
	if (r == 0) {
		*of[h->type].rows += h->rows;
		*of[h->type].sum = num_add_sat(*of[h->type].sum, h->samples);
	} else if (r == -EBADMSG) {
		*of[h->type].lost = num_add_sat(*of[h->type].lost, h->samples);
	}
}

int check_pack(const struct pack *p, pack_damage_fn *damage, void *arg, bool *ret_good,
	       struct check_totals *ret)
{
	struct check *c = calloc(1, sizeof(*c));
	int r = 0;

	if (!c)
		return -ENOMEM;
	c->p = p;
	c->damage = damage;
	c->arg = arg;
	buf_init(&c->whole, CHUNK_HEADER_SIZE + CHUNK_PAYLOAD_MAX);
	buf_init(&c->raw, CHUNK_RAW_MAX + 1);
	for (uint32_t i = 0; i < p->catalog.entry_count && r == 0; i++) {
		const struct catalog_entry *e = &p->catalog.entries[i];

		r = check_chunk(c, e);
		if (ret_good)
			ret_good[i] = r == 0;
		check_count(&c->totals, &e->chunk, r);
		if (r == -EBADMSG)
			r = 0;
	}
	if (r == 0)
		r = pack_verify_frame(p, check_told, c);
	if (r == 0 && c->damaged)
		r = -EBADMSG;
	if (ret && (r == 0 || r == -EBADMSG))
		*ret = c->totals;
	buf_free(&c->whole);
	buf_free(&c->raw);
	free(c);
	return r;
}

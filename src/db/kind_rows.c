/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/batch_rows.h"
#include "db/dict_build.h"
#include "util/array.h"
#include "util/num.h"

struct build_row {
	uint64_t offset, count;
	uint32_t subject;
};

struct build_group {
	uint32_t image, event, first_row;
};

/* Rows are not checked to ascend: all their sources give them in order. */
struct rows_builder {
	/* Images as they are written, so with their paths; subjects are sorted only when the chunk
	 * is finished. */
	struct kind_builder head;
	struct build_row rows[ROWS_CHUNK_TARGET];
	struct build_group groups[ROWS_CHUNK_TARGET];
	uint32_t group_count;
	struct image_id image; /* of the last row */
};

static int image_number(struct rows_builder *b, const struct db_row *row, uint32_t *ret)
{
	struct buf *entry = &b->head.names.entry;

	if (b->group_count && memcmp(&b->image, row->image, sizeof(b->image)) == 0) {
		*ret = intern_count(b->head.names.images) - 1;
		return 0;
	}
	b->image = *row->image;
	buf_clear(entry);
	dict_image_encode(entry, row->image, &row->path);
	if (entry->error)
		return entry->error;
	return dict_builder_add(&b->head.names, b->head.names.images, entry->data, entry->size,
				ret);
}

static int row_add(void *builder, const void *item)
{
	struct rows_builder *b = builder;
	const struct db_row *row = item;
	const struct build_group *last = b->groups + b->group_count - 1;
	struct build_row *to = b->rows + b->head.count;
	uint32_t image, event;
	int r = image_number(b, row, &image);

	if (r == 0)
		r = dict_builder_event(&b->head.names, row->event, &event);
	if (r == 0)
		r = dict_builder_add(&b->head.names, b->head.names.subjects, row->subject.data,
				     row->subject.size, &to->subject);
	if (r < 0)
		return r;
	if (!b->group_count || last->image != image || last->event != event)
		b->groups[b->group_count++] = (struct build_group){image, event, b->head.count};
	to->offset = row->offset;
	to->count = row->count;
	b->head.count++;
	return 0;
}

static int compare_subjects(const void *x, const void *y, void *arg)
{
	const struct intern *subjects = arg;
	struct db_bytes a, b;

	a.data = intern_get(subjects, *(const uint32_t *)x, &a.size);
	b.data = intern_get(subjects, *(const uint32_t *)y, &b.size);
	return db_bytes_compare(&a, &b);
}

/* Writes the subjects in their order and renumbers the rows by it. scratch: two numbers each. */
static void subjects_encode(struct rows_builder *b, struct buf *out, uint32_t *scratch)
{
	uint32_t count = intern_count(b->head.names.subjects), *rank = scratch + count;
	const char *subject;
	size_t size;

	for (uint32_t i = 0; i < count; i++)
		scratch[i] = i;
	if (count)
		qsort_r(scratch, count, sizeof(*scratch), compare_subjects, b->head.names.subjects);
	buf_append_varint(out, count);
	for (uint32_t i = 0; i < count; i++) {
		rank[scratch[i]] = i;
		subject = intern_get(b->head.names.subjects, scratch[i], &size);
		buf_append_string(out, subject, size);
	}
	for (uint32_t i = 0; i < b->head.count; i++)
		b->rows[i].subject = rank[b->rows[i].subject];
}

/* The subjects of one group: how many rows each has, and their numbers in order of that. */
struct ranking {
	uint32_t *uses;	 /* of each subject of the chunk; all 0 between groups */
	uint32_t *order; /* the group's subjects, the most frequent first */
	uint32_t *rank;	 /* of each subject of the chunk, where it is in order */
};

static int compare_uses(const void *x, const void *y, void *arg)
{
	const uint32_t *uses = arg, a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	return NUM_ORDER(uses[b], uses[a]) ?: NUM_ORDER(a, b);
}

/*
 * Writes a group's header, and renumbers its rows' subjects by rank. Returns the number of subjects
 * in the group.
 */
static uint32_t group_encode(struct rows_builder *b, const struct build_group *g, uint32_t end,
			     struct buf *out, const struct ranking *r)
{
	uint32_t count = 0;

	for (uint32_t i = g->first_row; i < end; i++)
		if (!r->uses[b->rows[i].subject]++)
			r->order[count++] = b->rows[i].subject;
	qsort_r(r->order, count, sizeof(*r->order), compare_uses, r->uses);
	buf_append_varint(out, g->image);
	buf_append_varint(out, g->event);
	buf_append_varint(out, end - g->first_row);
	buf_append_varint(out, count);
	for (uint32_t n = 0; n < count; n++) {
		buf_append_varint(out, r->order[n]);
		r->rank[r->order[n]] = n;
		r->uses[r->order[n]] = 0;
	}
	for (uint32_t i = g->first_row; i < end; i++)
		b->rows[i].subject = r->rank[b->rows[i].subject];
	return count;
}

static int compare_ranks(const void *x, const void *y)
{
	const struct build_row *a = x, *b = y;

	return NUM_ORDER(a->subject, b->subject);
}

struct row_streams {
	struct buf *streams;
	struct dict_packed sharers, counts;
};

static void group_rows_encode(struct build_row *row, const struct build_row *end, bool several,
			      struct row_streams *s)
{
	uint64_t offset = 0;

	while (row < end) {
		uint32_t sharers = 1, rank = 0;

		while (row + sharers < end && row[sharers].offset == row->offset)
			sharers++;
		buf_append_varint(&s->streams[ROWS_DELTAS], row->offset - offset);
		offset = row->offset;
		if (several)
			dict_packed_append(&s->sharers, ROWS_SHARERS_ESCAPE,
					   &s->streams[ROWS_SHARERS_MORE], sharers - 1);
		if (sharers > 1)
			array_sort(row, sharers, sizeof(*row), compare_ranks);
		for (uint32_t i = 0; i < sharers; i++, row++) {
			if (several)
				buf_append_varint(&s->streams[i ? ROWS_NEXT : ROWS_FIRST],
						  row->subject - rank);
			dict_count_append(&s->counts, &s->streams[ROWS_COUNTS_MORE], row->count);
			rank = row->subject + 1;
		}
	}
}

static void groups_encode(struct rows_builder *b, struct buf *streams, const struct ranking *r)
{
	struct row_streams s = {streams, .sharers = {&streams[ROWS_SHARERS], .bits = 2},
				.counts = {&streams[ROWS_COUNTS], .bits = DICT_COUNT_BITS}};
	uint32_t end, sharing;

	buf_append_varint(&streams[ROWS_GROUPS], b->group_count);
	for (uint32_t g = 0; g < b->group_count; g++) {
		end = g + 1 < b->group_count ? b->groups[g + 1].first_row : b->head.count;
		sharing = group_encode(b, &b->groups[g], end, &streams[ROWS_GROUPS], r);
		group_rows_encode(b->rows + b->groups[g].first_row, b->rows + end, sharing > 1, &s);
	}
}

static int rows_encode(void *builder, struct buf *streams)
{
	struct rows_builder *b = builder;
	uint32_t total = intern_count(b->head.names.subjects);
	uint32_t *scratch = malloc(((size_t)total + 1) * 3 * sizeof(*scratch));
	struct ranking ranking = {scratch, scratch + total, scratch + 2 * (size_t)total};

	if (!scratch)
		return -ENOMEM;
	dict_encode(&streams[ROWS_DICT], b->head.names.images);
	dict_encode(&streams[ROWS_DICT], b->head.names.events);
	subjects_encode(b, &streams[ROWS_DICT], scratch);
	memset(scratch, 0, total * sizeof(*scratch));
	groups_encode(b, streams, &ranking);
	free(scratch);
	return 0;
}

/* seen: for each subject the last group that had it. */
static void group_decode(struct cursor *c, struct arena *a, const struct rows_cursor *t,
			 struct rows_group *g, uint32_t *seen)
{
	uint64_t image = cursor_varint(c), event = cursor_varint(c), rows = cursor_varint(c);
	uint32_t *subjects, number = (uint32_t)(g - t->groups) + 1;

	g->subject_count = dict_count_decode(c, t->head.subject_count);
	subjects = dict_list_new(c, a, g->subject_count, sizeof(*subjects));
	g->subjects = subjects;
	if (!c->error && (image >= t->head.images.count || event >= t->head.event_count || !rows ||
			  rows > t->head.count || !g->subject_count))
		c->error = -EBADMSG;
	for (uint32_t i = 0; i < g->subject_count && !c->error; i++) {
		uint64_t subject = cursor_varint(c);

		if (subject >= t->head.subject_count || seen[subject] == number) {
			c->error = -EBADMSG;
			break;
		}
		seen[subject] = number;
		subjects[i] = (uint32_t)subject;
	}
	g->image = (uint32_t)image;
	g->event = (uint32_t)event;
	g->row_count = (uint32_t)rows;
}

static int order_check(const struct rows_cursor *t, uint32_t group)
{
	const struct rows_group *g = &t->groups[group], *last = g - 1;
	struct db_row a, b;

	if (!group)
		return 0;
	a = (struct db_row){.image = &t->head.images.ids[last->image],
			    .event = &t->head.events[last->event]};
	b = (struct db_row){.image = &t->head.images.ids[g->image],
			    .event = &t->head.events[g->event]};
	return db_row_compare_group(&a, &b) < 0 ? 0 : -EBADMSG;
}

static void groups_decode(struct cursor *c, struct arena *a, struct rows_cursor *t)
{
	uint32_t *seen = dict_list_new(c, a, t->head.subject_count, sizeof(*seen)), most = 0;
	uint64_t rows = 0;

	t->group_count = dict_count_decode(c, DICT_MAX);
	t->groups = dict_list_new(c, a, t->group_count, sizeof(*t->groups));
	for (uint32_t i = 0; i < t->group_count && !c->error; i++) {
		group_decode(c, a, t, &t->groups[i], seen);
		rows += t->groups[i].row_count;
		if (t->groups[i].subject_count > most)
			most = t->groups[i].subject_count;
		if (!c->error)
			c->error = order_check(t, i);
	}
	t->sharers = dict_list_new(c, a, most, sizeof(*t->sharers));
	if (!c->error && (cursor_left(c) || rows != t->head.count))
		c->error = -EBADMSG;
}

static int rows_open(void *cursor, struct arena *a)
{
	struct rows_cursor *t = cursor;
	const struct db_bytes *s = &t->head.streams[ROWS_GROUPS];
	struct cursor c = cursor_over(s->data, s->size);

	for (uint32_t i = 1; i < t->head.subject_count; i++)
		if (db_bytes_compare(&t->head.subjects[i - 1], &t->head.subjects[i]) >= 0)
			return -EBADMSG;
	groups_decode(&c, a, t);
	return c.error;
}

static inline int sharers_decode(struct rows_cursor *c, const struct rows_group *g, uint32_t *ret)
{
	const struct db_bytes *s = &c->head.streams[ROWS_SHARERS];
	uint32_t at = c->offsets_seen++;
	uint64_t sharers;

	if (at / 4 >= s->size)
		return -EBADMSG;
	sharers = dict_packed_get(s, 2, at);
	if (sharers == ROWS_SHARERS_ESCAPE)
		sharers += dict_varint(&c->head.at[ROWS_SHARERS_MORE]);
	/* At most UINT64_MAX + 3 wrapped: then it is less than the escape, and as good as any. */
	if (sharers >= c->left || sharers >= g->subject_count)
		return -EBADMSG;
	*ret = (uint32_t)sharers + 1;
	return 0;
}

#define SHARERS_FEW 16

static int compare_sharers(const void *x, const void *y)
{
	const struct rows_sharer *a = x, *b = y;

	return NUM_ORDER(a->subject, b->subject);
}

/* Those of an offset stand by rank; rows stand by subject. */
static void sharers_sort(struct rows_sharer *s, uint32_t count)
{
	struct rows_sharer moved;
	uint32_t at;

	if (count > SHARERS_FEW) {
		array_sort(s, count, sizeof(*s), compare_sharers);
		return;
	}
	for (uint32_t i = 1; i < count; i++) {
		moved = s[i];
		for (at = i; at && s[at - 1].subject > moved.subject; at--)
			s[at] = s[at - 1];
		s[at] = moved;
	}
}

/* All that is at the next offset of the current group, into the chunk's sharers. 0 or -EBADMSG. */
static int offset_decode(struct rows_cursor *c, const struct rows_group *g)
{
	struct rows_sharer *to = c->sharers;
	uint64_t step = dict_varint(&c->head.at[ROWS_DELTAS]);
	uint32_t rank = 0, count = 1;

	if ((!step && c->left != g->row_count) || step > UINT64_MAX - c->offset)
		return -EBADMSG;
	c->offset += step;
	if (g->subject_count > 1 && sharers_decode(c, g, &count) < 0)
		return -EBADMSG;
	for (uint32_t i = 0; i < count; i++, rank++) {
		step = g->subject_count == 1 ? 0
					     : dict_varint(&c->head.at[i ? ROWS_NEXT : ROWS_FIRST]);
		if (step >= (uint64_t)g->subject_count - rank)
			return -EBADMSG;
		rank += (uint32_t)step;
		to[i].rank = rank;
		to[i].subject = g->subjects[rank];
		if (kind_cursor_count(&c->head, ROWS_COUNTS, &to[i].count) < 0)
			return -EBADMSG;
	}
	if (count > 1)
		sharers_sort(to, count);
	c->left -= count;
	c->sharer = 0;
	c->sharer_count = count;
	return 0;
}

/* At the end nothing may be left over. */
static int streams_end(const struct rows_cursor *c)
{
	if (c->head.streams[ROWS_SHARERS].size != (c->offsets_seen + 3) / 4)
		return -EBADMSG;
	return kind_cursor_end(&c->head);
}

static void group_start(struct rows_cursor *c)
{
	c->left = c->groups[c->group++].row_count;
	c->offset = 0;
}

static int rows_next(void *cursor, void *ret_item)
{
	struct rows_cursor *c = cursor;
	const struct rows_sharer *s;
	const struct rows_group *g;

	if (c->sharer == c->sharer_count) {
		if (!c->left && c->group == c->group_count)
			return streams_end(c);
		if (!c->left)
			group_start(c);
		if (offset_decode(c, &c->groups[c->group - 1]) < 0 ||
		    kind_cursor_failed(&c->head, ROWS_STREAMS))
			return -EBADMSG;
	}
	g = &c->groups[c->group - 1];
	s = &c->sharers[c->sharer++];
	*(struct db_row *)ret_item = (struct db_row){
		.image = &c->head.images.ids[g->image],
		.path = c->head.images.paths[g->image],
		.event = &c->head.events[g->event],
		.subject = c->head.subjects[s->subject],
		.offset = c->offset,
		.count = s->count,
	};
	return 1;
}

int rows_cursor_next_group(struct rows_cursor *c, const struct rows_group **ret_group,
			   uint64_t *offsets, uint64_t *counts, uint32_t *subjects)
{
	const struct rows_group *g;
	uint32_t at = 0;

	if (c->group == c->group_count)
		return streams_end(c);
	group_start(c);
	g = &c->groups[c->group - 1];
	while (c->left) {
		if (offset_decode(c, g) < 0)
			return -EBADMSG;
		for (uint32_t i = 0; i < c->sharer_count; i++, at++) {
			offsets[at] = c->offset;
			counts[at] = c->sharers[i].count;
			subjects[at] = c->sharers[i].rank;
		}
	}
	c->sharer = c->sharer_count;
	if (kind_cursor_failed(&c->head, ROWS_STREAMS))
		return -EBADMSG;
	*ret_group = g;
	return 1;
}

static int rows_compare(const void *x, const void *y)
{
	return db_row_compare(x, y);
}

/* A row that outlives its chunk. */
struct kept_row {
	struct db_row row;
	struct image_id image;
	struct dict_event event;
	char subject[SUBJECT_MAX_BYTES];
};

static void *row_keep(const void *item)
{
	const struct db_row *row = item;
	struct kept_row *k = malloc(sizeof(*k));

	if (!k)
		return NULL;
	k->image = *row->image;
	dict_event_keep(&k->event, row->event);
	if (row->subject.size)
		memcpy(k->subject, row->subject.data, row->subject.size);
	k->row = (struct db_row){.image = &k->image,
				 .event = &k->event.event,
				 .subject = {k->subject, row->subject.size},
				 .offset = row->offset};
	return k;
}

const struct db_kind kind_rows = {
	.type = CHUNK_ROWS,
	.items = {"row", "rows"},
	.json = "rows_stored",
	.total = {"sample", "samples"},
	.loss = {"sample in", "samples in"},
	.lost = "lost.damaged",
	.item_size = sizeof(struct db_row),
	.count_at = offsetof(struct db_row, count),
	.is_labelled = true,
	.image_at = offsetof(struct db_row, image),
	.path_at = offsetof(struct db_row, path),
	.compare = rows_compare,
	.keep = row_keep,
	.each = db_batch_each_row,
	.chunk_target = ROWS_CHUNK_TARGET,
	.name_target = ROWS_CHUNK_TARGET,
	.dict_target = ROWS_DICT_TARGET,
	.builder_size = sizeof(struct rows_builder),
	.add = row_add,
	.encode = rows_encode,
	.stream_count = ROWS_STREAMS,
	.chunk_max = ROWS_CHUNK_MAX,
	.has_events = true,
	.has_subjects = true,
	.counts_stream = ROWS_COUNTS,
	.stepped = 1 << ROWS_DELTAS | 1 << ROWS_SHARERS_MORE | 1 << ROWS_FIRST | 1 << ROWS_NEXT |
		   1 << ROWS_COUNTS_MORE,
	.cursor_size = sizeof(struct rows_cursor),
	.open = rows_open,
	.next = rows_next,
};

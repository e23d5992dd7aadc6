/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/dict_build.h"
#include "util/num.h"

struct build_row {
	uint64_t offset, count;
	uint32_t subject;
};

struct build_group {
	uint32_t image, event, first_row;
};

struct rows_builder {
	struct build_row *rows; /* room for ROWS_CHUNK_TARGET, as have the groups */
	struct build_group *groups;
	uint32_t row_count, group_count;
	uint64_t samples;
	struct image_id image; /* of the last row */
	/* Images as they are written, so with their paths; subjects are sorted only when the chunk
	 * is finished. */
	struct dict_builder names;
};

static int builder_empty(struct rows_builder *b)
{
	b->row_count = b->group_count = 0;
	b->samples = 0;
	return dict_builder_empty(&b->names, ROWS_CHUNK_TARGET);
}

struct rows_builder *rows_builder_new(void)
{
	struct rows_builder *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	dict_builder_init(&b->names, ROWS_DICT_TARGET);
	b->rows = malloc(ROWS_CHUNK_TARGET * sizeof(*b->rows));
	b->groups = malloc(ROWS_CHUNK_TARGET * sizeof(*b->groups));
	if (builder_empty(b) < 0 || !b->rows || !b->groups) {
		rows_builder_free(b);
		return NULL;
	}
	return b;
}

void rows_builder_free(struct rows_builder *b)
{
	if (!b)
		return;
	dict_builder_free(&b->names);
	free(b->rows);
	free(b->groups);
	free(b);
}

uint32_t rows_builder_count(const struct rows_builder *b)
{
	return b->row_count;
}

bool rows_builder_full(const struct rows_builder *b)
{
	return b->row_count == ROWS_CHUNK_TARGET || b->names.bytes > ROWS_DICT_TARGET;
}

static int image_number(struct rows_builder *b, const struct db_row *row, uint32_t *ret)
{
	struct buf *entry = &b->names.entry;

	if (b->group_count && memcmp(&b->image, row->image, sizeof(b->image)) == 0) {
		*ret = intern_count(b->names.images) - 1;
		return 0;
	}
	b->image = *row->image;
	buf_clear(entry);
	dict_image_encode(entry, row->image, &row->path);
	if (entry->error)
		return entry->error;
	return dict_builder_add(&b->names, b->names.images, entry->data, entry->size, ret);
}

int rows_builder_add(struct rows_builder *b, const struct db_row *row)
{
	const struct build_group *last = b->groups + b->group_count - 1;
	struct build_row *to = b->rows + b->row_count;
	uint32_t image, event;
	int r;

	if (rows_builder_full(b))
		return -EFBIG;
	r = image_number(b, row, &image);
	if (r == 0)
		r = dict_builder_event(&b->names, row->event, &event);
	if (r == 0)
		r = dict_builder_add(&b->names, b->names.subjects, row->subject.data,
				     row->subject.size, &to->subject);
	if (r < 0)
		return r;
	if (!b->group_count || last->image != image || last->event != event)
		b->groups[b->group_count++] = (struct build_group){image, event, b->row_count};
	to->offset = row->offset;
	to->count = row->count;
	b->row_count++;
	b->samples = num_add_sat(b->samples, row->count);
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

/* Writes the subjects in their order and renumbers the rows by it. scratch: two numbers for each.
 */
static void subjects_encode(struct rows_builder *b, struct buf *out, uint32_t *scratch)
{
	uint32_t count = intern_count(b->names.subjects), *rank = scratch + count;
	const char *subject;
	size_t size;

	for (uint32_t i = 0; i < count; i++)
		scratch[i] = i;
	if (count)
		qsort_r(scratch, count, sizeof(*scratch), compare_subjects, b->names.subjects);
	buf_append_varint(out, count);
	for (uint32_t i = 0; i < count; i++) {
		rank[scratch[i]] = i;
		subject = intern_get(b->names.subjects, scratch[i], &size);
		buf_append_string(out, subject, size);
	}
	for (uint32_t i = 0; i < b->row_count; i++)
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

	if (uses[a] != uses[b])
		return uses[a] > uses[b] ? -1 : 1;
	return (a > b) - (a < b);
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

	return (a->subject > b->subject) - (a->subject < b->subject);
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
			qsort(row, sharers, sizeof(*row), compare_ranks);
		for (uint32_t i = 0; i < sharers; i++, row++) {
			if (several)
				buf_append_varint(&s->streams[i ? ROWS_NEXT : ROWS_FIRST],
						  row->subject - rank);
			dict_packed_append(&s->counts, ROWS_COUNT_ESCAPE,
					   &s->streams[ROWS_COUNTS_MORE], row->count - 1);
			rank = row->subject + 1;
		}
	}
}

static void groups_encode(struct rows_builder *b, struct buf *streams, const struct ranking *r)
{
	struct row_streams s = {streams, .sharers = {&streams[ROWS_SHARERS], .bits = 2},
				.counts = {&streams[ROWS_COUNTS], .bits = 4}};
	uint32_t end, sharing;

	buf_append_varint(&streams[ROWS_GROUPS], b->group_count);
	for (uint32_t g = 0; g < b->group_count; g++) {
		end = g + 1 < b->group_count ? b->groups[g + 1].first_row : b->row_count;
		sharing = group_encode(b, &b->groups[g], end, &streams[ROWS_GROUPS], r);
		group_rows_encode(b->rows + b->groups[g].first_row, b->rows + end, sharing > 1, &s);
	}
}

int rows_builder_finish(struct rows_builder *b, int zstd_level, struct buf *out,
			struct chunk_header *ret)
{
	uint32_t total = intern_count(b->names.subjects);
	uint32_t *scratch = malloc(((size_t)total + 1) * 3 * sizeof(*scratch));
	struct ranking ranking = {scratch, scratch + total, scratch + 2 * (size_t)total};
	struct buf streams[ROWS_STREAMS];
	struct chunk_header h = {CHUNK_ROWS, .rows = b->row_count, .samples = b->samples};
	int r, emptied;

	if (!scratch)
		return -ENOMEM;
	chunk_streams_init(streams, ROWS_STREAMS);
	dict_encode(&streams[ROWS_DICT], b->names.images);
	dict_encode(&streams[ROWS_DICT], b->names.events);
	subjects_encode(b, &streams[ROWS_DICT], scratch);
	memset(scratch, 0, total * sizeof(*scratch));
	groups_encode(b, streams, &ranking);
	r = chunk_append(out, &h, streams, ROWS_STREAMS, zstd_level);
	chunk_streams_free(streams, ROWS_STREAMS);
	free(scratch);
	emptied = builder_empty(b);
	if (r < 0 || emptied < 0)
		return r < 0 ? r : emptied;
	*ret = h;
	return 0;
}

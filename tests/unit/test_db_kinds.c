/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include "db/batch_rows.h"
#include "db/blob.h"
#include "db/dict_build.h"
#include "db/kind.h"
#include "db/pack.h"
#include "db/writer_state.h"
#include "db_place.h"

/*
 * A kind of chunk of this test's own, of marks: an image, a number, how often. Its row stands in
 * the table that follows, which takes the place of the library's; nothing else of the database
 * knows of it. Where it is to be one that nobody knows, its number is changed meanwhile.
 */
#define MARKS	     20
#define MARKS_TARGET 100u

struct mark {
	uint64_t number;
	const struct image_id *image;
	struct db_bytes path;
	uint64_t count;
};

struct mark_key {
	uint64_t number;
	uint32_t image, unused;
};

static int marks_compare(const void *x, const void *y)
{
	const struct mark *a = x, *b = y;
	int order = memcmp(a->image, b->image, sizeof(*a->image));

	return order ? order : (a->number > b->number) - (a->number < b->number);
}

static void mark_make(const struct db_batch *b, uint32_t index, void *ret_room)
{
	const struct db_batch_counted *c = &b->counted[MARKS];
	const struct mark_key *key = intern_get(c->keys, index, NULL);

	*(struct mark *)ret_room =
		(struct mark){key->number, intern_get(b->images, key->image, NULL),
			      db_batch_image_path(b, key->image), c->sums[index].count};
}

struct marks_builder {
	struct kind_builder head;
	struct buf marks;
};

static int marks_start(void *builder)
{
	buf_init(&((struct marks_builder *)builder)->marks, 1 << 16);
	return 0;
}

static void marks_end(void *builder)
{
	buf_free(&((struct marks_builder *)builder)->marks);
}

static int marks_add(void *builder, const void *item)
{
	struct marks_builder *b = builder;
	const struct mark *m = item;
	uint32_t image;
	int r = dict_builder_image(&b->head.names, m->image, &m->path, &image);

	buf_append_varint(&b->marks, image);
	buf_append_varint(&b->marks, m->number);
	buf_append_varint(&b->marks, m->count);
	b->head.count++;
	return r ? r : b->marks.error;
}

static bool nameless; /* writes chunks that do not begin with their images */

static int marks_encode(void *builder, struct buf *streams)
{
	struct marks_builder *b = builder;

	if (nameless)
		buf_append_varint(&streams[0], UINT64_MAX);
	else
		dict_builder_encode_images(&b->head.names, &streams[0]);
	buf_append(&streams[1], b->marks.data, b->marks.size);
	return 0;
}

static int marks_next(void *cursor, void *ret_item)
{
	struct kind_cursor *c = cursor;
	struct mark *m = ret_item;
	uint64_t image;

	if (c->seen == c->count)
		return kind_cursor_end(c);
	c->seen++;
	image = cursor_varint(&c->at[1]);
	m->number = cursor_varint(&c->at[1]);
	m->count = cursor_varint(&c->at[1]);
	if (c->at[1].error || image >= c->images.count)
		return -EBADMSG;
	m->image = &c->images.ids[image];
	m->path = c->images.paths[image];
	return 1;
}

static struct db_kind kind_marks = {
	.type = MARKS,
	.items = {"mark", "marks"},
	.json = "marks",
	.total = {"stroke", "strokes"},
	.loss = {"stroke on", "strokes on"},
	.lost = "marks.damaged",
	.item_size = sizeof(struct mark),
	.count_at = offsetof(struct mark, count),
	.is_labelled = true,
	.image_at = offsetof(struct mark, image),
	.path_at = offsetof(struct mark, path),
	.compare = marks_compare,
	.make = mark_make,
	.room_size = sizeof(struct mark),
	.chunk_target = MARKS_TARGET,
	.name_target = MARKS_TARGET,
	.dict_target = 1 << 16,
	.builder_size = sizeof(struct marks_builder),
	.builder_start = marks_start,
	.builder_end = marks_end,
	.add = marks_add,
	.encode = marks_encode,
	.stream_count = 2,
	.chunk_max = 1 << 16,
	.stepped = 1 << 1,
	.cursor_size = sizeof(struct kind_cursor),
	.next = marks_next,
};

#define KIND(NAME, name, number) &kind_##name,
const struct db_kind *const db_kinds[] = {
#include "db/kinds.inc"
	&kind_marks,
};
#undef KIND
const size_t db_kind_count = sizeof(db_kinds) / sizeof(*db_kinds);

/* From here on the tests. */

static const struct image_id image = {.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {0xab, 0xcd}};

/* A segment of random things, and so many marks on the image, the i-th struck i + 1 times. */
static void flush_marks(struct db_writer *w, struct help_digest *d, unsigned count)
{
	struct db_batch *b = db_batch_new(1u << 16);
	struct mark_key key = {0};

	assert_int_equal(help_fill(b, d, 1, 100), 0);
	assert_int_equal(db_batch_image(b, &image, "/bin/marked", 11, &key.image), 0);
	for (; key.number < count; key.number++)
		assert_int_equal(
			db_batch_counted_add(b, MARKS, 1000, &key, sizeof(key),
					     (struct db_batch_sums){.count = key.number + 1}),
			0);
	assert_int_equal(db_writer_flush(w, b, NULL), 0);
	db_batch_free(b);
}

struct marks {
	uint64_t count, sum, weighted, damaged;
};

static int see_mark(void *arg, const char *epoch, const void *item)
{
	const struct mark *m = item;
	struct marks *s = arg;

	(void)epoch;
	assert_memory_equal(m->image, &image, sizeof(image));
	assert_int_equal(m->path.size, 11);
	s->count++;
	s->sum += m->count;
	s->weighted += m->count * m->number;
	return 0;
}

static int see_counter(void *arg, const struct db_event *event, const char *name, uint64_t value)
{
	(void)event;
	if (!strcmp(name, "marks.damaged"))
		((struct marks *)arg)->damaged += value;
	return 0;
}

static struct marks read_marks(const struct help_place *p)
{
	struct marks s = {0};
	struct db_visitor v = {.item = {[MARKS] = see_mark}, .counter = see_counter, .arg = &s};
	struct db_reader *r;

	assert_int_equal(db_reader_open(p->db, &io_system, &r, NULL), 0);
	assert_int_equal(db_reader_select(r, "all", NULL), 0);
	assert_int_equal(db_reader_query(r, &v, NULL), 0);
	db_reader_free(r);
	return s;
}

static void expect_marks(const struct help_place *p, unsigned count, unsigned times)
{
	struct marks s = read_marks(p), wanted = {0};

	for (uint64_t i = 0; i < count; i++) {
		wanted.sum += times * (i + 1);
		wanted.weighted += times * (i + 1) * i;
	}
	assert_true(s.sum == wanted.sum && s.weighted == wanted.weighted);
}

/* 250 marks: three chunks. */
static void it_is_written_read_and_merged(void **state)
{
	struct db_writer *w = place_open_writer(*state);
	struct db_verify_totals totals;
	struct help_digest d = {0};

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	for (unsigned i = 0; i < 3; i++)
		flush_marks(w, &d, 250);
	expect_marks(*state, 250, 3);
	assert_int_equal(read_marks(*state).count, 750);
	assert_int_equal(db_writer_compact(w, NULL, NULL), 0);
	expect_marks(*state, 250, 3);
	assert_int_equal(read_marks(*state).count, 250);
	place_expect(*state, "all", &d);
	assert_int_equal(db_writer_close(w, NULL), 0);
	assert_int_equal(
		db_verify(((struct help_place *)*state)->db, &io_system, NULL, NULL, &totals, NULL),
		0);
	assert_int_equal(totals.of[MARKS].items, 250);
	assert_int_equal(totals.of[MARKS].sum, 3 * 250 * 251 / 2);
}

/* Another number, under which nobody knows it. */
static void one_that_is_unknown_is_kept(void **state)
{
	struct db_writer *w = place_open_writer(*state);
	const char *db = ((struct help_place *)*state)->db;
	struct db_verify_totals totals;
	struct help_digest d = {0};

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	for (unsigned i = 0; i < 3; i++)
		flush_marks(w, &d, 250);
	kind_marks.type = MARKS + 1;
	assert_int_equal(db_writer_compact(w, NULL, NULL), 0);
	assert_int_equal(db_verify(db, &io_system, NULL, NULL, &totals, NULL), 0);
	assert_int_equal(totals.files, 1);
	place_expect(*state, "all", &d);
	kind_marks.type = MARKS;
	expect_marks(*state, 250, 3);
	assert_int_equal(read_marks(*state).count, 750); /* as they were */
	assert_int_equal(db_writer_close(w, NULL), 0);
	assert_int_equal(db_verify(db, &io_system, NULL, NULL, &totals, NULL), 0);
	assert_int_equal(totals.of[MARKS].items, 750);
}

/* Writes over some bytes in the middle of the first chunk of marks. */
static void damage(int epoch_fd, const char *name)
{
	struct pack *p;
	uint64_t at = 0;
	int fd;

	assert_int_equal(pack_open(&io_system, epoch_fd, name, name, NULL, NULL, &p, NULL), 0);
	for (uint32_t i = 0; i < p->catalog.entry_count && !at; i++)
		if (p->catalog.entries[i].chunk.type == MARKS)
			at = p->catalog.entries[i].offset + CHUNK_HEADER_SIZE +
			     p->catalog.entries[i].chunk.payload_size / 2;
	pack_close(p);
	assert_true(at > 0);
	fd = openat(epoch_fd, name, O_RDWR | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "wrong", 5, (off_t)at), 5);
	close(fd);
}

static void keep_finding(void *arg, const char *what)
{
	snprintf(arg, 512, "%s", what);
}

static void what_damage_costs_is_told_and_counted(void **state)
{
	struct db_writer *w = place_open_writer(*state);
	const char *db = ((struct help_place *)*state)->db;
	struct db_verify_totals totals;
	struct help_digest d = {0};
	char finding[512] = "";

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	flush_marks(w, &d, 50);
	flush_marks(w, &d, 50);
	damage(w->epoch_fd, "seg-00000002");
	assert_int_equal(db_verify(db, &io_system, keep_finding, finding, &totals, NULL), -EBADMSG);
	if (!strstr(finding, "; lost: 1275 strokes on 50 marks of /bin/marked"))
		fail_msg("%s", finding);
	assert_int_equal(totals.of[MARKS].items, 50);
	expect_marks(*state, 50, 1);
	assert_int_equal(db_writer_compact(w, NULL, NULL), 0);
	assert_int_equal(read_marks(*state).damaged, 1275);
	expect_marks(*state, 50, 1);
	db_writer_free(w);
}

/* Whether the image's blob, which is old, outlives a tidying. */
static bool is_blob_kept(const struct help_place *p, struct db_writer *w)
{
	const struct db_blobs in = {p->db, TEST_MACHINE, &io_system};
	struct timespec t[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	char path[400];

	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/images/abcd.symbols", p->db);
	assert_int_equal(db_blob_write(&in, &image, "symbols", "abc", 3, NULL), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, t, 0), 0);
	w->age.ns = TEST_TIME_NS;
	assert_int_equal(writer_remove_orphans(w, NULL), 0);
	return db_blob_is_there(&in, &image, "symbols");
}

/* Known or not; and where that cannot be told, as no list of images is there, in any case. */
static void blobs_of_what_it_refers_to_stay(void **state)
{
	struct db_writer *w = place_open_writer(*state);
	struct help_digest d = {0};

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	assert_false(is_blob_kept(*state, w));
	flush_marks(w, &d, 5);
	assert_true(is_blob_kept(*state, w));
	kind_marks.type = MARKS + 1;
	assert_true(is_blob_kept(*state, w));
	kind_marks.type = MARKS;
	db_writer_abandon(w);

	w = place_open_writer(*state);
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	nameless = true;
	flush_marks(w, &d, 5);
	nameless = false;
	assert_false(is_blob_kept(*state, w)); /* damaged: lost with what it named */
	kind_marks.type = MARKS + 1;
	assert_true(is_blob_kept(*state, w));
	kind_marks.type = MARKS;
	db_writer_abandon(w);
}

/* Each row is whole, and no two have the same number. */
static void the_table_is_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < db_kind_count; i++) {
		const struct db_kind *k = db_kinds[i];

		assert_true(k->type > 0 && k->type < DB_KIND_TYPES && k->type != CHUNK_HEAD &&
			    k->type != CHUNK_INDEX);
		assert_ptr_equal(kind_of(k->type), k);
		assert_true(k->items.one && k->items.many && k->json && k->loss.one &&
			    k->loss.many && k->lost);
		assert_true(k->compare && (k->make || k->each) && k->add && k->encode && k->next);
		assert_true(k->builder_size >= sizeof(struct kind_builder) &&
			    k->cursor_size >= sizeof(struct kind_cursor));
		assert_in_range(k->stream_count, 1, CHUNK_STREAMS_MAX);
		assert_true(k->count_at + sizeof(uint64_t) <= k->item_size);
		for (size_t n = 0; n < DB_KIND_MORE; n++)
			assert_true(k->more_at[n] + sizeof(uint64_t) <= k->item_size);
	}
	assert_null(kind_of(CHUNK_HEAD));
	assert_true(kind_is_unknown(MARKS + 1) && !kind_is_unknown(CHUNK_INDEX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_whole),
		PLACE_TEST(it_is_written_read_and_merged),
		PLACE_TEST(one_that_is_unknown_is_kept),
		PLACE_TEST(what_damage_costs_is_told_and_counted),
		PLACE_TEST(blobs_of_what_it_refers_to_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include "db/batch_rows.h"
#include "db/pack.h"
#include "db/touches.h"
#include "db_help.h"

static const struct db_event windows = {"windows", 0, DB_EVENT_USER};
static const struct image_id image_a = {.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {9, 9}};
static const struct image_id image_b = {.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {1, 1}};

struct fixture {
	struct db_batch *b;
	uint32_t event, image[2];
};

static struct fixture make_batch(size_t max_rows)
{
	struct fixture f = {.b = db_batch_new(max_rows)};

	assert_int_equal(db_batch_event(f.b, &windows, &f.event), 0);
	assert_int_equal(db_batch_image(f.b, &image_a, "/bin/a", 6, &f.image[0]), 0);
	assert_int_equal(db_batch_image(f.b, &image_b, "/lib/b", 6, &f.image[1]), 0);
	return f;
}

static int add(struct fixture *f, uint32_t image, uint64_t from, uint32_t to_image, uint64_t to,
	       uint64_t count, uint64_t in)
{
	struct db_edge e = {.event = f->event, .from = from, .to = to};

	e.image = f->image[image];
	e.to_image = f->image[to_image];
	return db_batch_edge(f->b, &e, count, in);
}

struct seen {
	struct db_edge_item items[64];
	size_t count;
};

static int see(void *arg, const struct db_edge_item *e)
{
	struct seen *s = arg;

	assert_true(s->count < 64);
	s->items[s->count++] = *e;
	return 0;
}

/* Every kind of target: near, far, backward, itself, an end, in another image, the extremes. */
static void fill_all_kinds(struct fixture *f)
{
	static const uint64_t places[] = {0, 1, 100, 105, 0x7fffffffffffffff, UINT64_MAX - 1};

	for (unsigned i = 0; i < 6; i++)
		for (unsigned k = 0; k < 6; k++)
			assert_int_equal(add(f, i % 2, places[i], k % 2, places[k], 1 + i * k, 1),
					 0);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(add(f, 0, places[i], 0, DB_EDGE_END, 5, 5), 0);
		assert_int_equal(add(f, 0, DB_EDGE_START, 0, places[i], 300, 300), 0);
	}
}

static void edges_come_sorted_and_summed(void **state)
{
	struct fixture f = make_batch(1000);
	struct seen s = {.count = 0};

	(void)state;
	assert_int_equal(add(&f, 0, 20, 0, 30, 2, 1), 0);
	assert_int_equal(add(&f, 0, 20, 0, 25, 1, 1), 0);
	assert_int_equal(add(&f, 0, 20, 1, 90, 1, 1), 0);
	assert_int_equal(add(&f, 1, 50, 1, 10, 1, 1), 0);
	assert_int_equal(add(&f, 0, 20, 0, 30, 5, 2), 0);
	assert_int_equal(add(&f, 0, DB_EDGE_START, 0, 7, 1, 1), 0);
	assert_int_equal(add(&f, 0, 20, 0, DB_EDGE_END, UINT64_MAX, 1), 0);
	assert_int_equal(add(&f, 0, 20, 0, DB_EDGE_END, 3, 1), 0); /* stops at the largest */
	assert_int_equal(db_batch_edges(f.b), 6);
	assert_int_equal(db_batch_each_edge(f.b, see, &s), 0);
	assert_int_equal(s.count, 6);
	for (size_t i = 1; i < s.count; i++)
		assert_true(db_edge_compare(&s.items[i - 1], &s.items[i]) < 0);
	assert_int_equal(s.items[0].from, 50);
	assert_int_equal(s.items[1].to, 90); /* the image of to before to */
	assert_int_equal(s.items[3].count, 7);
	assert_int_equal(s.items[3].windows, 3);
	assert_true(s.items[4].count == UINT64_MAX);
	assert_true(s.items[5].from == DB_EDGE_START);
	db_batch_free(f.b);
}

static void nonsense_is_refused(void **state)
{
	struct fixture f = make_batch(1000);
	struct db_edge unknown = {.image = 7, .event = f.event, .from = 1, .to = 2};

	(void)state;
	assert_int_equal(add(&f, 0, 1, 0, 2, 0, 0), -EINVAL);
	assert_int_equal(add(&f, 0, 1, 0, 2, 1, 2), -EINVAL);
	assert_int_equal(add(&f, 0, DB_EDGE_START, 1, 2, 1, 1), -EINVAL);
	assert_int_equal(add(&f, 0, 1, 1, DB_EDGE_END, 1, 1), -EINVAL);
	assert_int_equal(add(&f, 0, DB_EDGE_START, 0, DB_EDGE_END, 1, 1), -EINVAL);
	assert_int_equal(db_batch_edge(f.b, &unknown, 1, 1), -EINVAL);
	assert_int_equal(db_batch_edges(f.b), 0);
	db_batch_free(f.b);
}

static void a_full_batch_says_so_and_still_sums(void **state)
{
	struct fixture f = make_batch(4000);

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(add(&f, 0, i, 0, i + 2, 1, 1), 0);
	assert_int_equal(add(&f, 0, 5000, 0, 1, 1, 1), -ENOSPC);
	assert_int_equal(add(&f, 0, 999, 0, 1001, 1, 1), 0);
	assert_int_equal(db_batch_edges(f.b), 1000);
	db_batch_clear(f.b);
	assert_int_equal(db_batch_edges(f.b), 0);
	db_batch_free(f.b);
}

static void the_codes_of_targets_are_all_different(void **state)
{
	static const uint64_t bases[] = {
		0, 1, 5, 0x7fffffffffffffff, 0x8000000000000000, UINT64_MAX - 1};

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		assert_true(edges_to_code(bases[i], DB_EDGE_END) == 0);
		for (unsigned k = 0; k < 6; k++)
			assert_true(edges_to_decode(bases[i], edges_to_code(bases[i], bases[k])) ==
				    bases[k]);
		for (uint64_t code = 0; code < 9; code++)
			assert_true(edges_to_code(bases[i], edges_to_decode(bases[i], code)) ==
				    code);
	}
}

static void what_goes_into_a_chunk_comes_out(void **state)
{
	struct fixture f = make_batch(1000);
	struct edges_builder *builder = edges_builder_new();
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	struct arena *a = arena_new(1 << 20);
	struct seen s = {.count = 0};
	struct edges_cursor c;
	struct edges_chunk t;
	struct chunk_header h;
	struct db_edge_item e;
	struct buf out, raw;

	(void)state;
	fill_all_kinds(&f);
	assert_int_equal(db_batch_each_edge(f.b, see, &s), 0);
	for (size_t i = 0; i < s.count; i++) {
		assert_true(edges_builder_takes(builder, &s.items[i]));
		assert_int_equal(edges_builder_add(builder, &s.items[i]), 0);
		assert_false(edges_builder_takes(builder, &s.items[i]));
	}
	buf_init(&out, 1 << 20);
	buf_init(&raw, 1 << 20);
	assert_int_equal(edges_builder_finish(builder, 3, &out, &h), 0);
	assert_int_equal(h.rows, s.count);
	assert_int_equal(chunk_open(out.data + CHUNK_HEADER_SIZE, h.payload_size, &raw, streams),
			 0);
	assert_int_equal(edges_chunk_open(streams, h.rows, a, &t), 0);
	edges_cursor_start(&c, &t);
	for (size_t i = 0; i < s.count; i++) {
		assert_int_equal(edges_cursor_next(&c, &e), 1);
		assert_int_equal(db_edge_compare(&e, &s.items[i]), 0);
		assert_true(e.count == s.items[i].count && e.windows == s.items[i].windows);
		assert_int_equal(db_bytes_compare(&e.path, &s.items[i].path), 0);
		assert_int_equal(db_bytes_compare(&e.to_path, &s.items[i].to_path), 0);
	}
	assert_int_equal(edges_cursor_next(&c, &e), 0);
	assert_int_equal(edges_chunk_open(streams, h.rows + 2, a, &t), -EBADMSG);
	buf_free(&out);
	buf_free(&raw);
	arena_free(a);
	edges_builder_free(builder);
	db_batch_free(f.b);
}

/* Writes a pack whose edges fall now and then, as one of a version that only carried them. */
static void write_unsorted(const struct help_place *p, const char *epoch, struct help_digest *d)
{
	struct fixture f = make_batch(1000);
	struct seen s = {.count = 0};
	struct catalog head = {0};
	struct pack_writer *w;
	uint64_t bytes;
	char path[400];
	int fd;

	fill_all_kinds(&f);
	assert_int_equal(db_batch_each_edge(f.b, see, &s), 0);
	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/%s", p->db, epoch);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(pack_create(&io_system, fd, "seg-00000002", &head, 3, &w, NULL), 0);
	for (unsigned step = 0; step < 3; step++)
		for (size_t i = step; i < s.count; i += 3) {
			struct db_profile profile = {.image = s.items[i].image, .event = &windows};
			struct db_edge_row row = {s.items[i].from, s.items[i].to,
						  s.items[i].to_image, s.items[i].count,
						  s.items[i].windows};

			assert_int_equal(pack_add_edge(w, &s.items[i]), 0);
			help_digest_add_edge(d, &profile, &row);
		}
	assert_int_equal(pack_finish(w, &bytes, NULL), 0);
	close(fd);
	db_batch_free(f.b);
}

static void chunks_that_fall_lose_nothing(void **state)
{
	struct help_digest d = {0}, got;
	struct db_verify_totals totals;
	struct fixture f = make_batch(4000);
	struct help_place p;
	struct db_writer *w;
	struct diag diag = {0};
	char epoch[64];

	(void)state;
	help_place_make(&p);
	assert_int_equal(db_writer_open(p.db, TEST_MACHINE, &io_system, &w, NULL), 0);
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	assert_int_equal(help_fill(f.b, &d, 1, 500), 0);
	assert_int_equal(db_writer_flush(w, f.b, NULL), 0);
	snprintf(epoch, sizeof(epoch), "%s", db_writer_epoch(w));
	db_writer_free(w); /* not sealed: what comes now belongs to it */
	write_unsorted(&p, epoch, &d);
	assert_int_equal(db_verify(p.db, &io_system, NULL, NULL, &totals, NULL), 0);
	assert_int_equal(db_writer_open(p.db, TEST_MACHINE, &io_system, &w, NULL), 0);
	if (db_writer_compact(w, epoch, &diag) < 0)
		fail_msg("%s", diag.text);
	assert_int_equal(db_writer_close(w, NULL), 0);
	assert_int_equal(db_verify(p.db, &io_system, NULL, NULL, &totals, NULL), 0);
	assert_int_equal(totals.files, 1);
	assert_true(totals.passes == d.passes);
	assert_int_equal(help_read(p.db, &io_system, "all", &got, NULL), 0);
	assert_true(got.weighted == d.weighted && got.samples == d.samples);
	help_place_remove(&p);
	db_batch_free(f.b);
}

struct least {
	size_t rows;
	uint64_t sum, least_left_out;
};

static int see_least(void *arg, const struct db_profile *p, const struct db_edge_row *rows,
		     size_t n)
{
	struct least *l = arg;

	assert_true(db_event_is_touches(p->event));
	for (size_t i = 0; i < n; i++) {
		assert_true(rows[i].from == 10 || rows[i].from == 20);
		l->rows++;
		if (rows[i].from == 10) {
			assert_true(rows[i].to < l->least_left_out);
			l->sum += rows[i].count;
		}
	}
	return 0;
}

/* Of each load the least places, whole, through segments and compaction. */
static void touches_are_kept_to_a_number(void **state)
{
	static const struct db_event touches = {DB_TOUCH_EVENT, 0, DB_EVENT_USER};
	struct least l = {.least_left_out = 7 * DB_TOUCHES_MAX};
	struct db_visitor v = {.edges = see_least, .arg = &l};
	struct fixture f = make_batch(40000);
	struct help_place p;
	struct db_reader *r;
	struct db_writer *w;
	char epoch[64];

	(void)state;
	help_place_make(&p);
	assert_int_equal(db_writer_open(p.db, TEST_MACHINE, &io_system, &w, NULL), 0);
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	snprintf(epoch, sizeof(epoch), "%s", db_writer_epoch(w));
	for (unsigned part = 0; part < 3; part++) {
		db_batch_clear(f.b);
		assert_int_equal(db_batch_event(f.b, &touches, &f.event), 0);
		assert_int_equal(db_batch_image(f.b, &image_a, "/bin/a", 6, &f.image[0]), 0);
		for (unsigned i = 0; i < 600; i++)
			assert_int_equal(add(&f, 0, 10, 0, i * 7, 1 + i % 2, 1), 0);
		assert_int_equal(add(&f, 0, 20, 0, 5, 1, 1), 0);
		assert_int_equal(db_writer_flush(w, f.b, NULL), 0);
	}
	assert_int_equal(db_writer_compact(w, epoch, NULL), 0);
	assert_int_equal(db_writer_close(w, NULL), 0);
	assert_int_equal(db_reader_open(p.db, &io_system, &r, NULL), 0);
	assert_int_equal(db_reader_select(r, "all", NULL), 0);
	assert_int_equal(db_reader_query(r, &v, NULL), 0);
	assert_int_equal(l.rows, DB_TOUCHES_MAX + 1);
	assert_int_equal(l.sum, 3 * (DB_TOUCHES_MAX + DB_TOUCHES_MAX / 2));
	db_reader_free(r);
	help_place_remove(&p);
	db_batch_free(f.b);
}

static bool want_none(void *arg, const struct db_profile *p)
{
	(void)arg;
	assert_int_equal(p->subject_size, 0);
	return false;
}

static int never(void *arg, const struct db_profile *p, const struct db_edge_row *rows, size_t n)
{
	(void)arg, (void)p, (void)rows, (void)n;
	fail_msg("edges that nobody wants");
	return 0;
}

static void what_is_not_wanted_is_not_shown(void **state)
{
	struct db_visitor v = {.want_edges = want_none, .edges = never};
	struct fixture f = make_batch(1000);
	struct help_place p;
	struct db_reader *r;
	struct db_writer *w;

	(void)state;
	help_place_make(&p);
	fill_all_kinds(&f);
	assert_int_equal(db_writer_open(p.db, TEST_MACHINE, &io_system, &w, NULL), 0);
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	assert_int_equal(db_writer_flush(w, f.b, NULL), 0);
	assert_int_equal(db_writer_close(w, NULL), 0);
	assert_int_equal(db_reader_open(p.db, &io_system, &r, NULL), 0);
	assert_int_equal(db_reader_select(r, "all", NULL), 0);
	assert_int_equal(db_reader_query(r, &v, NULL), 0);
	db_reader_free(r);
	help_place_remove(&p);
	db_batch_free(f.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edges_come_sorted_and_summed),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(a_full_batch_says_so_and_still_sums),
		cmocka_unit_test(the_codes_of_targets_are_all_different),
		cmocka_unit_test(what_goes_into_a_chunk_comes_out),
		cmocka_unit_test(chunks_that_fall_lose_nothing),
		cmocka_unit_test(what_is_not_wanted_is_not_shown),
		cmocka_unit_test(touches_are_kept_to_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

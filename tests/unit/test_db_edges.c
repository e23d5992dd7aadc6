/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include "db/batch_rows.h"
#include "db/edges.h"
#include "db/pack.h"
#include "db/touches.h"
#include "db_help.h"
#include "kind_help.h"

static const struct db_event windows = {"windows", 0, DB_EVENT_USER};
static const struct image_id image_a = {.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {9, 9}};
static const struct image_id image_b = {.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {1, 1}};

struct fixture {
	struct db_batch *b;
	uint32_t event, image[2];
	enum db_evidence evidence;
};

static struct fixture make_batch(size_t max_rows)
{
	struct fixture f = {.b = db_batch_new(max_rows), .evidence = DB_EVIDENCE_WINDOWS};

	assert_int_equal(db_batch_event(f.b, &windows, &f.event), 0);
	assert_int_equal(db_batch_image(f.b, &image_a, "/bin/a", 6, &f.image[0]), 0);
	assert_int_equal(db_batch_image(f.b, &image_b, "/lib/b", 6, &f.image[1]), 0);
	return f;
}

static int add(struct fixture *f, uint32_t image, uint64_t from, uint32_t to_image, uint64_t to,
	       uint64_t count, uint64_t in)
{
	struct db_edge e = {.event = f->event, .evidence = f->evidence, .from = from, .to = to};

	e.image = f->image[image];
	e.to_image = f->image[to_image];
	return db_batch_edge(f->b, &e, count, in);
}

struct seen {
	struct db_edge_item items[64];
	size_t count;
};

static int see(void *arg, const void *item)
{
	struct seen *s = arg;

	assert_true(s->count < 64);
	s->items[s->count++] = *(const struct db_edge_item *)item;
	return 0;
}

static int see_item(void *arg, const char *epoch, const void *item)
{
	(void)epoch;
	return see(arg, item);
}

/* Every kind of target: near, far, backward, itself, an end, in another image, the extremes. */
static void fill_all_kinds(struct fixture *f)
{
	static const uint64_t places[] = {0, 1, 100, 105, 0x7fffffffffffffff, UINT64_MAX - 1};

	for (unsigned i = 0; i < 6; i++)
		for (unsigned k = 0; k < 6; k++)
			assert_int_equal(add(f, i % 2, places[i], k % 2, places[k], 1 + i * k, 1),
					 0);
	/* The same edges are others where others saw them. */
	for (f->evidence = DB_EVIDENCE_RECORDS; f->evidence <= DB_EVIDENCE_COUNTS; f->evidence++)
		for (unsigned i = 0; i < 6; i++)
			assert_int_equal(add(f, 0, places[i], 0, places[0], 7, 2), 0);
	f->evidence = DB_EVIDENCE_WINDOWS;
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
	assert_int_equal(kind_each(&kind_edges, f.b, see, &s), 0);
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
	struct db_edge unknown = {.image = 7, .event = f.event, .evidence = 1, .from = 1, .to = 2};

	(void)state;
	assert_int_equal(add(&f, 0, 1, 0, 2, 0, 0), -EINVAL);
	assert_int_equal(add(&f, 0, 1, 0, 2, 1, 2), -EINVAL);
	assert_int_equal(add(&f, 0, DB_EDGE_START, 1, 2, 1, 1), -EINVAL);
	assert_int_equal(add(&f, 0, 1, 1, DB_EDGE_END, 1, 1), -EINVAL);
	assert_int_equal(add(&f, 0, DB_EDGE_START, 0, DB_EDGE_END, 1, 1), -EINVAL);
	f.evidence = 0; /* nobody saw it */
	assert_int_equal(add(&f, 0, 1, 0, 2, 1, 1), -EINVAL);
	f.evidence = DB_EVIDENCE_MAX + 1;
	assert_int_equal(add(&f, 0, 1, 0, 2, 1, 1), -EINVAL);
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

static const void *get_edge(const void *items, size_t i)
{
	return (const struct db_edge_item *)items + i;
}

static void what_goes_into_a_chunk_comes_out(void **state)
{
	struct fixture f = make_batch(1000);
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	struct arena *a = arena_new(1 << 20);
	struct seen s = {.count = 0};
	struct kind_chunk c;
	struct buf raw;

	(void)state;
	fill_all_kinds(&f);
	assert_int_equal(kind_each(&kind_edges, f.b, see, &s), 0);
	buf_init(&raw, 1 << 20);
	kind_make_chunk(&kind_edges, get_edge, s.items, s.count, &raw, streams);
	assert_int_equal(kind_chunk_open(&kind_edges, streams, (uint32_t)s.count, a, &c), 0);
	for (size_t i = 0; i < s.count; i++) {
		const struct db_edge_item *e = c.item;

		assert_int_equal(kind_chunk_next(&c), 1);
		assert_int_equal(db_edge_compare(e, &s.items[i]), 0);
		assert_int_equal(e->evidence, s.items[i].evidence);
		assert_true(e->count == s.items[i].count && e->windows == s.items[i].windows);
		assert_int_equal(db_bytes_compare(&e->path, &s.items[i].path), 0);
		assert_int_equal(db_bytes_compare(&e->to_path, &s.items[i].to_path), 0);
	}
	assert_int_equal(kind_chunk_next(&c), 0);
	assert_int_equal(kind_read_all(&kind_edges, streams, (uint32_t)s.count + 2), -EBADMSG);
	buf_free(&raw);
	arena_free(a);
	db_batch_free(f.b);
}

/* Sums of two runs, whole, through compaction: as large as executions are. */
static void counts_of_executions_add_up(void **state)
{
	static const struct db_event executions = {DB_COUNTS_EVENT, 1, DB_EVENT_USER};
	const uint64_t many = 123456789012345;
	struct seen s = {.count = 0};
	struct db_visitor v = {.item = {[CHUNK_EDGES] = see_item}, .arg = &s};
	struct fixture f = make_batch(1000);
	struct help_place p;
	struct db_reader *r;
	struct db_writer *w;
	char epoch[64];

	(void)state;
	help_place_make(&p);
	assert_int_equal(db_writer_open(p.db, TEST_MACHINE, &io_system, &w, NULL), 0);
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	snprintf(epoch, sizeof(epoch), "%s", db_writer_epoch(w));
	for (unsigned run = 0; run < 2; run++) {
		db_batch_free(f.b);
		f = make_batch(1000);
		assert_int_equal(db_batch_event(f.b, &executions, &f.event), 0);
		f.evidence = DB_EVIDENCE_COUNTS;
		assert_int_equal(add(&f, 0, DB_EDGE_START, 0, 16, 1 + run, 1 + run), 0);
		assert_int_equal(add(&f, 0, 20, 0, 16, many, many), 0);
		assert_int_equal(add(&f, 0, 24, 0, DB_EDGE_END, 1 + run, 1 + run), 0);
		assert_int_equal(db_writer_flush(w, f.b, NULL), 0);
	}
	assert_int_equal(db_writer_compact(w, epoch, NULL), 0);
	assert_int_equal(db_writer_close(w, NULL), 0);
	assert_int_equal(db_reader_open(p.db, &io_system, &r, NULL), 0);
	assert_int_equal(db_reader_select(r, "all", NULL), 0);
	assert_int_equal(db_reader_query(r, &v, NULL), 0);
	assert_int_equal(s.count, 3);
	for (size_t i = 0; i < s.count; i++)
		assert_int_equal(s.items[i].evidence, DB_EVIDENCE_COUNTS);
	assert_true(s.items[0].from == 20 && s.items[0].count == 2 * many);
	assert_true(s.items[1].to == DB_EDGE_END && s.items[1].count == 3);
	assert_true(s.items[2].from == DB_EDGE_START && s.items[2].windows == 3);
	db_reader_free(r);
	help_place_remove(&p);
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
	assert_int_equal(kind_each(&kind_edges, f.b, see, &s), 0);
	snprintf(path, sizeof(path), "%s/" TEST_MACHINE "/%s", p->db, epoch);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(pack_create(&io_system, fd, "seg-00000002", &head, 3, &w, NULL), 0);
	assert_int_equal(pack_begin(w, &kind_edges), 0);
	for (unsigned step = 0; step < 3; step++)
		for (size_t i = step; i < s.count; i += 3) {
			assert_int_equal(pack_add(w, &s.items[i]), 0);
			help_edge(d, "", &s.items[i]);
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
	assert_true(totals.of[CHUNK_EDGES].sum == d.passes);
	assert_int_equal(help_read(p.db, &io_system, "all", &got, NULL), 0);
	assert_true(got.weighted == d.weighted && got.samples == d.samples);
	help_place_remove(&p);
	db_batch_free(f.b);
}

struct least {
	size_t rows;
	uint64_t sum, least_left_out;
};

static int see_least(void *arg, const char *epoch, const void *item)
{
	const struct db_touch_item *t = item;
	struct least *l = arg;

	(void)epoch;
	assert_true(t->load == 10 || t->load == 20);
	l->rows++;
	if (t->load == 10) {
		assert_true(t->place < l->least_left_out);
		l->sum += t->count;
	}
	return 0;
}

/* Of each load the least places, whole, through segments and compaction. */
static void touches_are_kept_to_a_number(void **state)
{
	struct least l = {.least_left_out = 7 * DB_TOUCHES_MAX};
	struct db_visitor v = {.item = {[CHUNK_TOUCHES] = see_least}, .arg = &l};
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
		assert_int_equal(db_batch_image(f.b, &image_a, "/bin/a", 6, &f.image[0]), 0);
		for (unsigned i = 0; i < 600; i++)
			assert_int_equal(db_batch_touch(f.b, f.image[0], 10, i * 7, 1 + i % 2), 0);
		assert_int_equal(db_batch_touch(f.b, f.image[0], 20, 5, 1), 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edges_come_sorted_and_summed),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(a_full_batch_says_so_and_still_sums),
		cmocka_unit_test(the_codes_of_targets_are_all_different),
		cmocka_unit_test(what_goes_into_a_chunk_comes_out),
		cmocka_unit_test(counts_of_executions_add_up),
		cmocka_unit_test(chunks_that_fall_lose_nothing),
		cmocka_unit_test(touches_are_kept_to_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

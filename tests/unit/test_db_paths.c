/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Chunks of paths: what goes in comes out, in order; what makes no sense is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "db/paths.h"
#include "db_help.h"
#include "db_place.h"
#include "kind_help.h"

#define PATHS_STREAMS 12 /* as doc/FORMAT.md has them */

static const struct image_id images[] = {
	{.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {1}},
	{.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {2}},
};
static const struct db_event cycles = {.name = "cycles", .period = 1};
static const struct db_event paths = {.name = DB_PATHS_EVENT, .period = 1};

/* As many blocks as there may be, upwards from the function. */
static uint64_t longest[DB_PATH_BLOCKS_MAX];

static struct db_path_item item(unsigned image, uint64_t function, const uint64_t *blocks,
				uint32_t block_count, enum db_path_end end)
{
	return (struct db_path_item){
		.image = &images[image],
		.image_path = {"path", 4},
		.event = &paths,
		.function = function,
		.blocks = blocks,
		.block_count = block_count,
		.end = end,
		.count = 1,
	};
}

/* In order: others in each field by which paths are ordered. */
static unsigned make_items(struct db_path_item *p)
{
	static const uint64_t a[] = {0x100, 0x110, 0x120}, b[] = {0x100, 0x110, 0x130},
			      c[] = {0x100, 0x130, 0x90}, back[] = {UINT64_MAX, 0};
	unsigned n = 0;

	for (uint32_t i = 0; i < DB_PATH_BLOCKS_MAX; i++)
		longest[i] = 0x200 + 3 * i;
	p[n] = item(0, 0x100, a, 1, DB_PATH_RETURN);
	p[n++].event = &cycles;
	p[n++] = item(0, 0x100, a, 1, DB_PATH_RETURN);
	p[n] = item(0, 0x100, a, 1, DB_PATH_BACK);
	p[n++].to = 0;
	p[n] = item(0, 0x100, a, 1, DB_PATH_BACK);
	p[n++].to = UINT64_MAX;
	p[n++] = item(0, 0x100, a, 1, DB_PATH_CALL);
	p[n] = item(0, 0x100, a, 2, DB_PATH_LEFT);
	p[n++].count = 15;
	p[n] = item(0, 0x100, a, 3, DB_PATH_RETURN);
	p[n].count = 17;
	p[n].timed = 17;
	p[n++].time_ns = 0;
	p[n] = item(0, 0x100, b, 3, DB_PATH_CUT);
	p[n].to = 0x100;
	p[n].count = UINT64_MAX;
	p[n].timed = 1;
	p[n++].time_ns = UINT64_MAX;
	p[n++] = item(0, 0x100, c, 2, DB_PATH_RETURN);
	p[n++] = item(0, 0x100, c, 3, DB_PATH_RETURN);
	p[n++] = item(0, 0x1ff, longest, DB_PATH_BLOCKS_MAX - 1, DB_PATH_RETURN);
	p[n++] = item(0, 0x1ff, longest, DB_PATH_BLOCKS_MAX, DB_PATH_RETURN);
	p[n++] = item(0, UINT64_MAX, back, 2, DB_PATH_RETURN);
	p[n++] = item(1, 0, back + 1, 1, DB_PATH_RETURN);
	return n;
}

#define ITEMS_MAX 16

static const void *get_path(const void *items, size_t i)
{
	return (const struct db_path_item *)items + i;
}

static void expect_items(const struct db_bytes streams[CHUNK_STREAMS_MAX],
			 const struct db_path_item *wanted, unsigned n)
{
	struct arena *a = arena_new(1 << 20);
	const struct db_path_item *got;
	struct kind_chunk c;

	assert_int_equal(kind_chunk_open(&kind_paths, streams, n, a, &c), 0);
	got = c.item;
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(kind_chunk_next(&c), 1);
		assert_int_equal(db_path_compare(got, &wanted[i]), 0);
		assert_true(got->count == wanted[i].count && got->timed == wanted[i].timed &&
			    got->time_ns == wanted[i].time_ns);
		assert_int_equal(got->image_path.size, 4);
	}
	assert_int_equal(kind_chunk_next(&c), 0);
	arena_free(a);
}

static void what_goes_into_a_chunk_comes_out(void **state)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	struct db_path_item items[ITEMS_MAX];
	unsigned n = make_items(items);
	struct buf raw;

	(void)state;
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < n; k++)
			assert_int_equal(db_path_compare(&items[i], &items[k]) < 0, i < k);
	buf_init(&raw, 1 << 20);
	kind_make_chunk(&kind_paths, get_path, items, n, &raw, streams);
	expect_items(streams, items, n);
	buf_free(&raw);
}

/* Every stream a byte shorter, a byte longer, and every count of paths but the right one. */
static void what_does_not_fit_is_refused(void **state)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX], kept;
	struct db_path_item items[ITEMS_MAX];
	unsigned n = make_items(items);
	static char longer[1 << 16];
	struct buf raw;

	(void)state;
	buf_init(&raw, 1 << 20);
	kind_make_chunk(&kind_paths, get_path, items, n, &raw, streams);
	for (unsigned i = 0; i < PATHS_STREAMS; i++) {
		kept = streams[i];
		assert_true(kept.size > 0 && kept.size < sizeof(longer));
		memset(longer, 0, sizeof(longer));
		memcpy(longer, kept.data, kept.size);
		streams[i] = (struct db_bytes){longer, kept.size + 1};
		assert_int_equal(kind_read_all(&kind_paths, streams, n), -EBADMSG);
		streams[i] = kept;
		streams[i].size--;
		assert_int_equal(kind_read_all(&kind_paths, streams, n), -EBADMSG);
		streams[i] = kept;
	}
	for (uint32_t rows = 0; rows < 2 * n; rows++)
		assert_int_equal(kind_read_all(&kind_paths, streams, rows),
				 rows == n ? 0 : -EBADMSG);
	buf_free(&raw);
}

/* What a byte may say at worst: the items rise all the same, or the chunk is refused. */
static int read_rising(const struct db_bytes streams[CHUNK_STREAMS_MAX], uint32_t count)
{
	static uint64_t blocks[DB_PATH_BLOCKS_MAX];
	struct arena *a = arena_new(1 << 20);
	struct db_path_item last = {0};
	const struct db_path_item *got;
	struct kind_chunk c;
	int r = kind_chunk_open(&kind_paths, streams, count, a, &c);

	while (r == 0 && (r = kind_chunk_next(&c)) == 1) {
		got = c.item;
		assert_in_range(got->block_count, 1, DB_PATH_BLOCKS_MAX);
		assert_true(got->timed <= got->count && got->end <= DB_PATH_END_MAX);
		assert_true(!last.image || db_path_compare(&last, got) < 0);
		last = *got;
		memcpy(blocks, got->blocks, got->block_count * sizeof(*blocks));
		last.blocks = blocks;
		r = 0;
	}
	arena_free(a);
	return r;
}

static void every_byte_may_lie(void **state)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	struct db_path_item items[ITEMS_MAX];
	unsigned n = make_items(items), refused = 0;
	struct buf raw;

	(void)state;
	buf_init(&raw, 1 << 20);
	items[10] = items[12]; /* without the longest, whose bytes are all alike */
	items[11] = items[13];
	n -= 2;
	kind_make_chunk(&kind_paths, get_path, items, n, &raw, streams);
	for (unsigned i = 0; i < PATHS_STREAMS; i++) {
		uint8_t *bytes = raw.data + ((const uint8_t *)streams[i].data - raw.data);

		for (size_t at = 0; at < 8 * streams[i].size; at++) {
			int r;

			bytes[at / 8] ^= (uint8_t)(1u << at % 8);
			r = read_rising(streams, n);
			assert_true(r == 0 || r == -EBADMSG || r == -ENOMEM);
			refused += r != 0;
			bytes[at / 8] ^= (uint8_t)(1u << at % 8);
		}
	}
	assert_true(refused > 100);
	assert_int_equal(read_rising(streams, n), 0);
	buf_free(&raw);
}

static void a_chunk_ends_where_it_is_full(void **state)
{
	void *builder = kind_builder_new(&kind_paths);
	struct db_path_item one = item(0, 0, longest, DB_PATH_BLOCKS_MAX, DB_PATH_RETURN);
	unsigned taken = 0;

	(void)state;
	for (; kind_builder_takes(&kind_paths, builder, &one); one.function++, taken++)
		assert_int_equal(kind_paths.add(builder, &one), 0);
	assert_int_equal(taken, (1u << 17) / DB_PATH_BLOCKS_MAX);
	kind_builder_free(&kind_paths, builder);
}

/* A batch takes what makes sense, adds equal paths up, and says when it is full. */
static void a_batch_has_limits(void **state)
{
	struct db_batch *b = db_batch_new(64); /* so five paths */
	struct db_path p = {
		.blocks = longest, .block_count = DB_PATH_BLOCKS_MAX, .end = DB_PATH_RETURN};
	struct db_path_sums one = {1, 0, 0}, over = {1, 2, 0}, untimed = {1, 0, 1}, none = {0};

	(void)state;
	assert_int_equal(db_batch_path(b, &p, &one), -EINVAL);
	assert_int_equal(db_batch_image(b, &images[0], "path", 4, &p.image), 0);
	assert_int_equal(db_batch_path(b, &p, &one), -EINVAL);
	assert_int_equal(db_batch_event(b, &paths, &p.event), 0);
	assert_int_equal(db_batch_path(b, &p, &none), -EINVAL);
	assert_int_equal(db_batch_path(b, &p, &over), -EINVAL);
	assert_int_equal(db_batch_path(b, &p, &untimed), -EINVAL);
	p.to = 1;
	assert_int_equal(db_batch_path(b, &p, &one), -EINVAL);
	p.to = 0;
	p.block_count++;
	assert_int_equal(db_batch_path(b, &p, &one), -EINVAL);
	p.block_count = 0;
	assert_int_equal(db_batch_path(b, &p, &one), -EINVAL);
	p.end = DB_PATH_END_MAX + 1;
	p.block_count = 1;
	assert_int_equal(db_batch_path(b, &p, &one), -EINVAL);
	p.end = DB_PATH_CUT;
	for (p.to = 0; p.to < 5; p.to++) {
		assert_int_equal(db_batch_path(b, &p, &one), 0);
		assert_int_equal(db_batch_path(b, &p, &one), 0);
	}
	assert_int_equal(db_batch_paths(b), 5);
	assert_int_equal(db_batch_path(b, &p, &one), -ENOSPC);
	db_batch_clear(b);
	assert_int_equal(db_batch_paths(b), 0);
	db_batch_free(b);
}

struct seen {
	unsigned items;
	struct db_path_sums sums;
};

static int see_path(void *arg, const char *epoch, const void *item)
{
	const struct db_path_item *p = item;
	struct seen *s = arg;

	(void)epoch;
	assert_int_equal(p->block_count, 2);
	assert_int_equal(p->blocks[1], longest[1]);
	s->items++;
	s->sums.count += p->count;
	s->sums.timed += p->timed;
	s->sums.time_ns += p->time_ns;
	return 0;
}

static struct seen read_paths(const struct help_place *place)
{
	struct seen s = {0};
	struct db_visitor v = {.item = {[CHUNK_PATHS] = see_path}, .arg = &s};
	struct db_reader *r;

	assert_int_equal(db_reader_open(place->db, &io_system, &r, NULL), 0);
	assert_int_equal(db_reader_select(r, "all", NULL), 0);
	assert_int_equal(db_reader_query(r, &v, NULL), 0);
	db_reader_free(r);
	return s;
}

/* All three numbers, through compaction. */
static void times_add_up(void **state)
{
	struct db_writer *w = place_open_writer(*state);
	struct db_path_sums sums = {10, 3, 500};
	struct db_batch *b = db_batch_new(64);
	struct seen s;

	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	for (unsigned i = 0; i < 2; i++) {
		struct db_path p = {.blocks = longest, .block_count = 2, .end = DB_PATH_RETURN};

		db_batch_clear(b);
		assert_int_equal(db_batch_image(b, &images[0], "path", 4, &p.image), 0);
		assert_int_equal(db_batch_event(b, &paths, &p.event), 0);
		assert_int_equal(db_batch_path(b, &p, &sums), 0);
		assert_int_equal(db_writer_flush(w, b, NULL), 0);
	}
	assert_int_equal(read_paths(*state).items, 2);
	assert_int_equal(db_writer_compact(w, NULL, NULL), 0);
	s = read_paths(*state);
	assert_true(s.items == 1 && s.sums.count == 20 && s.sums.timed == 6 &&
		    s.sums.time_ns == 1000);
	db_batch_free(b);
	assert_int_equal(db_writer_close(w, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_into_a_chunk_comes_out),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(every_byte_may_lie),
		cmocka_unit_test(a_chunk_ends_where_it_is_full),
		cmocka_unit_test(a_batch_has_limits),
		PLACE_TEST(times_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Chunks of values: what goes in comes out, merged and compacted alike; nonsense is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "db/values.h"
#include "db_help.h"
#include "kind_help.h"

#define ITEMS 9

static const struct image_id images[] = {
	{.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {1}},
	{.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {2}},
};

static struct db_value_item item(unsigned image, uint64_t offset, enum value_kind kind,
				 const struct image_id *site_image, uint64_t site)
{
	struct db_value_item i = {
		.image = &images[image],
		.path = {"path", 4},
		.site_image = site_image,
		.site_path = {"path", site_image ? 4 : 0},
		.offset = offset,
		.site = site,
		.kind = kind,
	};
	const struct value_sample sample = {offset, 3, offset & 1, offset & 2};

	value_summary_init(&i.of.summary, VALUES_FEW);
	value_summary_add(&i.of.summary, kind, &sample, false);
	i.count = 1;
	return i;
}

static void fill(struct db_value_item *i, unsigned samples, uint64_t step)
{
	for (unsigned k = 0; k < samples; k++) {
		const struct value_sample sample = {hash_u64(k) % 5 ? k * step : 7, 3, true, k & 1};

		value_summary_add(&i->of.summary, i->kind, &sample, true);
	}
	i->count = i->of.summary.samples;
}

static void make_items(struct db_value_item i[ITEMS])
{
	unsigned n = 0;

	i[n] = item(0, 0, VALUE_LOADED, NULL, 0);
	fill(&i[n++], 5, UINT64_MAX / 8);
	i[n] = item(0, 0, VALUE_STRIDE, NULL, 0);
	fill(&i[n++], 1000, (uint64_t)-64);
	i[n++] = item(0, 16, VALUE_ARGUMENT_1, NULL, 0);
	i[n++] = item(0, 16, VALUE_ARGUMENT_1, &images[0], 0);
	i[n++] = item(0, 16, VALUE_ARGUMENT_1, &images[0], UINT64_MAX);
	i[n++] = item(0, 16, VALUE_ARGUMENT_1, &images[1], 7);
	i[n] = item(0, UINT64_MAX, VALUE_ARGUMENT_6, NULL, 0);
	value_summary_init(&i[n].of.summary, VALUES_MANY);
	fill(&i[n++], 5000, 3);
	i[n] = item(1, 3, VALUE_ADDRESS, NULL, 0);
	i[n].of.summary.samples = i[n].of.summary.hot.samples = i[n].count = UINT64_MAX;
	i[n].of.summary.hot.used = 1;
	i[n].of.summary.low = i[n].of.summary.high = UINT64_MAX;
	i[n++].of.summary.hot.list[0] = (struct value_count){UINT64_MAX, UINT64_MAX};
	i[n] = item(1, 4, VALUE_ADDRESS, NULL, 0);
	fill(&i[n++], 40, 64);
	assert_int_equal(n, ITEMS);
	for (n = 0; n < ITEMS; n++)
		value_hotlist_settle(&i[n].of.summary.hot);
}

static void expect_equal(const struct db_value_item *got, const struct db_value_item *wanted)
{
	assert_int_equal(db_value_compare(got, wanted), 0);
	assert_true(got->count == wanted->count);
	assert_int_equal(got->path.size, 4);
	assert_memory_equal(&got->of, &wanted->of,
			    value_summary_bytes(wanted->of.summary.hot.used));
}

static const void *get_value(const void *items, size_t i)
{
	return (const struct db_value_item *)items + i;
}

static void make_chunk(struct db_value_item items[ITEMS], struct buf *raw,
		       struct db_bytes streams[CHUNK_STREAMS_MAX])
{
	make_items(items);
	buf_init(raw, 1 << 20);
	kind_make_chunk(&kind_values, get_value, items, ITEMS, raw, streams);
}

static void what_goes_into_a_chunk_comes_out(void **state)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	static struct db_value_item items[ITEMS];
	struct arena *a = arena_new(1 << 20);
	struct kind_chunk c;
	struct buf raw;

	(void)state;
	make_chunk(items, &raw, streams);
	for (unsigned i = 0; i < ITEMS; i++)
		for (unsigned k = 0; k < ITEMS; k++)
			assert_int_equal(db_value_compare(&items[i], &items[k]) < 0, i < k);
	assert_int_equal(kind_chunk_open(&kind_values, streams, ITEMS, a, &c), 0);
	for (unsigned i = 0; i < ITEMS; i++) {
		assert_int_equal(kind_chunk_next(&c), 1);
		expect_equal(c.item, &items[i]);
	}
	assert_int_equal(kind_chunk_next(&c), 0);
	arena_free(a);
	buf_free(&raw);
}

/* Every stream a byte shorter, a byte longer, and every count of items but the right one. */
static void what_does_not_fit_is_refused(void **state)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX], kept;
	static struct db_value_item items[ITEMS];
	struct buf raw;
	char longer[4096];

	(void)state;
	make_chunk(items, &raw, streams);
	for (unsigned i = 0; i < VALUES_STREAMS; i++) {
		kept = streams[i];
		assert_true(kept.size && kept.size < sizeof(longer));
		memset(longer, 0, sizeof(longer));
		memcpy(longer, kept.data, kept.size);
		streams[i] = (struct db_bytes){longer, kept.size + 1};
		assert_int_equal(kind_read_all(&kind_values, streams, ITEMS), -EBADMSG);
		streams[i] = kept;
		streams[i].size--;
		assert_int_equal(kind_read_all(&kind_values, streams, ITEMS), -EBADMSG);
		streams[i] = kept;
	}
	for (uint32_t rows = 0; rows < 2 * ITEMS; rows++)
		assert_int_equal(kind_read_all(&kind_values, streams, rows),
				 rows == ITEMS ? 0 : -EBADMSG);
	buf_free(&raw);
}

/* Whatever a byte says, lists keep their form or are refused; the sanitizers see the rest. */
static void every_byte_may_lie(void **state)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	static struct db_value_item items[ITEMS];
	unsigned refused = 0;
	size_t size = 0;
	struct buf raw;

	(void)state;
	make_chunk(items, &raw, streams);
	for (unsigned i = 0; i < VALUES_STREAMS; i++)
		size += streams[i].size;
	for (size_t at = 0; at < size; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			int r;

			raw.data[at] ^= (uint8_t)(1u << bit);
			r = kind_read_all(&kind_values, streams, ITEMS);
			assert_true(r == 0 || r == -EBADMSG || r == -ENOMEM);
			refused += r != 0;
			raw.data[at] ^= (uint8_t)(1u << bit);
		}
	assert_true(refused > 100);
	assert_int_equal(kind_read_all(&kind_values, streams, ITEMS), 0);
	buf_free(&raw);
}

static void a_batch_has_limits(void **state)
{
	const struct value_sample sample = {.value = 1, .width = 3}, wide = {.width = 4};
	struct db_batch *b = db_batch_new(64); /* so five places */
	struct db_value place = {.site_image = DB_VALUE_NO_SITE, .kind = VALUE_LOADED};
	union value_summary_room many;

	(void)state;
	assert_int_equal(db_batch_value(b, &place, VALUES_FEW, &sample, true), -EINVAL);
	assert_int_equal(db_batch_image(b, &images[0], "path", 4, &place.image), 0);
	assert_int_equal(db_batch_value(b, &place, VALUES_FEW, &wide, true), -EINVAL);
	assert_int_equal(db_batch_value(b, &place, VALUES_FEW + 1, &sample, true), -EINVAL);
	place.site_image = 1;
	assert_int_equal(db_batch_value(b, &place, VALUES_FEW, &sample, true), -EINVAL);
	place.site_image = DB_VALUE_NO_SITE;
	place.kind = VALUE_KINDS;
	assert_int_equal(db_batch_value(b, &place, VALUES_FEW, &sample, true), -EINVAL);
	place.kind = VALUE_LOADED;
	for (place.offset = 0; place.offset < 5; place.offset++)
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(db_batch_value(b, &place, VALUES_FEW, &sample, true), 0);
	assert_int_equal(db_batch_value(b, &place, VALUES_FEW, &sample, true), -ENOSPC);
	assert_int_equal(db_batch_values(b), 5);
	place.offset = 0;
	assert_int_equal(db_batch_value(b, &place, VALUES_FEW, &sample, false), 0);
	value_summary_init(&many.summary, VALUES_MANY);
	assert_int_equal(db_batch_value_summary(b, &place, &many.summary), -EINVAL);
	value_summary_add(&many.summary, VALUE_LOADED, &sample, true);
	assert_int_equal(db_batch_value_summary(b, &place, &many.summary), -EINVAL);
	db_batch_clear(b);
	assert_int_equal(db_batch_values(b), 0);
	db_batch_free(b);
}

struct whole {
	struct db_value_item sum; /* of what a reader shows of the place */
	unsigned seen;
};

static int see(void *arg, const char *epoch, const void *got)
{
	const struct db_value_item *v = got;
	struct whole *w = arg;

	(void)epoch;
	if (v->kind != VALUE_LOADED)
		return 0;
	if (w->seen++)
		value_summary_merge(&w->sum.of.summary, &v->of.summary, v->kind);
	else
		memcpy(&w->sum.of, &v->of, value_summary_bytes(v->of.summary.hot.used));
	return 0;
}

static void read_whole(const char *db, struct whole *ret)
{
	struct db_visitor v = {.item = {[CHUNK_VALUES] = see}, .arg = ret};
	struct db_reader *r;

	*ret = (struct whole){.seen = 0};
	assert_int_equal(db_reader_open(db, &io_system, &r, NULL), 0);
	assert_int_equal(db_reader_select(r, "all", NULL), 0);
	assert_int_equal(db_reader_query(r, &v, NULL), 0);
	db_reader_free(r);
}

static void flush_part(struct db_writer *w, struct db_batch *b, unsigned part)
{
	struct db_value place = {.offset = 10, .site_image = DB_VALUE_NO_SITE};

	db_batch_clear(b);
	assert_int_equal(db_batch_image(b, &images[0], "/bin/a", 6, &place.image), 0);
	for (unsigned i = 0; i < 600; i++) {
		const struct value_sample sample = {hash_u64(i * 10 + part) % 100, 3, false, false};

		place.kind = i % 2 ? VALUE_LOADED : VALUE_RESULT;
		assert_int_equal(db_batch_value(b, &place, VALUES_FEW, &sample, true), 0);
	}
	assert_int_equal(db_writer_flush(w, b, NULL), 0);
}

/* Segments that a reader adds up are what compaction makes of them. */
static void compaction_merges_as_readers_do(void **state)
{
	static struct whole before, after;
	struct db_batch *b = db_batch_new(1 << 16);
	struct db_verify_totals totals;
	struct help_place p;
	struct db_writer *w;
	char epoch[64];

	(void)state;
	help_place_make(&p);
	assert_int_equal(db_writer_open(p.db, TEST_MACHINE, &io_system, &w, NULL), 0);
	assert_int_equal(db_writer_begin_epoch(w, TEST_TIME_NS, NULL), 0);
	snprintf(epoch, sizeof(epoch), "%s", db_writer_epoch(w));
	for (unsigned part = 0; part < 3; part++)
		flush_part(w, b, part);
	read_whole(p.db, &before);
	assert_int_equal(db_writer_compact(w, epoch, NULL), 0);
	assert_int_equal(db_writer_close(w, NULL), 0);
	read_whole(p.db, &after);
	assert_true(before.seen == 3 && after.seen == 1);
	assert_true(after.sum.of.summary.samples == 900 && after.sum.of.summary.hot.threshold > 1);
	assert_memory_equal(&before.sum.of, &after.sum.of,
			    value_summary_bytes(after.sum.of.summary.hot.used));
	assert_int_equal(db_verify(p.db, &io_system, NULL, NULL, &totals, NULL), 0);
	assert_true(totals.of[CHUNK_VALUES].items == 2 && totals.of[CHUNK_VALUES].sum == 1800);
	db_batch_free(b);
	help_place_remove(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_into_a_chunk_comes_out),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(every_byte_may_lie),
		cmocka_unit_test(a_batch_has_limits),
		cmocka_unit_test(compaction_merges_as_readers_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

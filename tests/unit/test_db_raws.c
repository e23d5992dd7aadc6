/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Chunks of raw records: what goes in comes out, in order; what makes no sense is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "db/raws.h"
#include "db_help.h"
#include "kind_help.h"

static const struct image_id images[] = {
	{.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {1}},
	{.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {2}},
	{.kind = IMAGE_KERNEL, .size = 2, .bytes = {1}},
};
static const struct db_event op = {.name = "ibs_op//", .period = 250000};
static const struct db_event fetch = {.name = "ibs_fetch//", .period = 250000};

static struct db_raw_item item(unsigned image, const struct db_event *event, uint64_t offset,
			       const char *subject, uint32_t mask)
{
	struct db_raw_item r = {
		.image = &images[image],
		.path = {"path", 4},
		.event = event,
		.subject = {subject, strlen(subject)},
		.form = {event == &op ? DB_RAW_IBS_OP : DB_RAW_IBS_FETCH, 0x7ff, mask},
		.offset = offset,
		.count = 1,
	};

	for (unsigned i = 0; i < db_raw_values(&r.form); i++)
		r.values[i] = 0x0123456789abcdef * (i + 1);
	return r;
}

/* In order: others in each field by which records are ordered. */
static unsigned make_items(struct db_raw_item *r)
{
	unsigned n = 0;

	r[n++] = item(0, &fetch, UINT64_MAX, "a", 0x3);
	r[n++] = item(0, &op, 0, "a", 0x3d);
	r[n++] = item(0, &op, 16, "a", 0x3d);
	r[n] = r[n - 1];
	r[n++].values[5 - 1] = UINT64_MAX; /* the last of five */
	r[n] = item(0, &op, 16, "a", 0x3d);
	r[n].target_image = &images[0];
	r[n++].target = 0; /* backwards */
	r[n] = r[n - 1];
	r[n++].target = UINT64_MAX;
	r[n] = r[n - 1];
	r[n].target_image = &images[2];
	r[n++].target = 7;
	r[n] = item(0, &op, 16, "b", 0x3d);
	r[n++].count = UINT64_MAX;
	r[n] = item(0, &op, 5, "a", 0xff0000); /* as many values as there may be */
	r[n++].count = 16;
	r[n++] = item(1, &op, 0, "", 0); /* and none */
	return n;
}

static void expect_items(const struct db_bytes streams[CHUNK_STREAMS_MAX],
			 const struct db_raw_item *wanted, unsigned n)
{
	struct arena *a = arena_new(1 << 20);
	const struct db_raw_item *got;
	struct kind_chunk c;

	assert_int_equal(kind_chunk_open(&kind_raws, streams, n, a, &c), 0);
	got = c.item;
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(kind_chunk_next(&c), 1);
		assert_int_equal(db_raw_compare(got, &wanted[i]), 0);
		assert_true(got->count == wanted[i].count);
		assert_int_equal(got->path.size, 4);
		if (got->target_image)
			assert_memory_equal(got->target_path.data, "path", 4);
	}
	assert_int_equal(kind_chunk_next(&c), 0);
	arena_free(a);
}

static const void *get_raw(const void *items, size_t i)
{
	return (const struct db_raw_item *)items + i;
}

static void what_goes_into_a_chunk_comes_out(void **state)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	struct db_raw_item items[16];
	unsigned n = make_items(items);
	struct buf raw;

	(void)state;
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < n; k++)
			assert_int_equal(db_raw_compare(&items[i], &items[k]) < 0, i < k);
	for (unsigned i = 0; i < n; i++)
		if (items[i].target_image)
			items[i].target_path = (struct db_bytes){"path", 4};
	buf_init(&raw, 1 << 20);
	kind_make_chunk(&kind_raws, get_raw, items, n, &raw, streams);
	expect_items(streams, items, n);
	buf_free(&raw);
}

/* Every stream a byte shorter, a byte longer, and every count of records but the right one. */
static void what_does_not_fit_is_refused(void **state)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX], kept;
	struct db_raw_item items[16];
	unsigned n = make_items(items);
	struct buf raw;
	char longer[4096];

	(void)state;
	buf_init(&raw, 1 << 20);
	kind_make_chunk(&kind_raws, get_raw, items, n, &raw, streams);
	for (unsigned i = 0; i < RAWS_STREAMS; i++) {
		kept = streams[i];
		assert_true(kept.size < sizeof(longer));
		memset(longer, 0, sizeof(longer));
		if (kept.size)
			memcpy(longer, kept.data, kept.size);
		streams[i] = (struct db_bytes){longer, kept.size + 1};
		assert_int_equal(kind_read_all(&kind_raws, streams, n), -EBADMSG);
		streams[i] = kept;
		streams[i].size -= kept.size > 0;
		if (kept.size)
			assert_int_equal(kind_read_all(&kind_raws, streams, n), -EBADMSG);
		streams[i] = kept;
	}
	for (uint32_t rows = 0; rows < 2 * n; rows++)
		assert_int_equal(kind_read_all(&kind_raws, streams, rows),
				 rows == n ? 0 : -EBADMSG);
	buf_free(&raw);
}

/* Whatever a byte says, records rise or are refused; the sanitizers see the rest. */
static void every_byte_may_lie(void **state)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	struct db_raw_item items[16];
	unsigned n = make_items(items), refused = 0;
	size_t size = 0;
	struct buf raw;

	(void)state;
	buf_init(&raw, 1 << 20);
	kind_make_chunk(&kind_raws, get_raw, items, n, &raw, streams);
	for (unsigned i = 0; i < RAWS_STREAMS; i++)
		size += streams[i].size;
	for (size_t at = 0; at < size; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			int r;

			raw.data[at] ^= (uint8_t)(1u << bit);
			r = kind_read_all(&kind_raws, streams, n);
			assert_true(r == 0 || r == -EBADMSG || r == -ENOMEM);
			refused += r != 0;
			raw.data[at] ^= (uint8_t)(1u << bit);
		}
	assert_true(refused > 100);
	assert_int_equal(kind_read_all(&kind_raws, streams, n), 0);
	buf_free(&raw);
}

/* A batch takes what names it knows, adds equal ones up, and says when it is full. */
static void a_batch_has_limits(void **state)
{
	struct db_batch *b = db_batch_new(64); /* so five records */
	struct db_raw raw = {.target_image = DB_RAW_NO_TARGET, .form = {DB_RAW_IBS_OP, 0, 0x3}};

	(void)state;
	assert_int_equal(db_batch_raw(b, &raw, 1), -EINVAL);
	assert_int_equal(db_batch_image(b, &images[0], "path", 4, &raw.image), 0);
	assert_int_equal(db_batch_event(b, &op, &raw.event), 0);
	assert_int_equal(db_batch_raw(b, &raw, 1), -EINVAL);
	assert_int_equal(db_batch_subject(b, "", 0, &raw.subject), 0);
	assert_int_equal(db_batch_raw(b, &raw, 0), -EINVAL);
	raw.target_image = 1;
	assert_int_equal(db_batch_raw(b, &raw, 1), -EINVAL);
	raw.target_image = DB_RAW_NO_TARGET;
	raw.form.mask = 0x1ff; /* nine registers */
	assert_int_equal(db_batch_raw(b, &raw, 1), -EINVAL);
	raw.form.mask = 0x3;
	for (unsigned i = 0; i < 5; i++) {
		raw.values[1] = i;
		assert_int_equal(db_batch_raw(b, &raw, 1), 0);
		assert_int_equal(db_batch_raw(b, &raw, 1), 0);
	}
	assert_int_equal(db_batch_raws(b), 5);
	raw.values[1] = 5;
	assert_int_equal(db_batch_raw(b, &raw, 1), -ENOSPC);
	assert_int_equal(db_batch_raws(b), 5);
	db_batch_clear(b);
	assert_int_equal(db_batch_raws(b), 0);
	db_batch_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_into_a_chunk_comes_out),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(every_byte_may_lie),
		cmocka_unit_test(a_batch_has_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

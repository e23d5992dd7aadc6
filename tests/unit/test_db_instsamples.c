/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Chunks of instruction samples: what goes in comes out, in order and small; what makes no sense is
 * refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "db/instsamples.h"
#include "db_help.h"
#include "inst_feed.h"
#include "kind_help.h"

#define ALL_FIELDS ((UINT64_C(1) << DB_INST_VALUES_MAX) - 1)

static const struct image_id images[] = {
	{.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {1}},
	{.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {2}},
	{.kind = IMAGE_KERNEL, .size = 2, .bytes = {1}},
};
static const struct db_event op = {.name = "ibs_op//", .period = 250000};
static const struct db_event loads = {.name = "cpu/mem-loads/P", .period = 1000};

static struct db_inst_item item(unsigned image, const struct db_event *event, uint64_t offset,
				const char *subject, uint64_t fields)
{
	struct db_inst_item i = {
		.image = &images[image],
		.path = {"path", 4},
		.event = event,
		.subject = {subject, strlen(subject)},
		.form = {.source = event == &op ? INST_IBS_OP : INST_PRECISE,
			 .known = {0xffff, 0},
			 .fields = fields},
		.offset = offset,
		.count = 1,
	};

	for (unsigned k = 0; k < db_inst_values(&i.form); k++)
		i.values[k] = 0x01234567 * (k + 1);
	return i;
}

/* In order: others in each field by which samples are ordered. */
static unsigned make_items(struct db_inst_item *i)
{
	unsigned n = 0;

	i[n++] = item(0, &loads, UINT64_MAX, "a", 0x3);
	i[n++] = item(0, &op, 0, "a", 0x3d);
	i[n++] = item(0, &op, 16, "a", 0x3d);
	i[n] = i[n - 1];
	i[n++].values[5 - 1] = UINT32_MAX; /* the last of five */
	i[n] = item(0, &op, 16, "a", 0x3d);
	i[n].other_image = &images[0];
	i[n++].other = 0; /* backwards */
	i[n] = i[n - 1];
	i[n++].other = UINT64_MAX;
	i[n] = i[n - 1];
	i[n].other_image = &images[2];
	i[n++].other = 7;
	i[n] = item(0, &op, 16, "b", 0x3d);
	i[n++].count = UINT64_MAX;
	i[n] = item(0, &op, 5, "a", ALL_FIELDS);
	i[n++].count = 16;
	i[n] = item(0, &op, 5, "a", 0xff00000000000000); /* numbers that nobody knows */
	i[n++].form.known[1] = 1;
	i[n] = item(0, &op, 5, "a", 0x1);
	i[n++].form.known[0] = UINT32_MAX;
	i[n] = item(0, &op, 5, "a", 0x1);
	i[n++].form.source = UINT32_MAX;
	i[n++] = item(1, &op, 0, "", 0); /* and no values */
	return n;
}

static void expect_items(const struct db_bytes streams[CHUNK_STREAMS_MAX],
			 const struct db_inst_item *wanted, unsigned n)
{
	struct arena *a = arena_new(1 << 20);
	const struct db_inst_item *got;
	struct kind_chunk c;

	assert_int_equal(kind_chunk_open(&kind_instsamples, streams, n, a, &c), 0);
	got = c.item;
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(kind_chunk_next(&c), 1);
		assert_int_equal(db_inst_compare(got, &wanted[i]), 0);
		assert_true(got->count == wanted[i].count);
		assert_int_equal(got->path.size, 4);
		if (got->other_image)
			assert_memory_equal(got->other_path.data, "path", 4);
	}
	assert_int_equal(kind_chunk_next(&c), 0);
	arena_free(a);
}

static const void *get_inst(const void *items, size_t i)
{
	return (const struct db_inst_item *)items + i;
}

static unsigned make_chunk(struct db_inst_item *items, struct buf *raw,
			   struct db_bytes streams[CHUNK_STREAMS_MAX])
{
	unsigned n = make_items(items);

	for (unsigned i = 0; i < n; i++)
		if (items[i].other_image)
			items[i].other_path = (struct db_bytes){"path", 4};
	buf_init(raw, 1 << 20);
	kind_make_chunk(&kind_instsamples, get_inst, items, n, raw, streams);
	return n;
}

static void what_goes_into_a_chunk_comes_out(void **state)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	struct db_inst_item items[16];
	struct buf raw;
	unsigned n = make_chunk(items, &raw, streams);

	(void)state;
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < n; k++)
			assert_int_equal(db_inst_compare(&items[i], &items[k]) < 0, i < k);
	expect_items(streams, items, n);
	buf_free(&raw);
}

/* Every stream a byte shorter, a byte longer, and every count of samples but the right one. */
static void what_does_not_fit_is_refused(void **state)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX], kept;
	struct db_inst_item items[16];
	struct buf raw;
	unsigned n = make_chunk(items, &raw, streams);
	char longer[4096];

	(void)state;
	for (unsigned i = 0; i < INSTS_STREAMS; i++) {
		kept = streams[i];
		assert_true(kept.size < sizeof(longer));
		memset(longer, 0, sizeof(longer));
		if (kept.size)
			memcpy(longer, kept.data, kept.size);
		streams[i] = (struct db_bytes){longer, kept.size + 1};
		assert_int_equal(kind_read_all(&kind_instsamples, streams, n), -EBADMSG);
		streams[i] = kept;
		streams[i].size -= kept.size > 0;
		if (kept.size)
			assert_int_equal(kind_read_all(&kind_instsamples, streams, n), -EBADMSG);
		streams[i] = kept;
	}
	for (uint32_t rows = 0; rows < 2 * n; rows++)
		assert_int_equal(kind_read_all(&kind_instsamples, streams, rows),
				 rows == n ? 0 : -EBADMSG);
	buf_free(&raw);
}

/* Whatever a byte says, samples rise or are refused; the sanitizers see the rest. */
static void every_byte_may_lie(void **state)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	struct db_inst_item items[16];
	struct buf raw;
	unsigned n = make_chunk(items, &raw, streams), refused = 0;
	size_t size = 0;

	(void)state;
	for (unsigned i = 0; i < INSTS_STREAMS; i++)
		size += streams[i].size;
	for (size_t at = 0; at < size; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			int r;

			raw.data[at] ^= (uint8_t)(1u << bit);
			r = kind_read_all(&kind_instsamples, streams, n);
			assert_true(r == 0 || r == -EBADMSG || r == -ENOMEM);
			refused += r != 0;
			raw.data[at] ^= (uint8_t)(1u << bit);
		}
	assert_true(refused > 100);
	assert_int_equal(kind_read_all(&kind_instsamples, streams, n), 0);
	buf_free(&raw);
}

/* A batch takes what names it knows, adds equal ones up, and says when it is full. */
static void a_batch_has_limits(void **state)
{
	struct db_batch *b = db_batch_new(16); /* so five samples */
	struct db_inst inst = {.other_image = DB_INST_NO_OTHER,
			       .form = {.source = INST_PRECISE, .fields = 0x3}};

	(void)state;
	assert_int_equal(db_batch_inst(b, &inst, 1), -EINVAL);
	assert_int_equal(db_batch_image(b, &images[0], "path", 4, &inst.image), 0);
	assert_int_equal(db_batch_event(b, &op, &inst.event), 0);
	assert_int_equal(db_batch_inst(b, &inst, 1), -EINVAL);
	assert_int_equal(db_batch_subject(b, "", 0, &inst.subject), 0);
	assert_int_equal(db_batch_inst(b, &inst, 0), -EINVAL);
	inst.other_image = 1;
	assert_int_equal(db_batch_inst(b, &inst, 1), -EINVAL);
	inst.other_image = DB_INST_NO_OTHER;
	inst.form.fields = ALL_FIELDS << 1 | 1; /* one more than there may be */
	assert_int_equal(db_batch_inst(b, &inst, 1), -EINVAL);
	inst.form.fields = 0x3;
	for (uint32_t i = 0; i < 5; i++) {
		inst.values[1] = i;
		assert_int_equal(db_batch_inst(b, &inst, 1), 0);
		assert_int_equal(db_batch_inst(b, &inst, 1), 0);
	}
	assert_int_equal(db_batch_insts(b), 5);
	inst.values[1] = 5;
	assert_int_equal(db_batch_inst(b, &inst, 1), -ENOSPC);
	assert_int_equal(db_batch_insts(b), 5);
	db_batch_clear(b);
	assert_int_equal(db_batch_insts(b), 0);
	db_batch_free(b);
}

struct order {
	struct db_inst_item last;
	uint64_t items, count;
};

static int expect_rise(void *arg, const void *got)
{
	const struct db_inst_item *i = got;
	struct order *o = arg;

	if (o->items)
		assert_true(db_inst_compare(&o->last, i) < 0);
	o->last = *i;
	o->items++;
	o->count += i->count;
	return 0;
}

/* Samples of several images, subjects and forms, few of them alike, some of them pairs. */
static void a_batch_gives_them_in_order(void **state)
{
	static const char *const subjects[] = {"b", "", "a"};
	struct db_batch *b = db_batch_new(1 << 16);
	struct order o = {.items = 0};
	uint64_t seed = 1;
	uint32_t unused;

	(void)state;
	for (unsigned i = 3; i-- > 0;) {
		assert_int_equal(db_batch_image(b, &images[i], "path", 4, &unused), 0);
		assert_int_equal(db_batch_subject(b, subjects[i], strlen(subjects[i]), &unused), 0);
	}
	assert_int_equal(db_batch_event(b, &op, &unused), 0);
	assert_int_equal(db_batch_event(b, &loads, &unused), 0);
	for (unsigned k = 0; k < 10000; k++) {
		uint64_t n = inst_feed_random(&seed);
		struct db_inst inst = {
			.image = n % 3,
			.event = n >> 2 & 1,
			.subject = (n >> 3) % 3,
			.other_image = n >> 5 & 3 ? DB_INST_NO_OTHER : (uint32_t)((n >> 7) % 3),
			.form = {.source = 1 + (n >> 9 & 1), .fields = n >> 10 & 7},
			.offset = n >> 14 & 7,
			.other = n >> 17 & 1,
			.values = {n >> 20 & 1 ? UINT32_MAX : 0, n >> 21 & 1, n >> 22 & 1},
		};

		assert_int_equal(db_batch_inst(b, &inst, 2), 0);
	}
	assert_int_equal(kind_each(&kind_instsamples, b, expect_rise, &o), 0);
	assert_true(o.items == db_batch_insts(b) && o.items > 1000);
	assert_true(o.count == 20000);
	db_batch_free(b);
}

struct packing {
	void *builder;
	uint64_t bytes, samples, chunks, seen;
};

static void pack_end(struct packing *p)
{
	struct kind_builder *head = p->builder;
	struct chunk_header h = {.type = kind_instsamples.type, .rows = head->count};
	struct buf streams[CHUNK_STREAMS_MAX], out;

	buf_init(&out, CHUNK_PAYLOAD_MAX + 1000);
	chunk_streams_init(streams, kind_instsamples.stream_count);
	assert_int_equal(kind_instsamples.encode(p->builder, streams), 0);
	assert_int_equal(chunk_append(&out, &h, streams, kind_instsamples.stream_count, 3), 0);
	chunk_streams_free(streams, kind_instsamples.stream_count);
	p->bytes += out.size;
	p->chunks++;
	buf_free(&out);
	kind_builder_free(&kind_instsamples, p->builder);
	p->builder = NULL;
}

static int pack_one(void *arg, const void *got)
{
	struct packing *p = arg;

	if (p->builder && !kind_builder_takes(&kind_instsamples, p->builder, got))
		pack_end(p);
	if (!p->builder)
		p->builder = kind_builder_new(&kind_instsamples);
	assert_int_equal(kind_instsamples.add(p->builder, got), 0);
	p->samples += ((const struct db_inst_item *)got)->count;
	return 0;
}

static void add_record(struct db_batch *b, struct db_inst *inst, const struct inst_record *r)
{
	unsigned n = 0;

	inst->form = (struct db_inst_form){
		.source = r->source, .known = {r->known, 0}, .fields = r->fields};
	for (unsigned k = 0; k < INST_FIELD_COUNT; k++)
		if (r->fields >> k & 1)
			inst->values[n++] = k == INST_EVENTS ? r->events : r->values[k];
	assert_int_equal(db_batch_inst(b, inst, 1), 0);
}

/* The promise is 8 bytes a sample in the median; whole chunks take less than that each. */
static void a_sample_takes_few_bytes(void **state)
{
	struct db_batch *b = db_batch_new(1 << 20);
	struct db_inst inst = {.other_image = DB_INST_NO_OTHER};
	struct packing p = {NULL, 0, 0, 0, 0};
	uint64_t seed = 1;

	(void)state;
	assert_int_equal(db_batch_image(b, &images[0], "path", 4, &inst.image), 0);
	assert_int_equal(db_batch_event(b, &op, &inst.event), 0);
	assert_int_equal(db_batch_subject(b, "", 0, &inst.subject), 0);
	for (unsigned i = 0; i < 100000; i++) {
		struct inst_record r;

		inst_feed_one(&seed, INST_IBS_OP, &r, &inst.offset);
		add_record(b, &inst, &r);
	}
	assert_int_equal(kind_each(&kind_instsamples, b, pack_one, &p), 0);
	pack_end(&p);
	assert_true(p.samples == 100000);
	print_message("# %.2f bytes a sample, in %llu chunks\n", (double)p.bytes / 100000,
		      (unsigned long long)p.chunks);
	assert_true(p.bytes < 8 * p.samples);
	db_batch_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_into_a_chunk_comes_out),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(every_byte_may_lie),
		cmocka_unit_test(a_batch_has_limits),
		cmocka_unit_test(a_batch_gives_them_in_order),
		cmocka_unit_test(a_sample_takes_few_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Instruction samples from registers, words and packets as processors and kernels write them. All
 * are made up by the documents: no such processor was at hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "inst_feed.h"
#include "instsample/decode.h"
#include "util/hash.h"

/* Of one letter each: 1 it happened, 0 it did not, - nobody knows. */
static char told(const struct inst_record *r, enum inst_event event)
{
	return r->known >> event & 1 ? (inst_has(r, event) ? '1' : '0') : '-';
}

#define EXPECT(r, event, as) assert_int_equal(told(r, INST_##event), as)

static void expect_field(const struct inst_record *r, enum inst_field field, uint32_t value)
{
	assert_true(r->fields >> field & 1);
	assert_int_equal(r->values[field], value);
}

static void expect_no_field(const struct inst_record *r, enum inst_field field)
{
	assert_false(r->fields >> field & 1);
}

static void names_are_each_one(void **state)
{
	(void)state;
	for (unsigned i = 0; i < INST_EVENT_COUNT; i++) {
		assert_non_null(inst_event_help(i));
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(inst_event_name(i), inst_event_name(k));
	}
	assert_null(inst_event_name(INST_EVENT_COUNT));
	for (unsigned i = 0; i < 64; i++) {
		bool is_one = i >= INST_LATENCY_FIRST && i < INST_CYCLES_END;

		assert_int_equal(inst_latency_name(i) != NULL, is_one);
		assert_int_equal(inst_latency_help(i) != NULL, is_one);
	}
	for (unsigned i = 0; i <= INST_SOURCES + 1; i++)
		assert_int_equal(inst_source_name(i) != NULL, i && i <= INST_SOURCES);
}

/* Lines are the address's, pages are told apart, and another key tells nothing of them. */
static void an_address_is_a_class_and_a_line(void **state)
{
	struct inst_record a, b;
	unsigned same = 0;

	(void)state;
	inst_begin(&a, INST_PRECISE);
	inst_begin(&b, INST_PRECISE);
	inst_set_address(&a, 1, 0x7ffd00001fff);
	expect_field(&a, INST_LINE, 63);
	inst_set_address(&b, 1, 0x7ffd00001000);
	expect_field(&b, INST_LINE, 0);
	assert_int_equal(a.values[INST_PAGE], b.values[INST_PAGE]);
	assert_true(a.values[INST_PAGE] < INST_PAGE_CLASSES);
	for (uint64_t page = 0; page < 1000; page++) {
		inst_set_address(&a, 1, page << 12);
		inst_set_address(&b, 2, page << 12);
		same += a.values[INST_PAGE] == b.values[INST_PAGE];
	}
	assert_true(same < 3);
}

#define OP_MASK                                                                       \
	(1 << IBS_OP_CTL | 1 << IBS_OP_DATA | 1 << IBS_OP_DATA2 | 1 << IBS_OP_DATA3 | \
	 1 << IBS_OP_LINEAR)
#define ZEN4 0xfff

static struct inst_record op_of(uint32_t caps, uint64_t data, uint64_t data2, uint64_t data3,
				uint64_t *linear)
{
	struct ibs_record ibs = {.form = {IBS_OP, caps, OP_MASK},
				 .values = {0, data, data2, data3, 0x7ffd00001040}};
	struct inst_record r;

	inst_from_ibs(&ibs, &r, linear);
	return r;
}

static void ibs_tells_of_loads(void **state)
{
	const uint64_t load = 1, miss = 1 << 7, l2_miss = 1 << 20, linear = 1 << 17;
	const uint64_t times = 70 << 16 | 20, waits = 321ull << 32 | 33ull << 48;
	struct inst_record r;
	uint64_t address;

	(void)state;
	r = op_of(ZEN4, times, 3, load | miss | l2_miss | linear | 1 << 2 | 1 << 3 | waits,
		  &address);
	assert_int_equal(r.source, INST_IBS_OP);
	assert_true(address == 0x7ffd00001040);
	EXPECT(&r, RETIRED, '1');
	EXPECT(&r, ABORTED, '0');
	EXPECT(&r, LOAD, '1');
	EXPECT(&r, BRANCH, '0');
	EXPECT(&r, TAKEN, '-');
	EXPECT(&r, DCACHE_MISS, '1');
	EXPECT(&r, L2_MISS, '1');
	EXPECT(&r, L3_MISS, '1');
	EXPECT(&r, REMOTE, '0');
	EXPECT(&r, DTLB_MISS, '1');
	EXPECT(&r, DTLB_WALK, '1');
	expect_field(&r, INST_CYCLES_DISPATCH_DONE, 50);
	expect_field(&r, INST_CYCLES_DONE_RETIRE, 20);
	expect_field(&r, INST_CYCLES_LOAD_DATA, 321);
	expect_field(&r, INST_CYCLES_DTLB, 33);
	/* A hit: nothing was missed further down, and no latency is its own. */
	r = op_of(ZEN4, times, 3, load | linear | waits, &address);
	EXPECT(&r, DCACHE_MISS, '0');
	EXPECT(&r, L2_MISS, '0');
	EXPECT(&r, L3_MISS, '0');
	EXPECT(&r, DTLB_MISS, '0');
	expect_no_field(&r, INST_CYCLES_LOAD_DATA);
	expect_no_field(&r, INST_CYCLES_DTLB);
	/* The line was on its way: what the L2 cache says may be wrong. */
	r = op_of(ZEN4, times, 1, load | miss | l2_miss | 1 << 16, &address);
	EXPECT(&r, FILL_BUFFER, '1');
	EXPECT(&r, L2_MISS, '-');
	EXPECT(&r, DTLB_MISS, '-'); /* without an address */
	/* 2 is another cache of the socket, on Zen 4 beyond the core's own L3. */
	r = op_of(ZEN4, times, 2, load | miss | l2_miss, &address);
	EXPECT(&r, L3_MISS, '1');
	EXPECT(&r, OTHER_CORE, '1');
	r = op_of(ZEN4 & ~(1u << 11), times, 2 | 1 << 4, load | miss | l2_miss, &address);
	EXPECT(&r, L3_MISS, '0');
	EXPECT(&r, OTHER_CORE, '-');
	EXPECT(&r, REMOTE, '1');
	/* Half a number of Zen 4 (12, a peer's memory) is not that of others. */
	r = op_of(ZEN4, times, 4 | 1 << 6, load | miss | l2_miss, &address);
	EXPECT(&r, L3_MISS, '1');
	EXPECT(&r, REMOTE, '0');
}

static void ibs_tells_of_all_else(void **state)
{
	struct ibs_record fetch = {
		.form = {IBS_FETCH, ZEN4, 1 << IBS_FETCH_CTL | 1 << IBS_FETCH_EXTENDED},
		.values = {7ull << 32 | 1ull << 50 | 1ull << 51 | 1ull << 55 | 1ull << 60, 77}};
	struct inst_record r;
	uint64_t address;

	(void)state;
	r = op_of(ZEN4, 1ull << 37 | 1ull << 35 | 1ull << 36, 0, 0, &address);
	EXPECT(&r, BRANCH, '1');
	EXPECT(&r, TAKEN, '1');
	EXPECT(&r, MISPREDICTED, '1');
	EXPECT(&r, RETURN, '0');
	EXPECT(&r, DCACHE_MISS, '-');
	r = op_of(ZEN4, 5 << 16 | 20, 0, 2 | 1 << 7 | 1 << 15 | 1 << 8, &address);
	EXPECT(&r, STORE, '1');
	EXPECT(&r, LOCKED, '1');
	EXPECT(&r, MISALIGNED, '1');
	EXPECT(&r, L2_MISS, '0');
	expect_no_field(&r, INST_CYCLES_DISPATCH_DONE); /* shorter than its own part: nonsense */
	inst_from_ibs(&fetch, &r, &address);
	assert_int_equal(r.source, INST_IBS_FETCH);
	assert_true(address == 0);
	EXPECT(&r, RETIRED, '-');
	EXPECT(&r, FETCH_ABORTED, '0');
	EXPECT(&r, ICACHE_MISS, '1');
	EXPECT(&r, ICACHE_L2_MISS, '0');
	EXPECT(&r, ICACHE_L3_MISS, '0');
	EXPECT(&r, ITLB_MISS, '1');
	EXPECT(&r, OPCACHE_MISS, '1');
	expect_field(&r, INST_CYCLES_FETCH, 7);
	expect_field(&r, INST_CYCLES_ITLB, 77);
	fetch.form = (struct ibs_form){IBS_FETCH, 1, 1 << IBS_FETCH_CTL};
	inst_from_ibs(&fetch, &r, &address);
	EXPECT(&r, OPCACHE_MISS, '-');
	expect_no_field(&r, INST_CYCLES_ITLB);
}

static struct inst_record memory_of(uint64_t source, uint64_t weight, bool has_stages)
{
	struct inst_memory m = {.has_source = true,
				.has_weight = true,
				.has_stages = has_stages,
				.data_source = source,
				.weight = weight};
	struct inst_record r;

	inst_from_memory(&m, INST_PRECISE, &r);
	return r;
}

#define LOAD		2ull
#define LEVEL(bits)	((uint64_t)(bits) << 5)
#define SNOOP(bits)	((uint64_t)(bits) << 19)
#define LOCK(bits)	((uint64_t)(bits) << 24)
#define TLB(bits)	((uint64_t)(bits) << 26)
#define NUMBER(n)	((uint64_t)(n) << 33)
#define REMOTE_BIT	(1ull << 37)
#define BLOCKED_BITS(n) ((uint64_t)(n) << 40)
#define HIT		2u

/* What Intel's kernels say, old (levels as bits) and new (levels as numbers). */
static void the_kernel_tells_where_data_was(void **state)
{
	static const struct {
		uint64_t source;
		const char *told; /* dcache, L2, L3, remote, fill buffer */
	} cases[] = {
		{LOAD | LEVEL(HIT | 1 << 3) | NUMBER(1), "00000"},
		{LOAD | LEVEL(HIT | 1 << 3), "00000"},
		{LOAD | LEVEL(HIT | 1 << 4) | NUMBER(12), "1---1"},
		{LOAD | LEVEL(HIT | 1 << 5) | NUMBER(2), "10000"},
		{LOAD | LEVEL(HIT | 1 << 6), "11000"},
		{LOAD | LEVEL(4 | 1 << 6), "11100"},
		{LOAD | LEVEL(HIT | 1 << 7), "11100"},
		{LOAD | LEVEL(HIT | 1 << 8) | NUMBER(13) | REMOTE_BIT, "11110"},
		{LOAD | LEVEL(HIT | 1 << 10), "11110"},		 /* Intel: another socket's cache */
		{LOAD | LEVEL(HIT | 1 << 6 | 1 << 10), "11000"}, /* AMD: this one's */
		{4 | LEVEL(4 | 1 << 3), "1---0"},
		{LOAD | LEVEL(1), "-----"},
		{LOAD | LEVEL(1) | NUMBER(15), "-----"},
		{LOAD | LEVEL(1) | NUMBER(14), "11100"},
		{LOAD | NUMBER(5), "10001"},
		{0, "-----"},
	};
	static const enum inst_event events[] = {INST_DCACHE_MISS, INST_L2_MISS, INST_L3_MISS,
						 INST_REMOTE, INST_FILL_BUFFER};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct inst_record r = memory_of(cases[i].source, 0, false);

		for (size_t k = 0; k < sizeof(events) / sizeof(*events); k++)
			assert_int_equal(told(&r, events[k]), cases[i].told[k]);
		EXPECT(&r, RETIRED, '1');
	}
}

static void the_kernel_tells_all_else(void **state)
{
	struct inst_record r =
		memory_of(LOAD | SNOOP(16) | LOCK(2) | TLB(4 | 16) | BLOCKED_BITS(2), 321, false);

	(void)state;
	EXPECT(&r, OTHER_CORE, '1');
	EXPECT(&r, LOCKED, '1');
	EXPECT(&r, DTLB_MISS, '1');
	EXPECT(&r, DTLB_WALK, '1');
	EXPECT(&r, BLOCKED, '1');
	expect_field(&r, INST_CYCLES_LOAD_DATA, 321);
	expect_no_field(&r, INST_CYCLES_RETIRE_GAP);
	/* A hit in the first or the second: it was walked for in neither. */
	r = memory_of(LOAD | TLB(2 | 8 | 16) | SNOOP(1) | BLOCKED_BITS(1), 0, false);
	EXPECT(&r, DTLB_MISS, '-');
	EXPECT(&r, DTLB_WALK, '0');
	EXPECT(&r, OTHER_CORE, '-');
	EXPECT(&r, BLOCKED, '0');
	expect_no_field(&r, INST_CYCLES_LOAD_DATA); /* 0: not measured */
	r = memory_of(LOAD | TLB(2 | 16), 0, false);
	EXPECT(&r, DTLB_MISS, '1');
	EXPECT(&r, DTLB_WALK, '0');
	/* Three latencies in one word; those of stages may be 0. */
	r = memory_of(LOAD, 5ull << 48 | 40ull << 32 | 30, true);
	expect_field(&r, INST_CYCLES_LOAD_DATA, 30);
	expect_field(&r, INST_CYCLES_ISSUE_DONE, 40);
	expect_field(&r, INST_CYCLES_RETIRE_GAP, 5);
	r = memory_of(4, 9, true);
	expect_no_field(&r, INST_CYCLES_LOAD_DATA); /* a store's is no load's */
	expect_field(&r, INST_CYCLES_RETIRE_GAP, 0);
	r = memory_of(LOAD, UINT64_MAX, false);
	expect_field(&r, INST_CYCLES_LOAD_DATA, UINT32_MAX);
}

/* Packets of SPE, made by hand. */
struct packets {
	uint8_t at[512];
	size_t size;
};

static void put(struct packets *p, uint8_t header, uint64_t payload, unsigned bytes)
{
	p->at[p->size++] = header;
	for (unsigned i = 0; i < bytes; i++)
		p->at[p->size++] = (uint8_t)(payload >> 8 * i);
}

#define EL0 (1ull << 63)
#define EL1 (1ull << 63 | 1ull << 61)

static void put_load(struct packets *p, uint64_t address)
{
	put(p, 0xb0, address, 8);				     /* the instruction's */
	put(p, 0x65, 4242, 4);					     /* the thread */
	put(p, 0x49, 0, 1);					     /* a load */
	put(p, 0x52, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 8, 2); /* events */
	put(p, 0x99, 12, 2);					     /* until issue */
	put(p, 0x98, 90, 2);					     /* in all */
	put(p, 0x9a, 3, 2);					     /* translation */
	put(p, 0xb2, 0x0f00ffff12345678, 8);			     /* data, with a tag */
	put(p, 0xb3, 0x777, 8);					     /* physical */
	put(p, 0x43, 0xe, 1); /* a source, which is each core's own */
	put(p, 0x71, 1000, 8);
}

static void spe_tells_of_loads(void **state)
{
	struct packets p = {.size = 0};
	struct spe_reader reader;
	struct spe_record r;

	(void)state;
	put(&p, 0, 0, 3);
	put_load(&p, EL0 | 0x400123);
	reader = spe_reader_over(p.at, p.size, 0);
	assert_true(spe_next(&reader, &r));
	assert_true(r.address == 0x400123 && !r.is_kernel && r.has_context && r.context == 4242);
	assert_true(r.has_data && r.data == 0x00ffff12345678 && r.had_physical && r.time == 1000);
	EXPECT(&r.inst, RETIRED, '1');
	EXPECT(&r.inst, LOAD, '1');
	EXPECT(&r.inst, STORE, '0');
	EXPECT(&r.inst, BRANCH, '0');
	EXPECT(&r.inst, DCACHE_MISS, '1');
	EXPECT(&r.inst, L2_MISS, '-');
	EXPECT(&r.inst, L3_MISS, '0');
	EXPECT(&r.inst, DTLB_WALK, '0');
	EXPECT(&r.inst, REMOTE, '0');
	expect_field(&r.inst, INST_CYCLES_DISPATCH_DONE, 90);
	expect_field(&r.inst, INST_CYCLES_DISPATCH_ISSUE, 12);
	expect_field(&r.inst, INST_CYCLES_LOAD_DATA, 78);
	expect_field(&r.inst, INST_CYCLES_DTLB, 3);
	assert_false(spe_next(&reader, &r));
	assert_true(reader.bad_bytes == 0 && reader.records_lost == 0);
}

static void spe_tells_of_all_else(void **state)
{
	struct packets p = {.size = 0};
	struct spe_reader reader;
	struct spe_record r;

	(void)state;
	put(&p, 0xb0, EL1 | 0x00ff800010001234, 8); /* in the kernel: a branch, thrown away */
	put(&p, 0x4a, 1, 1);
	put(&p, 0x42, 1 << 7 | 1, 1);
	put(&p, 0xb1, EL1 | 0x777, 8);
	put(&p, 0x01, 0, 0);
	put(&p, 0x20, 0, 0); /* the same in the long form, of an atomic operation */
	put(&p, 0xb0, EL0 | 0x500, 8);
	put(&p, 0x49, 0x0e, 1);
	put(&p, 0x62, 1 << 1 | 1 << 19 | 1 << 20 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 11, 4);
	put(&p, 0x01, 0, 0);
	reader = spe_reader_over(p.at, p.size, 0);
	assert_true(spe_next(&reader, &r));
	assert_true(r.is_kernel && r.address == 0xffff800010001234 && !r.has_data && !r.time);
	EXPECT(&r.inst, RETIRED, '0');
	EXPECT(&r.inst, ABORTED, '1');
	EXPECT(&r.inst, ABORT_TRAP, '1');
	EXPECT(&r.inst, BRANCH, '1');
	EXPECT(&r.inst, TAKEN, '1');
	EXPECT(&r.inst, MISPREDICTED, '1');
	EXPECT(&r.inst, LOAD, '0');
	assert_true(spe_next(&reader, &r));
	assert_true(r.address == 0x500);
	EXPECT(&r.inst, LOCKED, '1');
	EXPECT(&r.inst, L2_MISS, '1');
	EXPECT(&r.inst, L3_MISS, '1');
	EXPECT(&r.inst, REMOTE, '1');
	EXPECT(&r.inst, MISALIGNED, '1');
	EXPECT(&r.inst, DCACHE_MISS, '-');
	EXPECT(&r.inst, ABORT_TRAP, '0');
	assert_false(spe_next(&reader, &r));
	assert_true(reader.records_lost == 0);
}

/* Records go on behind what pads them to a boundary of the processor's buffer. */
static void spe_is_aligned_by_the_buffer(void **state)
{
	struct packets p = {.size = 0};
	struct spe_reader reader;
	struct spe_record r;

	(void)state;
	put(&p, 0x25, 0, 1); /* to 64 bytes: 10 on */
	memset(p.at + 2, 0x77, 8);
	p.size = 10;
	put_load(&p, EL0 | 0x400123);
	put(&p, 0x2f, 0, 1); /* to more than there is */
	reader = spe_reader_over(p.at, p.size, 118);
	assert_true(spe_next(&reader, &r));
	assert_true(r.address == 0x400123);
	assert_false(spe_next(&reader, &r));
	assert_true(reader.bad_bytes == 0 && reader.records_lost == 0);
}

/* Cut anywhere: the whole records are there, and at most one is lost. */
static void spe_may_be_cut_anywhere(void **state)
{
	struct packets p = {.size = 0};
	size_t first;

	(void)state;
	put_load(&p, EL0 | 1);
	first = p.size;
	put_load(&p, EL0 | 2);
	for (size_t size = 0; size <= p.size; size++) {
		/* Of just that size, so that reading on is seen. */
		uint8_t *copy = malloc(size + !size);
		struct spe_reader reader;
		struct spe_record r;
		unsigned got = 0;

		memcpy(copy, p.at, size);
		reader = spe_reader_over(copy, size, 0);
		while (spe_next(&reader, &r))
			got++;
		assert_int_equal(got, (size >= first) + (size == p.size));
		assert_int_equal(reader.records_lost, size != 0 && size != first && size != p.size);
		free(copy);
	}
}

static void spe_goes_on_behind_what_makes_no_sense(void **state)
{
	struct packets p = {.size = 0};
	struct spe_reader reader;
	struct spe_record r;
	uint64_t seed = 1;

	(void)state;
	put(&p, 0xb0, EL0 | 1, 8);
	put(&p, 0xff, 0, 0);
	put(&p, 0x01, 0, 0);
	put(&p, 0x98, 1, 2); /* a record of no instruction */
	put(&p, 0x01, 0, 0);
	put_load(&p, EL0 | 2);
	reader = spe_reader_over(p.at, p.size, 0);
	assert_true(spe_next(&reader, &r));
	assert_true(r.address == 2);
	assert_false(spe_next(&reader, &r));
	assert_true(reader.bad_bytes == 1 && reader.records_lost == 2);
	/* Of anything at all it reads what there is, and comes to an end. */
	for (unsigned i = 0; i < 2000; i++) {
		for (size_t k = 0; k < sizeof(p.at); k++)
			p.at[k] = (uint8_t)inst_feed_random(&seed);
		reader = spe_reader_over(p.at, sizeof(p.at), seed);
		while (spe_next(&reader, &r))
			assert_int_equal(r.inst.source, INST_SPE);
		assert_int_equal(cursor_left(&reader.at), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_each_one),
		cmocka_unit_test(an_address_is_a_class_and_a_line),
		cmocka_unit_test(ibs_tells_of_loads),
		cmocka_unit_test(ibs_tells_of_all_else),
		cmocka_unit_test(the_kernel_tells_where_data_was),
		cmocka_unit_test(the_kernel_tells_all_else),
		cmocka_unit_test(spe_tells_of_loads),
		cmocka_unit_test(spe_tells_of_all_else),
		cmocka_unit_test(spe_is_aligned_by_the_buffer),
		cmocka_unit_test(spe_may_be_cut_anywhere),
		cmocka_unit_test(spe_goes_on_behind_what_makes_no_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "collect/stacks/unwind_tables.h"

#define SLOTS 8

/* The maps of the program, and its way to a rule. */
struct kernel {
	uint32_t *rows;
	struct wire_unwind_rule *rules;
	struct wire_unwind_table tables[SLOTS];
	unsigned quiesced;
	struct unwind_tables *t;
};

static int put(void *arg, uint32_t slot, const struct wire_unwind_table *table)
{
	struct kernel *k = arg;

	k->tables[slot] = *table;
	return 0;
}

static int quiesce(void *arg)
{
	struct kernel *k = arg;

	k->quiesced++;
	return 0;
}

static struct kernel *make(uint32_t rows)
{
	struct kernel *k = calloc(1, sizeof(*k));
	struct unwind_memory memory = {
		.rows = k->rows = calloc(rows, sizeof(*k->rows)),
		.rules = k->rules = calloc(65536, sizeof(*k->rules)),
		.row_count = rows,
		.rule_count = 65536,
		.slot_count = SLOTS,
		.put = put,
		.quiesce = quiesce,
		.arg = k,
	};

	k->t = unwind_tables_new(&memory);
	assert_non_null(k->t);
	return k;
}

static void end(struct kernel *k)
{
	unwind_tables_free(k->t);
	free(k->rows);
	free(k->rules);
	free(k);
}

/* As unwind.bpf.c looks it up. */
static const struct wire_unwind_rule *look_up(const struct kernel *k, uint32_t slot,
					      uint32_t offset)
{
	const struct wire_unwind_table *t = &k->tables[slot];
	uint32_t low, high, *page;

	if (offset >> WIRE_UNWIND_PAGE_BITS >= t->page_count)
		return NULL;
	page = k->rows +
	       (t->first_page + (offset >> WIRE_UNWIND_PAGE_BITS)) * WIRE_UNWIND_PAGE_ROWS;
	low = page[0];
	high = low + page[1];
	assert_int_equal(low / WIRE_UNWIND_CHUNK_ROWS, (high - 1) / WIRE_UNWIND_CHUNK_ROWS);
	assert_true(low < high);
	assert_int_equal(k->rows[low] >> 16, 0);
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (k->rows[middle] >> 16 <= offset % (1 << WIRE_UNWIND_PAGE_BITS))
			low = middle;
		else
			high = middle;
	}
	assert_ptr_equal(unwind_tables_find(k->t, slot, offset), &k->rules[k->rows[low] & 0xffff]);
	return (k->rows[low] & 0xffff) ? &k->rules[k->rows[low] & 0xffff] : NULL;
}

static struct image_unwind *compile(const char *path, struct image_facts *facts)
{
	struct image_unwind *u = NULL;
	struct diag diag = {""};
	struct buf out;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	buf_init(&out, 256 << 20);
	assert_int_equal(image_facts_read(fd, facts, &diag), 0);
	assert_int_equal(image_unwind_describe(fd, &out, &diag), 0);
	assert_int_equal(image_unwind_load(out.data, out.size, &u), 0);
	buf_free(&out);
	close(fd);
	return u;
}

/* At every row, and at the byte before and after it, the program finds what the image has. */
static void check_table(const struct kernel *k, uint32_t slot, const struct image_unwind *u,
			const struct image_facts *facts)
{
	for (size_t i = 0; i < u->row_count; i++) {
		for (int d = -1; d <= 1; d++) {
			uint64_t address = u->base + u->rows[i].offset + (uint64_t)d;
			const struct wire_unwind_rule *want = image_unwind_find(u, address), *got;
			const struct image_segment *s = NULL;

			for (uint32_t n = 0; n < facts->segment_count; n++)
				if (address - facts->segments[n].address <
				    facts->segments[n].file_size)
					s = &facts->segments[n];
			if (!s)
				continue;
			got = look_up(k, slot, (uint32_t)(address - s->address + s->file_offset));
			assert_true(!want == !got);
			assert_true(!want || !memcmp(want, got, sizeof(*want)));
		}
	}
}

static void finds_what_was_put(void **state)
{
	struct kernel *k = make(1 << 20);
	struct unwind_tables_counters c;
	struct image_facts self, libc;
	struct image_unwind *a = compile("/proc/self/exe", &self);
	struct image_unwind *b = compile("/lib/x86_64-linux-gnu/libc.so.6", &libc);

	(void)state;
	assert_int_equal(unwind_tables_put(k->t, 1, a, self.segments, self.segment_count), 0);
	assert_int_equal(unwind_tables_put(k->t, 2, b, libc.segments, libc.segment_count), 0);
	check_table(k, 1, a, &self);
	check_table(k, 2, b, &libc);
	/* Again, in place of itself. */
	assert_int_equal(unwind_tables_put(k->t, 1, a, self.segments, self.segment_count), 0);
	check_table(k, 1, a, &self);
	check_table(k, 2, b, &libc);
	unwind_tables_count(k->t, &c);
	assert_int_equal(c.tables, 2);
	assert_int_equal(c.evicted, 0);
	assert_true(c.rules < a->rule_count + b->rule_count);
	print_message("%zu rows placed as %zu, with %zu rules\n", a->row_count + b->row_count,
		      (size_t)c.rows, (size_t)c.rules);
	unwind_tables_drop(k->t, 2);
	assert_int_equal(k->tables[2].page_count, 0);
	image_unwind_free(a);
	image_unwind_free(b);
	end(k);
}

/* 40 rows of two rules in turn, in a file of so many bytes. */
static struct image_unwind *stripes(struct image_segment *segment)
{
	struct image_unwind *u = calloc(1, sizeof(*u));

	u->base = 0x1000;
	u->rule_count = 3;
	u->row_count = 41;
	u->memory = u->rules = calloc(1, 3 * sizeof(*u->rules) + 41 * sizeof(*u->rows));
	u->rows = (void *)(u->rules + 3);
	for (uint8_t i = 1; i < 3; i++)
		u->rules[i] = (struct wire_unwind_rule){.cfa = WIRE_CFA_REGISTER, .cfa_reg = i};
	for (uint32_t i = 0; i < 41; i++)
		u->rows[i] = (struct image_unwind_row){i * 5000, i == 40 ? 0 : 1 + i % 2};
	*segment = (struct image_segment){0x1000, 0, 200000};
	return u;
}

static void the_least_used_makes_room(void **state)
{
	struct image_segment segment;
	struct image_unwind *u = stripes(&segment);
	struct image_facts facts = {.segment_count = 1};
	/* Room for two. */
	struct kernel *k = make(400);
	struct unwind_tables_counters c;

	(void)state;
	facts.segments[0] = segment;
	for (uint32_t slot = 1; slot < 4; slot++) {
		assert_int_equal(unwind_tables_put(k->t, slot, u, &segment, 1), 0);
		check_table(k, slot, u, &facts);
		unwind_tables_use(k->t, 1);
	}
	unwind_tables_count(k->t, &c);
	assert_int_equal(c.tables, 2);
	assert_int_equal(c.evicted, 1);
	assert_true(k->quiesced > 0);
	check_table(k, 1, u, &facts);
	check_table(k, 3, u, &facts);
	assert_int_equal(k->tables[2].page_count, 0);
	assert_int_equal(unwind_tables_put(k->t, SLOTS, u, &segment, 1), -ERANGE);
	end(k);

	/* Larger than all there is: refused, and nothing is taken away for it. */
	k = make(120);
	assert_int_equal(unwind_tables_put(k->t, 1, u, &segment, 1), -ENOSPC);
	/* Nothing but frame pointers. */
	assert_int_equal(unwind_tables_put(k->t, 2, NULL, NULL, 0), 0);
	assert_null(look_up(k, 2, 0));
	end(k);
	image_unwind_free(u);
}

/* As unwind.bpf.c looks it up: what an offset's original is, 0: it has none. */
static uint32_t look_up_original(const struct kernel *k, uint32_t slot, uint32_t offset)
{
	const struct wire_unwind_table *t = &k->tables[slot];
	uint32_t low, count, in_page = offset & ((1 << WIRE_UNWIND_PAGE_BITS) - 1), *page;

	if (offset >> WIRE_UNWIND_PAGE_BITS >= t->page_count)
		return 0;
	page = k->rows +
	       (t->first_page + (offset >> WIRE_UNWIND_PAGE_BITS)) * WIRE_UNWIND_PAGE_ROWS;
	low = page[0];
	count = page[1];
	assert_int_equal(low / WIRE_UNWIND_CHUNK_ROWS,
			 (low + 2 * count - 1) / WIRE_UNWIND_CHUNK_ROWS);
	assert_int_equal(k->rows[low] >> 16, 0);
	for (; low + 1 < page[0] + count && k->rows[low + 1] >> 16 <= in_page; low++)
		;
	return k->rows[low + count] ? offset + k->rows[low + count] - WIRE_UNWIND_STEP : 0;
}

static void finds_originals(void **state)
{
	enum { COUNT = 20000 };
	struct originals_run *runs = calloc(COUNT, sizeof(*runs));
	struct kernel *k = make(65536);
	struct image_segment segment;
	struct image_unwind *u = stripes(&segment);
	struct image_facts facts = {.segment_count = 1};
	struct unwind_tables_counters c;

	(void)state;
	/* Runs of 7 bytes, each 3 further from the last, the original of some of them far behind
	 * and of some none. */
	for (uint32_t i = 0; i < COUNT; i++)
		runs[i] = (struct originals_run){4096 + 7 * i, i % 100 == 99 ? NO_ORIGINAL
							       : i % 2	     ? 90000000 - 10 * i
									     : 1000 + 10 * i};
	facts.segments[0] = segment;
	assert_int_equal(unwind_tables_put_originals(k->t, 1, runs, COUNT), 0);
	assert_int_equal(unwind_tables_put(k->t, 2, u, &segment, 1), 0);
	for (uint32_t i = 0; i < COUNT; i++)
		for (uint32_t d = 0; d < 7; d++)
			assert_int_equal(look_up_original(k, 1, runs[i].offset + d),
					 runs[i].original == NO_ORIGINAL ? 0
									 : runs[i].original + d);
	assert_int_equal(look_up_original(k, 1, 0), 0);
	assert_int_equal(look_up_original(k, 1, 4095), 0);
	check_table(k, 2, u, &facts);

	/* What goes on where it was has no row of its own. */
	for (uint32_t i = 0; i < COUNT; i++)
		runs[i].original = 500 + runs[i].offset;
	assert_int_equal(unwind_tables_put_originals(k->t, 1, runs, COUNT), 0);
	unwind_tables_drop(k->t, 2);
	unwind_tables_count(k->t, &c);
	assert_true(c.rows < 16);
	assert_int_equal(look_up_original(k, 1, 5000), 5500);
	assert_int_equal(unwind_tables_put_originals(k->t, SLOTS, runs, COUNT), -ERANGE);
	image_unwind_free(u);
	free(runs);
	end(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_was_put),
		cmocka_unit_test(the_least_used_makes_room),
		cmocka_unit_test(finds_originals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

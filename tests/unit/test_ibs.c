/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Raw data of AMD's IBS: which registers there are by size and capabilities, and what is kept. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "exchange/store.h"
#include "instsample/ibs.h"

#define BRNTRGT	     (1u << 5)
#define RIPINVALID   (1u << 7)
#define FETCHCTLEXTD (1u << 9)
#define OPDATA4	     (1u << 10)

/* Capabilities and registers that say their own number, but for those given. */
struct raw {
	uint32_t caps;
	uint64_t registers[12];
} __attribute__((packed));

static struct raw make_raw(uint32_t caps)
{
	struct raw r = {.caps = caps};

	for (uint64_t i = 0; i < 12; i++)
		r.registers[i] = 0x100 + i;
	return r;
}

static size_t bytes_of(size_t registers)
{
	return 4 + 8 * registers;
}

static uint64_t value_of(const struct ibs_record *r, unsigned number)
{
	unsigned below = (unsigned)__builtin_popcount(r->form.mask & ((1u << number) - 1));

	assert_true(r->form.mask >> number & 1);
	return r->values[below];
}

/* Which of 0 to 12 registers are taken, as bits. */
static unsigned sizes_taken(enum ibs_kind kind, uint32_t caps)
{
	struct raw raw = make_raw(caps);
	struct ibs_record r;
	unsigned taken = 0;

	for (size_t i = 0; i <= sizeof(raw); i++) {
		/* Of just that size, so that reading on is seen. */
		void *copy = malloc(i + !i);
		int error;

		memcpy(copy, &raw, i);
		error = ibs_take(kind, copy, i, &r);
		free(copy);
		assert_true(error == 0 || error == -EBADMSG);
		if (error)
			continue;
		assert_int_equal((i - 4) % 8, 0);
		taken |= 1u << (i - 4) / 8;
		assert_true(__builtin_popcount(r.form.mask) <= IBS_VALUES_MAX);
		assert_int_equal(r.form.caps, caps);
		assert_int_equal(r.form.kind, kind);
	}
	return taken;
}

static void sizes_go_by_capabilities(void **state)
{
	(void)state;
	assert_int_equal(sizes_taken(IBS_OP, 1), 1 << 7);
	assert_int_equal(sizes_taken(IBS_OP, 1 | BRNTRGT), 1 << 7 | 1 << 8);
	assert_int_equal(sizes_taken(IBS_OP, 1 | OPDATA4), 1 << 7 | 1 << 8);
	assert_int_equal(sizes_taken(IBS_OP, 1 | BRNTRGT | OPDATA4), 1 << 7 | 1 << 8 | 1 << 9);
	assert_int_equal(sizes_taken(IBS_FETCH, 1), 1 << 3);
	assert_int_equal(sizes_taken(IBS_FETCH, 1 | FETCHCTLEXTD), 1 << 3 | 1 << 4);
	assert_int_equal(sizes_taken(IBS_FETCH, 1 | FETCHCTLEXTD | BRNTRGT | OPDATA4),
			 1 << 3 | 1 << 4 | 1 << 5);
}

static void an_operation_keeps_what_it_means(void **state)
{
	struct raw raw = make_raw(1 | BRNTRGT | OPDATA4 | RIPINVALID);
	struct ibs_record r;

	(void)state;
	raw.registers[IBS_OP_DATA] = 1ull << 37 | 700u << 16 | 12;
	raw.registers[IBS_OP_DATA3] = 1ull << 17 | 1ull << 18 | 321ull << 32;
	assert_int_equal(ibs_take(IBS_OP, &raw, bytes_of(9), &r), 0);
	assert_int_equal(r.form.mask, 1 << IBS_OP_CTL | 1 << IBS_OP_DATA | 1 << IBS_OP_DATA2 |
					      1 << IBS_OP_DATA3 | 1 << IBS_OP_LINEAR |
					      1 << IBS_OP_DATA4);
	assert_true(value_of(&r, IBS_OP_CTL) == 0x100);
	assert_true(value_of(&r, IBS_OP_DATA2) == 0x103);
	assert_true(value_of(&r, IBS_OP_LINEAR) == 0x105);
	assert_true(value_of(&r, IBS_OP_DATA4) == 0x108);
	assert_true(r.place == 0x101 && r.target == 0x107 && r.had_physical);
	/* Without the bits that say so these are of another sample. */
	raw.registers[IBS_OP_DATA] = 1ull << 38;
	raw.registers[IBS_OP_DATA3] = 0;
	assert_int_equal(ibs_take(IBS_OP, &raw, bytes_of(9), &r), 0);
	assert_true(value_of(&r, IBS_OP_LINEAR) == 0);
	assert_true(r.place == 0 && r.target == 0 && !r.had_physical);
	/* A processor that cannot tell never says so. */
	raw.caps &= ~RIPINVALID;
	assert_int_equal(ibs_take(IBS_OP, &raw, bytes_of(9), &r), 0);
	assert_true(r.place == 0x101);
	/* The first of two that may be there, of a kernel that reads but one. */
	raw.registers[IBS_OP_DATA] = 1ull << 37;
	assert_int_equal(ibs_take(IBS_OP, &raw, bytes_of(8), &r), 0);
	assert_true(r.target == 0x107 && !(r.form.mask >> IBS_OP_DATA4 & 1));
	raw.caps &= ~BRNTRGT;
	assert_int_equal(ibs_take(IBS_OP, &raw, bytes_of(8), &r), 0);
	assert_true(r.target == 0 && value_of(&r, IBS_OP_DATA4) == 0x107);
}

static void a_fetch_keeps_what_it_means(void **state)
{
	struct raw raw = make_raw(1 | FETCHCTLEXTD | BRNTRGT | OPDATA4);
	struct ibs_record r;

	(void)state;
	raw.registers[IBS_FETCH_CTL] = 1ull << 52;
	assert_int_equal(ibs_take(IBS_FETCH, &raw, bytes_of(4), &r), 0);
	assert_int_equal(r.form.mask, 1 << IBS_FETCH_CTL | 1 << IBS_FETCH_EXTENDED);
	assert_true(value_of(&r, IBS_FETCH_EXTENDED) == 0x103);
	assert_true(r.place == 0x101 && r.target == 0 && r.had_physical);
	raw.registers[IBS_FETCH_CTL] = 0;
	assert_int_equal(ibs_take(IBS_FETCH, &raw, bytes_of(5), &r), 0);
	assert_int_equal(r.form.mask, 1 << IBS_FETCH_CTL); /* the others are no fetch's */
	assert_true(!r.had_physical);
}

/* Each field within its register, named once, and read from where the document has it. */
static void fields_are_parts_of_registers(void **state)
{
	struct ibs_form form = {IBS_OP, 0, 1 << IBS_OP_CTL | 1 << IBS_OP_DATA3};
	uint64_t values[] = {5ull << 32, 321ull << 32 | 1 << 7}, value;
	const struct ibs_field *fields;
	size_t count, seen = 0;

	(void)state;
	for (uint32_t kind = IBS_OP; kind <= IBS_FETCH; kind++) {
		fields = ibs_fields(kind, &count);
		assert_true(count > 10 && ibs_kind_name(kind));
		for (size_t i = 0; i < count; i++) {
			assert_non_null(ibs_register_name(kind, fields[i].number));
			assert_true(fields[i].low + fields[i].bits <= 64 && fields[i].bits < 64);
			for (size_t k = 0; k < i; k++)
				assert_string_not_equal(fields[i].name, fields[k].name);
		}
	}
	fields = ibs_fields(IBS_OP, &count);
	for (size_t i = 0; i < count; i++) {
		bool there = ibs_field_get(&fields[i], &form, values, &value);

		assert_int_equal(there, !fields[i].caps && (fields[i].number == IBS_OP_CTL ||
							    fields[i].number == IBS_OP_DATA3));
		if (there && value)
			seen += (!strcmp(fields[i].name, "opcurcnt") && value == 5) ||
				(!strcmp(fields[i].name, "dc_miss_lat") && value == 321) ||
				(!strcmp(fields[i].name, "dc_miss") && value == 1);
	}
	assert_int_equal(seen, 3);
	ibs_fields(77, &count);
	assert_int_equal(count, 0);
	assert_null(ibs_kind_name(77));
	assert_null(ibs_kind_name(0));
	assert_null(ibs_register_name(77, 0));
	assert_null(ibs_register_name(IBS_FETCH, 31));
}

static struct harvest *make_harvest(struct harvest_raw *raw)
{
	struct harvest *h = harvest_new();
	uint32_t image;

	assert_int_equal(harvest_event(h, "ibs_op//", 8, &raw->event), 0);
	assert_int_equal(harvest_subject(h, "", 0, &raw->subject), 0);
	assert_int_equal(harvest_image(h, &(struct harvest_image){.kind = HARVEST_KERNEL}, &image),
			 0);
	assert_int_equal(harvest_place(h, image, 7, &raw->place), 0);
	return h;
}

/* Numbers as long as they may be. */
static void records_come_through_a_harvest(void **state)
{
	struct harvest_raw raw = {.target = HARVEST_NONE, .form = {UINT32_MAX, UINT32_MAX, 0xff}};
	struct harvest *h = make_harvest(&raw);
	struct store s = {0};
	struct buf bytes;

	(void)state;
	for (unsigned i = 0; i < DB_RAW_VALUES_MAX; i++)
		raw.values[i] = UINT64_MAX - i;
	assert_int_equal(harvest_raw(h, &raw), 0);
	raw.target = raw.place;
	assert_int_equal(harvest_raw(h, &raw), 0);
	buf_init(&bytes, 1 << 20);
	harvest_save(h, &bytes);
	harvest_free(h);
	assert_int_equal(store_load(&s, bytes.data, bytes.size, NULL), 0);
	assert_int_equal(s.raw_count, 2);
	assert_memory_equal(&s.raws[1], &raw, sizeof(raw));
	raw.target = HARVEST_NONE;
	assert_memory_equal(&s.raws[0], &raw, sizeof(raw));
	arena_free(s.memory);
	buf_free(&bytes);
}

static void an_import_takes_so_many(void **state)
{
	struct harvest_raw raw = {.target = HARVEST_NONE, .form = {DB_RAW_IBS_OP, 0, 0}};
	struct harvest *h = make_harvest(&raw);

	(void)state;
	for (uint32_t i = 0; i < HARVEST_RAWS_MAX; i++)
		assert_int_equal(harvest_raw(h, &raw), 0);
	assert_int_equal(harvest_raw(h, &raw), -E2BIG);
	harvest_free(h);
}

/* Nobody looks at what a count or a fact returned; what did not fit is told at the end. */
static void a_fact_too_many_is_told_when_saved(void **state)
{
	struct harvest *h = harvest_new();
	struct buf bytes;
	char value[16];

	(void)state;
	for (int i = 0; i < 5000; i++) {
		snprintf(value, sizeof(value), "%d", i);
		harvest_fact(h, "fact", value, strlen(value));
	}
	buf_init(&bytes, 1 << 20);
	harvest_save(h, &bytes);
	assert_int_equal(bytes.error, -ENOSPC);
	buf_free(&bytes);
	harvest_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_go_by_capabilities),
		cmocka_unit_test(an_operation_keeps_what_it_means),
		cmocka_unit_test(a_fetch_keeps_what_it_means),
		cmocka_unit_test(fields_are_parts_of_registers),
		cmocka_unit_test(records_come_through_a_harvest),
		cmocka_unit_test(an_import_takes_so_many),
		cmocka_unit_test(a_fact_too_many_is_told_when_saved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

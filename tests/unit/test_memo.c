/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <string.h>
#include "isa/memo.h"

static struct isa_decoder *decoder_new(void)
{
	struct isa_decoder *d;
	struct diag diag;
	assert_int_equal(isa_decoder_new(EM_X86_64, 64, ISA_SYNTAX_ATT, &d, &diag), 0);
	return d;
}

static void same(struct isa_memo *m, const struct isa_decoder *d, const uint8_t *code, size_t size,
		 uint64_t address)
{
	struct isa_instruction a, b;
	struct isa_operands x, y;
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	memset(&y, 0xee, sizeof(y)); /* what was there before must not show */
	bool valid = isa_decode_operands(d, code, size, address, &a, &x);
	assert_int_equal(isa_memo_operands(m, d, code, size, address, &b, &y), valid);
	assert_int_equal(a.address, b.address);
	assert_int_equal(a.size, b.size);
	assert_int_equal(a.valid, b.valid);
	assert_int_equal(a.unmasks, b.unmasks);
	assert_int_equal(a.branch, b.branch);
	assert_int_equal(a.target, b.target);
	assert_int_equal(a.data, b.data);
	assert_memory_equal(&x, &y, sizeof(x));
}

/* The bytes of one instruction of each size, of branches, of what is at the instruction pointer. */
static const struct {
	uint8_t size;
	const char *code;
} some[] = {
	{1, "\x50"},
	{1, "\xc3"},
	{1, "\x9d"},
	{2, "\x31\xc0"},
	{2, "\xeb\x10"},
	{3, "\x48\x89\xd8"},
	{3, "\x48\x89\xd9"},
	{4, "\x8b\x44\x24\x08"},
	{5, "\xe8\x10\x00\x00\x00"},
	{6, "\x8b\x05\x00\x01\x00\x00"},
	{6, "\x0f\x84\x10\x00\x00\x00"},
	{7, "\x48\x8d\x05\x10\x00\x00\x00"},
	{8, "\x8b\x04\x25\x00\x10\x40\x00\x00"}, /* one byte too many */
	{9, "\x64\x48\x8b\x04\x25\x28\x00\x00\x00"},
	{10, "\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"},
	{11, "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00\x90"},
	{2, "\x0f\xa2"}, /* cpuid: many operands */
	{3, "\x0f\xae\x00"},
	{1, "\x06"}, /* no instruction here */
	{2, "\x48\x8b"},
};

static void test_as_decoded(void **state)
{
	(void)state;
	struct isa_decoder *d = decoder_new();
	/* With one place each throws out the last; with many all are kept. */
	for (size_t places = 1; places <= 64; places *= 64) {
		struct isa_memo *m = isa_memo_operands_new(places);
		assert_non_null(m);
		for (unsigned round = 0; round < 6; round++)
			for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
				same(m, d, (const uint8_t *)some[i].code, some[i].size,
				     0x1000 + round / 2 * 0x800);
		isa_memo_free(m);
	}
	isa_memo_free(NULL);
	isa_decoder_free(d);
}

static void test_without(void **state)
{
	(void)state;
	struct isa_decoder *d = decoder_new();
	same(NULL, d, (const uint8_t *)"\x31\xc0", 2, 0x1000);
	isa_decoder_free(d);
}

static void test_places(void **state)
{
	(void)state;
	struct isa_memo *m = isa_memo_new(1024, sizeof(int));
	const uint8_t code[16] = {0x31, 0xc0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
	bool known;
	assert_non_null(m);
	assert_null(isa_memo_find(m, code, 0, 0, &known));
	assert_null(isa_memo_find(m, code, 16, 0, &known));
	for (int size = 1; size <= ISA_MEMO_BYTES_MAX; size++) {
		int *value = isa_memo_find(m, code, (size_t)size, 0, &known);
		assert_non_null(value);
		assert_false(known);
		/* What was not said to be right is not known. */
		value = isa_memo_find(m, code, (size_t)size, 0, &known);
		assert_false(known);
		*value = size;
		isa_memo_keep(value, size % 2 ? ISA_NO_ADDRESS : 0x1000);
		value = isa_memo_find(m, code, (size_t)size, 0x1000, &known);
		assert_true(known);
		assert_int_equal(*value, size);
		isa_memo_find(m, code, (size_t)size, 0x2000, &known);
		assert_int_equal(known, size % 2);
	}
	isa_memo_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_decoded),
		cmocka_unit_test(test_without),
		cmocka_unit_test(test_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

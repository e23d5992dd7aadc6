/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <string.h>
#include "machine/listing_decoder.h"
#include "machine/llvm_load.h"

/* The names that assemblers know, as objdump -M suffix writes them. */
static const struct {
	const char *bytes;
	uint8_t size;
	const char *text;
} table[] = {
	{"\x0f\x1f\x00", 3, "nopl (%rax)"},
	{"\x7f\x02", 2, "jg 0x1004"},
	{"\x75\x02", 2, "jne 0x1004"},
	{"\x48\x98", 2, "cltq"},
	{"\x0f\xb6\x04\x06", 4, "movzbl (%rsi,%rax), %eax"},
	{"\xff\xd0", 2, "callq *%rax"},
	{"\xf0\x0f\xb1\x0f", 4, "lock cmpxchgl %ecx, (%rdi)"},
	{"\xf3\x48\xab", 3, "rep stosq %rax, %es:(%rdi)"},
	{"\x48\x8b\x05\x10\x00\x00\x00", 7, "movq 0x10(%rip), %rax"},
	{"\x62\xf3\x7d\x48\x3f\xc2\x00", 7, "vpcmpeqb %zmm2, %zmm0, %k0"},
};

static void test_table(void **state)
{
	(void)state;
	struct llvm_module *module;
	struct isa_decoder *d;
	if (llvm_module_load(&module, NULL))
		skip(); /* built without LLVM */
	assert_int_equal(machine_listing_decoder_new(EM_X86_64, 64, ISA_SYNTAX_ATT, &d, NULL), 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const uint8_t *code = (const uint8_t *)table[i].bytes;
		struct isa_instruction in;
		char text[ISA_TEXT_MAX];
		isa_decode(d, code, table[i].size, 0x1000, &in);
		isa_format(d, code, &in, text);
		assert_string_equal(text, table[i].text);
	}
	isa_decoder_free(d);
}

static void test_intel_and_32_bits(void **state)
{
	(void)state;
	const uint8_t code[] = {0x8b, 0x45, 0x08};
	struct isa_instruction in;
	struct isa_decoder *d;
	char text[ISA_TEXT_MAX];
	assert_int_equal(machine_listing_decoder_new(EM_X86_64, 64, ISA_SYNTAX_INTEL, &d, NULL), 0);
	isa_decode(d, code, sizeof(code), 0x1000, &in);
	isa_format(d, code, &in, text);
	assert_string_equal(text, "mov eax, dword ptr [rbp+0x8]");
	isa_decoder_free(d);
	assert_int_equal(machine_listing_decoder_new(EM_386, 32, ISA_SYNTAX_ATT, &d, NULL), 0);
	isa_decode(d, code, sizeof(code), 0x1000, &in);
	isa_format(d, code, &in, text);
	assert_non_null(strstr(text, "0x8(%ebp), %eax"));
	isa_decoder_free(d);
	assert_true(machine_listing_decoder_new(EM_SPARC, 64, ISA_SYNTAX_ATT, &d, NULL) < 0);
}

/* Another writer's text stands where it has one, and is not asked for Intel's. */
static bool write_even(void *state, const uint8_t *code, size_t size, uint64_t address,
		       char out[ISA_TEXT_MAX])
{
	(void)code, (void)size;
	++*(int *)state;
	strcpy(out, "even");
	return address % 2 == 0;
}

static void count_end(void *state)
{
	*(int *)state += 100;
}

static void test_writer(void **state)
{
	(void)state;
	const uint8_t code[] = {0xc3};
	struct isa_instruction in;
	struct isa_decoder *d;
	char text[ISA_TEXT_MAX];
	int calls = 0;
	assert_int_equal(isa_decoder_new(EM_X86_64, 64, ISA_SYNTAX_ATT, &d, NULL), 0);
	isa_decoder_set_writer(d, &(struct isa_writer){write_even, count_end, &calls});
	isa_decode(d, code, 1, 0x1000, &in);
	isa_format(d, code, &in, text);
	assert_string_equal(text, "even");
	in.address++;
	isa_format(d, code, &in, text);
	assert_string_equal(text, "ret");
	in.valid = false;
	isa_format(d, code, &in, text);
	assert_string_equal(text, "(bad)");
	isa_decoder_free(d);
	assert_int_equal(calls, 102);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_intel_and_32_bits),
		cmocka_unit_test(test_writer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

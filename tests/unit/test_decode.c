/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include "isa/decode.h"

struct wanted {
	const char *bytes;
	uint8_t size;
	enum isa_branch branch;
	uint64_t target, data;
	const char *att, *intel;
};

#define NONE ISA_NO_ADDRESS
static const struct wanted table[] = {
	{"\x48\x89\xe5", 3, ISA_BRANCH_NONE, NONE, NONE, "mov %rsp, %rbp", "mov rbp, rsp"},
	{"\xe8\x10\x00\x00\x00", 5, ISA_BRANCH_CALL, 0x1015, NONE, "call 0x1015", "call 0x1015"},
	{"\xeb\xfe", 2, ISA_BRANCH_JUMP, 0x1000, NONE, "jmp 0x1000", "jmp 0x1000"},
	{"\x75\x02", 2, ISA_BRANCH_CONDITIONAL, 0x1004, NONE, "jnz 0x1004", "jnz 0x1004"},
	{"\xff\xe0", 2, ISA_BRANCH_JUMP, NONE, NONE, "jmp *%rax", "jmp rax"},
	{"\xff\x25\x0a\x00\x00\x00", 6, ISA_BRANCH_JUMP, NONE, 0x1010, "jmp *0xa(%rip)", NULL},
	{"\xff\x00", 2, ISA_BRANCH_NONE, NONE, NONE, "incl (%rax)", "inc dword ptr [rax]"},
	{"\xf0\x48\xff\x40\x08", 5, ISA_BRANCH_NONE, NONE, NONE, "lock incq 0x8(%rax)", NULL},
	{"\xf6\x3f", 2, ISA_BRANCH_NONE, NONE, NONE, "idivb (%rdi)", NULL},
	{"\xd3\x20", 2, ISA_BRANCH_NONE, NONE, NONE, "shll %cl, (%rax)", NULL},
	{"\x48\xc7\x00\x01\x00\x00\x00", 7, ISA_BRANCH_NONE, NONE, NONE, "movq $0x1, (%rax)", NULL},
	{"\xc3", 1, ISA_BRANCH_RETURN, NONE, NONE, "ret", "ret"},
	{"\x0f\x05", 2, ISA_BRANCH_SYSTEM, NONE, NONE, "syscall", "syscall"},
	{"\x0f\x0b", 2, ISA_BRANCH_STOP, NONE, NONE, "ud2", "ud2"},
	{"\xf4", 1, ISA_BRANCH_STOP, NONE, NONE, "hlt", "hlt"},
	{"\xc7\xf8\x02\x00\x00\x00", 6, ISA_BRANCH_CONDITIONAL, 0x1008, NONE, "xbegin 0x1008",
	 NULL},
	{"\x0f\x01\xd5", 3, ISA_BRANCH_NONE, NONE, NONE, "xend", "xend"},
	{"\xc6\xf8\xff", 3, ISA_BRANCH_NONE, NONE, NONE, "xabort $0xff", "xabort 0xff"},
	{"\xf3\x0f\x1e\xfa", 4, ISA_BRANCH_NONE, NONE, NONE, "endbr64", "endbr64"},
	{"\x64\x48\x8b\x04\x25\x28\x00\x00\x00", 9, ISA_BRANCH_NONE, NONE, NONE, NULL, NULL},
};

static void test_table(void **state)
{
	(void)state;
	struct isa_decoder *att, *intel;
	assert_int_equal(isa_decoder_new(EM_X86_64, 64, ISA_SYNTAX_ATT, &att, NULL), 0);
	assert_int_equal(isa_decoder_new(EM_X86_64, 64, ISA_SYNTAX_INTEL, &intel, NULL), 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct wanted *w = &table[i];
		const uint8_t *code = (const uint8_t *)w->bytes;
		struct isa_instruction in;
		char text[ISA_TEXT_MAX];
		isa_decode(att, code, w->size, 0x1000, &in);
		assert_true(in.valid);
		assert_int_equal(in.size, w->size);
		assert_int_equal(in.branch, w->branch);
		assert_int_equal(in.target, w->target);
		assert_int_equal(in.data, w->data);
		isa_format(att, code, &in, text);
		if (w->att)
			assert_string_equal(text, w->att);
		isa_format(intel, code, &in, text);
		if (w->intel)
			assert_string_equal(text, w->intel);
		for (size_t cut = 1; cut < w->size; cut++) {
			isa_decode(att, code, cut, 0x1000, &in);
			assert_true(in.size >= 1 && in.size <= cut);
		}
	}
	isa_decoder_free(att);
	isa_decoder_free(intel);
}

/* Any bytes: progress is always made and the text always ends. */
static void test_noise(void **state)
{
	(void)state;
	struct isa_decoder *d;
	uint8_t code[32];
	uint64_t seed = 1;
	unsigned invalid = 0;
	assert_int_equal(isa_decoder_new(EM_386, 32, ISA_SYNTAX_ATT, &d, NULL), 0);
	isa_decoder_free(d);
	assert_int_equal(isa_decoder_new(EM_X86_64, 64, ISA_SYNTAX_ATT, &d, NULL), 0);
	for (int round = 0; round < 20000; round++) {
		struct isa_instruction in;
		char text[ISA_TEXT_MAX];
		for (size_t i = 0; i < sizeof(code); i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			code[i] = (uint8_t)(seed >> 40);
		}
		size_t size = 1 + (size_t)round % sizeof(code);
		isa_decode(d, code, size, UINT64_MAX - 3, &in);
		assert_true(in.size >= 1 && in.size <= size);
		isa_format(d, code, &in, text);
		assert_true(strlen(text) > 0);
		invalid += !in.valid;
		if (!in.valid)
			assert_string_equal(text, "(bad)");
	}
	assert_true(invalid > 100);
	isa_decoder_free(d);
}

static void test_unknown_machine(void **state)
{
	(void)state;
	struct isa_decoder *d;
	struct diag diag;
	assert_int_equal(isa_decoder_new(EM_RISCV, 64, ISA_SYNTAX_ATT, &d, &diag), -EOPNOTSUPP);
	assert_non_null(strstr(diag.text, "243"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_unknown_machine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include "isa/operands.h"

struct wanted {
	const char *bytes;
	uint8_t size;
	const char *text; /* of describe() */
};

/*
 * mnemonic, attributes, flags read/written, then the operands: r, w, R, W (maybe), name:bits for
 * registers, [base+index*scale+disp]:bits, $immediate; hidden ones in parentheses.
 */
static const struct wanted table[] = {
	{"\x50", 1, "push 0 0/0 r rax:64 (rw rsp:64) (w [rsp-8]:64)"},
	{"\x8f\x44\x24\x08", 4, "pop 0 0/0 w [rsp+16]:64 (rw rsp:64) (r [rsp]:64)"},
	{"\xff\xd0", 2, "call 1000 0/0 r rax:64 (rw rip:64) (rw rsp:64) (w [rsp-8]:64)"},
	{"\x31\xc0", 2, "xor 10 0/8d5 rw! rax:32 r rax:32 (w flags:64)"},
	{"\x88\xe3", 2, "mov 0 0/0 w rbx:8 r rax.8:8"},
	{"\x48\x89\xd8", 3, "mov 20 0/0 w! rax:64 r rbx:64"},
	{"\x0f\x45\x07", 3, "cmovnz?5 0 40/0 W rax:32 r [rdi]:32 (r flags:64)"},
	{"\xf0\x0f\xb1\x0f", 4, "cmpxchg 1 0/8d5 rW [rdi]:32 r rcx:32 (rW rax:32) (w flags:64)"},
	{"\x87\x07", 2, "xchg 1 0/0 rw [rdi]:32 rw! rax:32"},
	{"\x8d\x4c\xd8\x04", 4, "lea 0 0/0 w! rcx:32  [rax+rbx*8+4]:64"},
	{"\x64\x48\x8b\x04\x25\x28\x00\x00\x00", 9, "mov 0 0/0 w! rax:64 r fs:[+40]:64"},
	{"\x8b\x05\x00\x01\x00\x00", 6, "mov 0 0/0 w! rax:32 r [rip+4358]:32"},
	{"\xf3\x0f\x10\x08", 4, "movss 0 0/0 w! xmm1:128 r [rax]:32"},
	{"\xf3\x0f\x10\xca", 4, "movss 800 0/0 w xmm1:32 r xmm2:32"},
	{"\x62\xf1\x6c\x49\x58\xd9", 6, "vaddps 600 0/0 rW xmm3:512 r k1:64 r xmm2:512 r xmm1:512"},
	{"\x62\xf1\x6c\x48\x58\xd9", 6, "vaddps 200 0/0 w! xmm3:512 r xmm2:512 r xmm1:512"},
	{"\xc5\xf8\x57\xc0", 4, "vxorps 210 0/0 w! xmm0:128 r xmm0:128 r xmm0:128"},
	{"\x0f\x18\x08", 3, "prefetcht0 80 0/0  [rax]:8"},
	{"\x0f\xae\xf0", 3, "mfence 4 0/0"},
	{"\x0f\xe7\x07", 3, "movntq 100 0/0 w [rdi]:64 r mm0:64"},
	{"\x75\xfe", 2, "jnz?5 0 40/0 (rw rip:64) (r flags:64)"},
	{"\xf3\x0f\x1e\xfa", 4, "endbr64 40 0/0"},
	{"\x48\x83\xe4\xf0", 4, "and 0 0/8d5 rw! rsp:64 r $-16 (w flags:64)"},
};

static size_t add_memory(char *out, size_t room, const struct isa_operand *p)
{
	int n = snprintf(out, room, "%s%s[", p->segment == ISA_REG_NONE ? "" : "fs",
			 p->segment == ISA_REG_NONE ? "" : ":");
	if (p->base != ISA_REG_NONE)
		n += snprintf(out + n, room - (size_t)n, "%s", isa_register_name(p->base));
	if (p->index != ISA_REG_NONE)
		n += snprintf(out + n, room - (size_t)n, "+%s*%u", isa_register_name(p->index),
			      p->scale);
	if (p->value)
		n += snprintf(out + n, room - (size_t)n, "%+lld", (long long)p->value);
	return (size_t)n + (size_t)snprintf(out + n, room - (size_t)n, "]:%u", p->size_bits);
}

static void describe(const struct isa_decoder *d, const struct isa_operands *o, char out[512])
{
	size_t n = (size_t)snprintf(out, 512, "%s", isa_mnemonic_name(d, o->mnemonic));
	if (o->condition != ISA_NO_CONDITION)
		n += (size_t)snprintf(out + n, 512 - n, "?%u", o->condition);
	n += (size_t)snprintf(out + n, 512 - n, " %x %x/%x", o->attributes, o->flags_read,
			      o->flags_written);
	for (unsigned i = 0; i < o->count; i++) {
		const struct isa_operand *p = &o->list[i];
		n += (size_t)snprintf(out + n, 512 - n, " %s", p->hidden ? "(" : "");
		assert_int_equal(i < o->shown, !p->hidden);
		if (p->kind == ISA_OPERAND_IMMEDIATE) {
			n += (size_t)snprintf(out + n, 512 - n, "r $%lld", (long long)p->value);
			continue;
		}
		n += (size_t)snprintf(out + n, 512 - n, "%s%s%s%s%s ",
				      p->access & ISA_ACCESS_READ ? "r" : "",
				      p->access & ISA_ACCESS_MAYBE_READ ? "R" : "",
				      p->access & ISA_ACCESS_WRITE ? "w" : "",
				      p->access & ISA_ACCESS_MAYBE_WRITE ? "W" : "",
				      !p->hidden && isa_operand_replaces(o, p) ? "!" : "");
		if (p->kind == ISA_OPERAND_MEMORY)
			n += add_memory(out + n, 512 - n, p);
		else
			n += (size_t)snprintf(out + n, 512 - n, p->first_bit ? "%s.8:%u" : "%s:%u",
					      isa_register_name(p->reg), p->size_bits);
		n += (size_t)snprintf(out + n, 512 - n, "%s", p->hidden ? ")" : "");
	}
}

static void test_table(void **state)
{
	(void)state;
	struct isa_decoder *d;
	assert_int_equal(isa_decoder_new(EM_X86_64, 64, ISA_SYNTAX_ATT, &d, NULL), 0);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const uint8_t *code = (const uint8_t *)table[i].bytes;
		struct isa_instruction in, fast;
		struct isa_operands o;
		char text[512];
		assert_true(isa_decode_operands(d, code, table[i].size, 0x1000, &in, &o));
		isa_decode(d, code, table[i].size, 0x1000, &fast);
		assert_int_equal(in.branch, fast.branch);
		assert_int_equal(in.size, table[i].size);
		describe(d, &o, text);
		assert_string_equal(text, table[i].text);
	}
	isa_decoder_free(d);
}

/* Both views agree on all bytes, and bad ones give nothing. */
static void test_any_bytes(void **state)
{
	(void)state;
	struct isa_decoder *d;
	uint32_t random = 1;
	assert_int_equal(isa_decoder_new(EM_X86_64, 64, ISA_SYNTAX_ATT, &d, NULL), 0);
	for (int i = 0; i < 200000; i++) {
		uint8_t code[16];
		struct isa_instruction in, fast;
		struct isa_operands o;
		for (int b = 0; b < 16; b++) {
			random = random * 1664525 + 1013904223;
			code[b] = (uint8_t)(random >> 24);
		}
		size_t size = 1 + random % 16;
		memset(&in, 0, sizeof(in));
		memset(&fast, 0, sizeof(fast));
		bool valid = isa_decode_operands(d, code, size, 0x1000, &in, &o);
		isa_decode(d, code, size, 0x1000, &fast);
		assert_int_equal(valid, fast.valid);
		assert_int_equal(in.size, fast.size);
		assert_int_equal(in.target, fast.target);
		assert_int_equal(in.data, fast.data);
		assert_in_range(in.size, 1, size);
		assert_true(valid || o.count == 0);
		for (unsigned k = 0; k < o.count; k++)
			assert_true(o.list[k].kind != ISA_OPERAND_REGISTER ||
				    o.list[k].reg < ISA_REG_COUNT);
	}
	isa_decoder_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_any_bytes),
	};
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

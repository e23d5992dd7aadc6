/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The way from a frame to its caller's, over memory of the test's making. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <string.h>
#include "bpf/wire_stacks.h"

#define STACK 0x7ffe00000000ull
#define CODE  0x400000ull
#define WORDS 40000

static uint64_t stack[WORDS];
static uint8_t code[4096];

static int host_read(void *to, wire_u32 size, wire_u64 address)
{
	if (address >= STACK && address + size <= STACK + sizeof(stack)) {
		memcpy(to, (char *)stack + (address - STACK), size);
		return 0;
	}
	if (address >= CODE && address + size <= CODE + sizeof(code)) {
		memcpy(to, code + (address - CODE), size);
		return 0;
	}
	return -1;
}

#define UNWIND_FUNCTION static inline
#include "bpf/unwind.h"

static struct wire_unwind_state at(uint64_t pc, unsigned word)
{
	struct wire_unwind_state u = {.pc = pc, .first = 1, .fp_known = 1, .exact = 1};

	u.reg[UNWIND_RSP] = STACK + 8 * word;
	return u;
}

/* What compilers make of most functions: the return address below the CFA. */
static struct wire_unwind_rule usual(int32_t size)
{
	return (struct wire_unwind_rule){.cfa = WIRE_CFA_REGISTER,
					 .cfa_reg = UNWIND_RSP,
					 .cfa_offset = size,
					 .ra = WIRE_LOCATION_AT_CFA,
					 .ra_offset = -8,
					 .fp = WIRE_LOCATION_SAME};
}

static void rules_lead_to_the_caller(void **state)
{
	struct wire_unwind_rule r = usual(32);
	struct wire_unwind_state u = at(CODE, 10);

	(void)state;
	stack[13] = CODE + 100;
	u.reg[UNWIND_RBP] = 5;
	assert_int_equal(unwind_follow_rule(&u, &r), -1);
	assert_int_equal(u.pc, CODE + 100);
	assert_int_equal(u.reg[UNWIND_RSP], STACK + 14 * 8);
	assert_int_equal(u.reg[UNWIND_RBP], 5);
	assert_false(u.exact);
	assert_false(u.first);

	/* Other registers are known in the first frame only. */
	u = at(CODE, 10);
	r.cfa_reg = 10;
	u.reg[10] = STACK + 11 * 8;
	stack[14] = CODE + 7;
	assert_int_equal(unwind_follow_rule(&u, &r), -1);
	assert_int_equal(u.pc, CODE + 7);
	assert_int_equal(unwind_follow_rule(&u, &r), WIRE_STACK_NO_RULE);

	/* A frame that aligned its stack: the CFA is in memory. */
	u = at(CODE, 10);
	r = (struct wire_unwind_rule){.cfa = WIRE_CFA_DEREF,
				      .cfa_reg = UNWIND_RBP,
				      .cfa_offset = -8,
				      .ra = WIRE_LOCATION_AT_CFA,
				      .ra_offset = -8,
				      .fp = WIRE_LOCATION_AT_REGISTER,
				      .fp_reg = UNWIND_RBP};
	u.reg[UNWIND_RBP] = STACK + 20 * 8;
	stack[19] = STACK + 30 * 8;
	stack[20] = 77;
	stack[29] = CODE + 9;
	assert_int_equal(unwind_follow_rule(&u, &r), -1);
	assert_int_equal(u.reg[UNWIND_RBP], 77);
	assert_int_equal(u.reg[UNWIND_RSP], STACK + 30 * 8);

	/* The second half of a stub has pushed an argument. */
	r = usual(8);
	r.cfa = WIRE_CFA_PLT;
	r.cfa_add = 11;
	stack[10] = CODE + 1;
	stack[11] = CODE + 2;
	u = at(CODE + 10, 10);
	assert_int_equal(unwind_follow_rule(&u, &r), -1);
	assert_int_equal(u.pc, CODE + 1);
	u = at(CODE + 11, 10);
	assert_int_equal(unwind_follow_rule(&u, &r), -1);
	assert_int_equal(u.pc, CODE + 2);
}

/* A frame whose base is rbx, which callees saved, or an interrupted one had. */
static void rbx_is_found_when_it_is_asked_for(void **state)
{
	struct wire_unwind_rule saves = usual(32), keeps = usual(16), asks = usual(24), handler;
	struct wire_unwind_state first = at(CODE, 10), u;

	(void)state;
	memset(stack, 0, sizeof(stack));
	saves.rbx = 2;
	asks.cfa_reg = UNWIND_RBX;
	asks.rbx = 3;
	first.rbx_known = 1;
	first.reg[UNWIND_RBX] = 7;
	stack[13] = stack[15] = stack[32] = CODE;
	stack[12] = STACK + 8 * 30;
	stack[30] = 77;
	u = first;
	assert_int_equal(unwind_follow_rule(&u, &saves), -1);
	assert_int_equal(unwind_follow_rule(&u, &keeps), -1);
	assert_int_equal(unwind_follow_rule(&u, &asks), -1);
	assert_int_equal(u.reg[UNWIND_RSP], STACK + 8 * 33);
	assert_int_equal(unwind_read_base(&u, &asks, &u.pc), 0);
	assert_int_equal(u.pc, 77);

	/* What no callee saved is in the register still. */
	u = first;
	u.reg[UNWIND_RBX] = STACK + 8 * 30;
	stack[11] = CODE;
	assert_int_equal(unwind_follow_rule(&u, &keeps), -1);
	assert_int_equal(unwind_follow_rule(&u, &asks), -1);
	assert_int_equal(u.reg[UNWIND_RSP], STACK + 8 * 33);

	/* Of what the kernel interrupted it is in the signal's frame. */
	handler = usual(32);
	handler.flags = WIRE_UNWIND_SIGNAL;
	handler.rbx = 16;
	stack[26] = STACK + 8 * 30;
	u = first;
	assert_int_equal(unwind_follow_rule(&u, &handler), -1);
	assert_int_equal(unwind_follow_rule(&u, &asks), -1);
	assert_int_equal(u.reg[UNWIND_RSP], STACK + 8 * 33);

	/* Not known, not to be had, and after code that has no rule. */
	saves.rbx = WIRE_UNWIND_RBX_LOST;
	u = first;
	assert_int_equal(unwind_follow_rule(&u, &saves), -1);
	assert_int_equal(unwind_follow_rule(&u, &asks), WIRE_STACK_NO_RULE);
	u = first;
	assert_int_equal(unwind_follow_rule(&u, &keeps), -1);
	u.rbx_at = STACK - 8;
	assert_int_equal(unwind_follow_rule(&u, &asks), WIRE_STACK_NOT_RESIDENT);
	code[95] = 0xe8;
	stack[20] = STACK + 8 * 40;
	stack[21] = CODE + 100;
	u = first;
	u.reg[UNWIND_RBP] = STACK + 8 * 20;
	assert_int_equal(unwind_follow_frame_pointer(&u), -1);
	assert_int_equal(unwind_follow_rule(&u, &asks), WIRE_STACK_NO_RULE);
	code[95] = 0;
}

/* A rule that the code told holds if it leads to a call. */
static void derived_rules_lead_to_calls(void **state)
{
	struct wire_unwind_rule r = usual(8);
	struct wire_unwind_state u = at(CODE, 10);

	(void)state;
	r.flags = WIRE_UNWIND_DERIVED;
	stack[10] = CODE + 100;
	assert_int_equal(unwind_follow_rule(&u, &r), WIRE_STACK_NO_RULE);
	code[95] = 0xe8;
	assert_int_equal(unwind_follow_rule(&u, &r), -1);
	assert_int_equal(u.pc, CODE + 100);
	/* Back to the goroutine's stack: by the thread's base, g, its m, and that one's curg. */
	u = at(CODE, 10);
	r.cfa = WIRE_CFA_THREAD;
	r.cfa_offset = -8;
	r.cfa_add = 0x30 | 0xc0 << 16;
	r.fp_offset = 0x38;
	assert_int_equal(unwind_follow_rule(&u, &r), WIRE_STACK_NO_RULE);
	u.thread = STACK + 8 * 100;
	stack[99] = STACK + 8 * 200;
	stack[206] = STACK + 8 * 300;
	stack[324] = STACK + 8 * 400;
	stack[407] = STACK + 8 * 5;
	stack[5] = CODE + 100;
	u.reg[UNWIND_RBP] = 5;
	assert_int_equal(unwind_follow_rule(&u, &r), -1);
	assert_int_equal(u.reg[UNWIND_RSP], STACK + 8 * 6);
	assert_int_equal(u.reg[UNWIND_RBP], 5);
	assert_int_equal(u.pc, CODE + 100);
	u.thread = STACK + 8 * WORDS + 16;
	assert_int_equal(unwind_follow_rule(&u, &r), WIRE_STACK_NOT_RESIDENT);
	code[95] = 0;
}

static void stacks_end_where_they_should(void **state)
{
	struct wire_unwind_rule r = usual(16);
	struct wire_unwind_state u = at(CODE, 10);

	(void)state;
	r.ra = WIRE_LOCATION_UNDEFINED;
	assert_int_equal(unwind_follow_rule(&u, &r), WIRE_STACK_COMPLETE);
	r = usual(16);
	stack[11] = 0;
	assert_int_equal(unwind_follow_rule(&u, &r), WIRE_STACK_COMPLETE);
	/* Nothing to be read. */
	u = at(CODE, WORDS);
	assert_int_equal(unwind_follow_rule(&u, &r), WIRE_STACK_NOT_RESIDENT);
	r = (struct wire_unwind_rule){0};
	assert_int_equal(unwind_follow_rule(&u, &r), WIRE_STACK_NO_RULE);
}

/* Each frame must be further out, so that no stack is followed for ever. */
static void loops_end(void **state)
{
	struct wire_unwind_rule r = usual(0);
	struct wire_unwind_state u = at(CODE, 10);
	int end = -1;

	(void)state;
	for (unsigned i = 0; i < WORDS; i++)
		stack[i] = CODE;
	assert_int_equal(unwind_follow_rule(&u, &r), WIRE_STACK_BAD_ADDRESS);
	r.cfa_offset = -64;
	assert_int_equal(unwind_follow_rule(&u, &r), WIRE_STACK_BAD_ADDRESS);
	/* After a signal it may be on another stack, but there the pages end too. */
	r.cfa_offset = 16;
	r.flags = WIRE_UNWIND_SIGNAL;
	for (unsigned i = 0; i < WORDS && end < 0; i++)
		end = unwind_follow_rule(&u, &r);
	assert_int_equal(end, WIRE_STACK_NOT_RESIDENT);
	assert_true(u.exact);
	/* A frame pointer to itself. */
	memset(code, 0x90, sizeof(code));
	code[95] = 0xe8;
	for (unsigned i = 0; i < WORDS; i += 2) {
		stack[i] = STACK + 8 * i;
		stack[i + 1] = CODE + 100;
	}
	u = at(CODE + 50, 10);
	u.reg[UNWIND_RBP] = STACK + 8 * 20;
	assert_int_equal(unwind_follow_frame_pointer(&u), -1);
	assert_int_equal(unwind_follow_frame_pointer(&u), WIRE_STACK_NO_RULE);
}

static void ten_thousand_frames_are_followed(void **state)
{
	struct wire_unwind_rule r = usual(24);
	struct wire_unwind_state u = at(CODE, 0);
	unsigned frames = 1;

	(void)state;
	for (unsigned i = 0; i < 10000; i++)
		stack[3 * i + 2] = i == 9999 ? 0 : CODE + 5;
	for (; unwind_follow_rule(&u, &r) < 0; frames++)
		;
	assert_int_equal(frames, 10000);
}

static void frame_pointers_are_followed_after_calls_only(void **state)
{
	struct wire_unwind_state u;

	(void)state;
	memset(code, 0x90, sizeof(code));
	code[95] = 0xe8; /* a call before 100 */
	stack[20] = STACK + 8 * 30;
	stack[21] = CODE + 100;
	u = at(CODE + 50, 10);
	u.reg[UNWIND_RBP] = STACK + 8 * 20;
	assert_int_equal(unwind_follow_frame_pointer(&u), -1);
	assert_int_equal(u.pc, CODE + 100);
	assert_int_equal(u.reg[UNWIND_RSP], STACK + 8 * 22);
	assert_int_equal(u.reg[UNWIND_RBP], STACK + 8 * 30);
	/* Its code was overwritten since: no call is there any more. */
	code[95] = 0x90;
	u = at(CODE + 50, 10);
	u.reg[UNWIND_RBP] = STACK + 8 * 20;
	assert_int_equal(unwind_follow_frame_pointer(&u), WIRE_STACK_NO_RULE);
	/* Below the stack pointer, or a number. */
	u.reg[UNWIND_RBP] = STACK + 8 * 9;
	assert_int_equal(unwind_follow_frame_pointer(&u), WIRE_STACK_NO_RULE);
	u.reg[UNWIND_RBP] = 12345;
	assert_int_equal(unwind_follow_frame_pointer(&u), WIRE_STACK_NO_RULE);
	u.reg[UNWIND_RBP] = 0;
	assert_int_equal(unwind_follow_frame_pointer(&u), WIRE_STACK_COMPLETE);
	/* What the caller of this frame has is not known. */
	u.fp_known = 0;
	assert_int_equal(unwind_follow_frame_pointer(&u), WIRE_STACK_NO_RULE);
}

static void methods_return_to_the_interpreter_that_jumped_to_them(void **state)
{
	static const uint8_t jdk_17[] = {0x48, 0x8b, 0x65, 0xf0, 0x48, 0xc7, 0x45, 0xf0},
			     jdk_21[] = {0x48, 0x8b, 0x4d, 0xf0, 0x48, 0x8d, 0x64, 0xcd};
	struct wire_unwind_state u;

	(void)state;
	stack[20] = STACK + 8 * 30;
	stack[21] = CODE + 100;
	for (int i = 0; i < 16; i++) {
		memset(code, 0x90, sizeof(code));
		memcpy(code + 100, i < 8 ? jdk_17 : jdk_21, 8);
		u = at(CODE + 50, 10);
		u.reg[UNWIND_RBP] = STACK + 8 * 20;
		assert_int_equal(unwind_follow_frame_pointer(&u), -1);
		assert_int_equal(u.pc, CODE + 100);
		code[100 + i % 8]++;
		u = at(CODE + 50, 10);
		u.reg[UNWIND_RBP] = STACK + 8 * 20;
		assert_int_equal(unwind_follow_frame_pointer(&u), WIRE_STACK_NO_RULE);
	}
}

static void the_return_address_is_found_at_either_end_of_a_function(void **state)
{
	static const uint8_t bare[][4] = {
		{0x55},			  /* push rbp */
		{0xc3},			  /* ret */
		{0xf3, 0x0f, 0x1e, 0xfa}, /* endbr64 */
		{0xff, 0x25},		  /* jmp [rip + ...] */
		{0xf2, 0xff, 0x25},	  /* the same with bnd */
		{0x68},			  /* push n */
	};
	struct wire_unwind_state u;

	(void)state;
	memset(code, 0x90, sizeof(code));
	code[95] = 0xe8;
	stack[10] = stack[11] = CODE + 100;
	for (unsigned i = 0; i < sizeof(bare) / sizeof(*bare); i++) {
		memcpy(code + 50, bare[i], 4);
		u = at(CODE + 50, 10);
		u.reg[UNWIND_RBP] = STACK + 8 * 20;
		assert_int_equal(unwind_follow_frame_pointer(&u), -1);
		assert_int_equal(u.pc, CODE + 100);
		assert_int_equal(u.reg[UNWIND_RSP], STACK + 8 * 11);
		assert_int_equal(u.reg[UNWIND_RBP], STACK + 8 * 20);
	}
	memcpy(code + 50, "\x48\x89\xe5", 3); /* mov rbp, rsp */
	stack[10] = STACK + 8 * 20;
	u = at(CODE + 50, 10);
	u.reg[UNWIND_RBP] = STACK + 8 * 20;
	assert_int_equal(unwind_follow_frame_pointer(&u), -1);
	assert_int_equal(u.reg[UNWIND_RSP], STACK + 8 * 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_lead_to_the_caller),
		cmocka_unit_test(rbx_is_found_when_it_is_asked_for),
		cmocka_unit_test(derived_rules_lead_to_calls),
		cmocka_unit_test(stacks_end_where_they_should),
		cmocka_unit_test(loops_end),
		cmocka_unit_test(ten_thousand_frames_are_followed),
		cmocka_unit_test(frame_pointers_are_followed_after_calls_only),
		cmocka_unit_test(methods_return_to_the_interpreter_that_jumped_to_them),
		cmocka_unit_test(the_return_address_is_found_at_either_end_of_a_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

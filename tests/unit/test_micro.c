/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Micro-operations and the interpreter: strips, edges, ends, and that nothing is written. That it
 * computes what the processor does is tests/system/interpret.sh's business.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <string.h>
#include "bpf/window.h"
#include "micro/interpret_host.h"
#include "micro/translate.h"

#define CODE  0x400000u
#define STACK 0x7000u

static struct {
	uint8_t stack[256]; /* at STACK */
	struct wire_strip strip;
	struct wire_micro micros[WIRE_STRIP_BYTES];
	struct window_record record;
	struct interpret_host *host; /* one for all, as in the kernel */
	struct interpret_registers r;
} t;

static int read_memory(void *context, void *to, size_t size, uint64_t address)
{
	(void)context;
	if (address < STACK || address - STACK > sizeof(t.stack) - size)
		return -1;
	memcpy(to, t.stack + (address - STACK), size);
	return 0;
}

static const struct wire_strip *find_strip(void *context, struct wire_strip_key key)
{
	(void)context;
	return key.slot == 7 && key.number == 4 ? &t.strip : NULL;
}

static const struct wire_micro *find_micro(void *context, uint32_t index)
{
	(void)context;
	return index < t.strip.count ? &t.micros[index] : NULL;
}

static int find_mapping(void *context, uint64_t address, uint32_t *ret_slot, uint64_t *ret_begin,
			uint64_t *ret_end, uint64_t *ret_shift)
{
	(void)context;
	if (address < CODE || address >= CODE + 8192)
		return WIRE_END_NO_FILE;
	*ret_slot = 7;
	*ret_begin = CODE;
	*ret_end = CODE + 8192;
	*ret_shift = 0x1000ull - CODE;
	return 0;
}

static void keep_transfer(void *context, struct wire_place from, struct wire_place to)
{
	(void)context;
	window_transfer(&t.record, from, to);
}

static void keep_load(void *context, struct wire_place at, uint64_t address)
{
	(void)context;
	window_load(&t.record, at, address);
}

static int make_host(void **state)
{
	static const struct interpret_calls calls = {
		NULL, read_memory, find_strip, find_micro, find_mapping, keep_transfer, keep_load};
	(void)state;
	return interpret_host_new(&calls, NULL, &t.host);
}

static int free_host(void **state)
{
	(void)state;
	interpret_host_free(t.host);
	return 0;
}

/* Interprets up to so many instructions of the code, which is the strip at file offset 0x1000. */
static void run(const char *code, size_t size, unsigned instructions)
{
	struct interpret_state end;
	struct micro_decoder *m;
	struct diag diag;
	struct micro_code source = {(const uint8_t *)code, 0x1000, size, NULL, 0};

	assert_int_equal(micro_decoder_new(EM_X86_64, &m, &diag), 0);
	micro_translate_strip(m, &source, 4, &t.strip, t.micros);
	micro_decoder_free(m);
	t.r.pc = CODE;
	t.r.gpr[4] = STACK + 128;
	window_begin(&t.record);
	interpret_host_begin(t.host, &t.r);
	interpret_host_get(t.host, &end);
	t.record.window.start = end.place;
	t.record.window.end_reason = interpret_host_run(t.host, instructions, NULL);
	interpret_host_get(t.host, &end);
	t.record.window.end = end.place;
	t.record.window.instructions = (uint16_t)end.instructions;
	t.r = end.registers;
}

#define RUN(code, instructions) run(code, sizeof(code) - 1, instructions)

static void expect_edge(unsigned i, unsigned from, unsigned to)
{
	assert_true(i < t.record.window.edge_count);
	assert_int_equal(t.record.window.edge[i].from, 0x1000 + from);
	assert_int_equal(t.record.window.edge[i].to, 0x1000 + to);
	assert_int_equal(t.record.window.edge[i].from_slot, 7);
	assert_int_equal(t.record.window.edge[i].to_slot, 7);
}

static void other_machines_are_refused(void **state)
{
	struct micro_decoder *m = NULL;
	struct diag diag;
	(void)state;
	assert_int_equal(micro_decoder_new(EM_AARCH64, &m, &diag), -EOPNOTSUPP);
	assert_null(m);
}

static void strips_index_their_instructions(void **state)
{
	/* nop; mov $imm, %rax; a byte that is no instruction; nop */
	static const char code[] = "\x90\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08\x06\x90";
	(void)state;
	RUN(code, 1);
	assert_int_equal(t.strip.count, 3);
	assert_int_equal(t.strip.starts[0], 1 | 1 << 1 | 1 << 12);
	assert_int_equal(t.strip.rank[1], 3);
	assert_int_equal(t.micros[1].length & 15, 10);
}

static void known_starts_win(void **state)
{
	/* The first instruction reaches over a known start. */
	static const uint8_t code[] = {0x48, 0xb8, 1, 2, 0x90, 0x90, 0xc3, 0x90, 0x90, 0x90};
	uint64_t starts[] = {0x1000, 0x1004};
	struct micro_code source = {code, 0x1000, sizeof(code), starts, 2};
	struct micro_decoder *m;
	struct diag diag;
	(void)state;
	assert_int_equal(micro_decoder_new(EM_X86_64, &m, &diag), 0);
	assert_int_equal(micro_translate_strip(m, &source, 4, &t.strip, t.micros), 6);
	assert_int_equal(t.strip.starts[0], 0x3f0);
	micro_decoder_free(m);
}

static void branches_calls_and_returns_are_edges(void **state)
{
	/* cmp $5, %eax; jne +1; nop; call +1; hlt; ret */
	static const char code[] = "\x83\xf8\x05\x75\x01\x90\xe8\x01\x00\x00\x00\xf4\xc3";
	(void)state;
	t.r.gpr[0] = 5;
	RUN(code, 64);
	assert_int_equal(t.record.window.end_reason, WIRE_END_FAULT);
	assert_int_equal(t.record.window.instructions, 5);
	assert_int_equal(t.record.window.edge_count, 3);
	expect_edge(0, 3, 5);
	expect_edge(1, 6, 12);
	expect_edge(2, 12, 11);
	assert_int_equal(t.record.window.start.offset, 0x1000);
	assert_int_equal(t.record.window.end.offset, 0x100b);
	t.r.gpr[0] = 6;
	RUN(code, 2);
	expect_edge(0, 3, 6);
	assert_int_equal(t.record.window.end_reason, WIRE_END_FULL);
}

/* Each looks at its own width of rcx; jcxz does not exist in 64-bit code. */
static void branches_on_the_counter_have_its_width(void **state)
{
	/* jecxz +1; nop; nop, and the same with jrcxz */
	static const char jecxz[] = "\x67\xe3\x01\x90\x90", jrcxz[] = "\xe3\x01\x90\x90";
	(void)state;
	t.r.gpr[1] = 1ull << 32;
	RUN(jecxz, 2);
	assert_int_equal(t.record.window.edge_count, 1);
	expect_edge(0, 0, 4);
	RUN(jrcxz, 2);
	assert_int_equal(t.record.window.edge_count, 1);
	expect_edge(0, 0, 2);
	t.r.gpr[1] = 0;
	RUN(jrcxz, 2);
	expect_edge(0, 0, 3);
	t.r.gpr[1] = 1ull << 31;
	RUN(jecxz, 2);
	expect_edge(0, 0, 3);
}

static void stores_are_seen_and_not_made(void **state)
{
	/* movl $7, -2(%rsp), over two words; add $1, -2(%rsp); cmp $8, -2(%rsp); je +0 */
	static const char code[] = "\xc7\x44\x24\xfe\x07\x00\x00\x00\x83\x44\x24\xfe\x01"
				   "\x83\x7c\x24\xfe\x08\x74\x02\x90\x90\x90";
	static const uint8_t untouched[sizeof(t.stack)];
	(void)state;
	RUN(code, 4);
	expect_edge(0, 18, 22);
	assert_memory_equal(t.stack, untouched, sizeof(untouched));
}

/* As many transfers as instructions, and as many stores. */
static void a_window_has_room_for_all_it_does(void **state)
{
	static const char jump[] = "\xeb\xfe"; /* to itself */
	char pushes[WIRE_WINDOW_INSTRUCTIONS + 1];
	(void)state;
	RUN(jump, WIRE_WINDOW_INSTRUCTIONS);
	assert_int_equal(t.record.window.end_reason, WIRE_END_FULL);
	assert_int_equal(t.record.window.edge_count, WIRE_WINDOW_INSTRUCTIONS);
	expect_edge(WIRE_WINDOW_INSTRUCTIONS - 1, 0, 0);
	memset(pushes, 0x50, sizeof(pushes));
	run(pushes, sizeof(pushes), WIRE_WINDOW_INSTRUCTIONS);
	assert_int_equal(t.record.window.end_reason, WIRE_END_FULL);
}

/* What a string operation repeats takes time in an interrupt. */
static void string_operations_are_bounded(void **state)
{
	/* mov $64, %ecx; mov %rsp, %rdi; rep stosb; jmp to the begin */
	static const char fill[] = "\xb9\x40\x00\x00\x00\x48\x89\xe7\xf3\xaa\xeb\xf4";
	(void)state;
	RUN(fill, WIRE_WINDOW_INSTRUCTIONS);
	assert_int_equal(t.record.window.end_reason, WIRE_END_STORES);
	assert_int_equal(t.record.window.edge_count, WIRE_WINDOW_INSTRUCTIONS / 64);
}

static void unknown_values_end_only_where_they_matter(void **state)
{
	/* ucomisd %xmm1, %xmm0; mov %eax, %ecx; setp %al; jp */
	static const char floats[] = "\x66\x0f\x2e\xc1\x89\xc1\x0f\x9a\xc0\x7a\x00";
	/* mov (%rbx), %eax, which is not there; xor %eax, %eax; je +0 */
	static const char missing[] = "\x8b\x03\x31\xc0\x74\x00\x90";
	/* The same without the xor, and a store to where it says. */
	static const char store[] = "\x48\x8b\x03\x89\x08";
	(void)state;
	RUN(floats, 64);
	assert_int_equal(t.record.window.end_reason, WIRE_END_UNKNOWN);
	assert_int_equal(t.record.window.instructions, 3);
	t.r.gpr[3] = 0x123456;
	RUN(missing, 3);
	assert_int_equal(t.record.window.end_reason, WIRE_END_FULL);
	assert_int_equal(t.record.window.edge_count, 1);
	RUN(store, 64);
	assert_int_equal(t.record.window.end_reason, WIRE_END_UNKNOWN);
	assert_int_equal(t.record.window.instructions, 1);
}

/* The first load and one that chance chooses, each time; not fixed ones, nor the stack's. */
static void loads_that_may_miss_are_touches(void **state)
{
	/* mov 8(%rsp), %rcx; mov 0(%rip), %rcx; mov (%rax), %rcx; add $64, %rax; mov %rcx, (%rsp);
	 * lea (%rax), %rdx; jmp to the beginning */
	static const char loop[] = "\x48\x8b\x4c\x24\x08\x48\x8b\x0d\x00\x00\x00\x00"
				   "\x48\x8b\x08\x48\x83\xc0\x40\x48\x89\x0c\x24"
				   "\x48\x8d\x10\xeb\xe4";
	/* mov (%rax), %rcx; mov (%rdx), %rsi; and so again, eight times */
	static const char pairs[] = "\x48\x8b\x08\x48\x8b\x32\x48\x8b\x08\x48\x8b\x32"
				    "\x48\x8b\x08\x48\x8b\x32\x48\x8b\x08\x48\x8b\x32";
	unsigned others = 0;
	(void)state;
	t.r.gpr[0] = STACK;
	RUN(loop, WIRE_WINDOW_INSTRUCTIONS);
	assert_int_equal(t.record.window.touch_count, WIRE_WINDOW_TOUCHES);
	for (unsigned i = 0; i < WIRE_WINDOW_TOUCHES; i++) {
		assert_int_equal(t.record.window.touch[i].at.slot, 7);
		assert_int_equal(t.record.window.touch[i].at.offset, 0x100c);
		assert_int_equal(t.record.window.touch[i].line, STACK / 64 + i);
	}
	t.r.gpr[2] = STACK + 64;
	for (unsigned i = 0; i < 64; i++) {
		t.r.gpr[0] = STACK;
		RUN(pairs, 8);
		assert_in_range(t.record.window.touch_count, 1, 2);
		assert_int_equal(t.record.window.touch[0].at.offset, 0x1000);
		others += t.record.window.touch_count == 2;
	}
	assert_in_range(others, 10, 54);
}

static void ends_have_their_reasons(void **state)
{
	static const struct {
		const char *code;
		size_t size;
		enum wire_end reason;
	} cases[] = {
		{"\x0f\x05", 2, WIRE_END_SYSTEM},	       /* syscall */
		{"\x0f\x0b", 2, WIRE_END_FAULT},	       /* ud2 */
		{"\x31\xc9\xf7\xf1", 4, WIRE_END_FAULT},       /* div by zero */
		{"\x0f\xae\x20", 3, WIRE_END_INSTRUCTION},     /* xsave */
		{"\x90", 1, WIRE_END_COLD},		       /* and on */
		{"\xe9\x00\x08\x00\x00", 5, WIRE_END_COLD},    /* to another strip */
		{"\xe9\x00\x00\x00\x01", 5, WIRE_END_NO_FILE}, /* out of the mapping */
		{"\x48\xb9\x00\x01\x00\x00\x00\x00\x00\x00\xf3\xaa", 12, WIRE_END_STORES},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		run(cases[i].code, cases[i].size, 64);
		assert_int_equal(t.record.window.end_reason, cases[i].reason);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_machines_are_refused),
		cmocka_unit_test(strips_index_their_instructions),
		cmocka_unit_test(known_starts_win),
		cmocka_unit_test(branches_calls_and_returns_are_edges),
		cmocka_unit_test(branches_on_the_counter_have_its_width),
		cmocka_unit_test(stores_are_seen_and_not_made),
		cmocka_unit_test(a_window_has_room_for_all_it_does),
		cmocka_unit_test(string_operations_are_bounded),
		cmocka_unit_test(unknown_values_end_only_where_they_matter),
		cmocka_unit_test(loads_that_may_miss_are_touches),
		cmocka_unit_test(ends_have_their_reasons),
	};
	return cmocka_run_group_tests(tests, make_host, free_host);
}

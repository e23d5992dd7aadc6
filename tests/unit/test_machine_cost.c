/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "machine/cost.h"

#define PREPARE(m, bytes, in) \
	machine_prepare(m, (const uint8_t *)(bytes), sizeof(bytes) - 1, 0x1000, in)

static struct machine_model *open_model(const char *core, enum machine_source source)
{
	struct machine_model *m = NULL;
	struct diag diag;
	if (machine_model_new(machine_core_by_name(core), source, &m, &diag))
		return NULL;
	return m;
}

static bool has(const uint8_t *list, unsigned count, unsigned reg)
{
	return memchr(list, (int)reg, count) != NULL;
}

static void test_links(void **state)
{
	struct machine_model *m = open_model("zen4", MACHINE_SOURCE_BUILTIN);
	struct machine_instruction in;
	(void)state;
	/* add 8(%rsi,%rcx,4),%rax */
	assert_true(PREPARE(m, "\x48\x03\x44\x8e\x08", &in));
	assert_int_equal(in.size, 5);
	assert_int_equal(in.address_count, 2);
	assert_true(has(in.reads, 2, 6) && has(in.reads, 2, 1));
	assert_true(has(in.reads + 2, in.read_count - 2u, 0));
	assert_true(has(in.writes, in.write_count, 0));
	assert_true(has(in.writes, in.write_count, ISA_REG_FLAGS));
	assert_true(has(in.writes, in.write_count, MACHINE_REG_STATUS));
	assert_int_equal(in.traits, MACHINE_LOADS);
	assert_int_equal(in.memory_value, 8);
	assert_int_equal(in.memory_bytes, 8);
	/* dec %rax: keeps the carry */
	assert_true(PREPARE(m, "\x48\xff\xc8", &in));
	assert_false(has(in.writes, in.write_count, ISA_REG_FLAGS));
	assert_true(has(in.writes, in.write_count, MACHINE_REG_STATUS));
	assert_int_equal(in.adds, -1);
	assert_int_equal(in.adds_to, 0);
	/* mov %al,%cl: the rest of rcx stays */
	assert_true(PREPARE(m, "\x88\xc1", &in));
	assert_true(has(in.reads, in.read_count, 1));
	/* push %rbx: the front end keeps the stack pointer */
	assert_true(PREPARE(m, "\x53", &in));
	assert_false(has(in.reads, in.read_count, 4) || has(in.writes, in.write_count, 4));
	assert_int_equal(in.traits, MACHINE_STACK | MACHINE_STORES);
	assert_int_equal(in.adds, -8);
	/* xor %eax,%eax reads nothing; nor does a lea of memory load */
	assert_true(PREPARE(m, "\x31\xc0", &in));
	assert_int_equal(in.read_count, 0);
	assert_true(in.traits & MACHINE_ZERO);
	assert_true(PREPARE(m, "\x48\x8d\x44\x8e\x08", &in));
	assert_int_equal(in.traits, 0);
	assert_int_equal(in.address_count, 0);
	assert_int_equal(in.read_count, 2);
	machine_model_free(m);
}

static void test_traits(void **state)
{
	struct machine_model *m = open_model("zen4", MACHINE_SOURCE_BUILTIN);
	static const struct {
		const char *bytes;
		size_t size;
		unsigned traits;
	} table[] = {
		{"\x48\x89\xc8", 3, MACHINE_ELIMINATED},		     /* mov %rcx,%rax */
		{"\x74\x00", 2, MACHINE_BRANCH | MACHINE_CONDITIONAL},	     /* je */
		{"\xc3", 1, MACHINE_BRANCH | MACHINE_STACK | MACHINE_LOADS}, /* ret */
		{"\xe8\x00\x00\x00\x00", 5, MACHINE_BRANCH | MACHINE_STACK | MACHINE_STORES},
		{"\xf0\x48\x01\x07", 4, MACHINE_LOCKED | MACHINE_LOADS | MACHINE_STORES},
		{"\x0f\xae\xf0", 3, MACHINE_FENCE | MACHINE_SERIAL}, /* mfence */
		{"\x0f\xae\xf8", 3, 0},				     /* sfence */
		{"\x0f\xae\xe8", 3, MACHINE_FENCE | MACHINE_SERIAL}, /* lfence */
		{"\x0f\xa2", 2, MACHINE_SERIAL},		     /* cpuid */
		{"\xf7\xf1", 2, MACHINE_DIVIDES},		     /* div %ecx */
		{"\xf2\x0f\x5e\xc1", 4, MACHINE_DIVIDES},	     /* divsd */
		{"\x0f\x18\x0f", 3, MACHINE_PREFETCH | MACHINE_LOADS},
		{"\x0f\x28\x07", 3, MACHINE_LOADS | MACHINE_VECTOR_LOAD}, /* movaps (%rdi) */
	};
	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct machine_instruction in;
		assert_true(
			machine_prepare(m, (const uint8_t *)table[i].bytes, table[i].size, 0, &in));
		assert_int_equal(in.traits, table[i].traits);
	}
	machine_model_free(m);
}

static bool fuse(struct machine_model *m, const char *first, size_t n, const char *jump)
{
	struct machine_instruction list[2];
	machine_prepare(m, (const uint8_t *)first, n, 0x1000, &list[0]);
	machine_prepare(m, (const uint8_t *)jump, 2, 0x1000 + n, &list[1]);
	machine_fuse(m, list, 2);
	assert_int_equal(!(list[0].traits & MACHINE_FUSES), !(list[1].traits & MACHINE_FUSED));
	return list[0].traits & MACHINE_FUSES;
}

static void test_fusion(void **state)
{
	struct machine_model *intel = open_model("skylake", MACHINE_SOURCE_BUILTIN);
	struct machine_model *zen2 = open_model("zen2", MACHINE_SOURCE_BUILTIN);
	struct machine_model *zen4 = open_model("zen4", MACHINE_SOURCE_BUILTIN);
	(void)state;
	assert_true(fuse(intel, "\x48\x39\xc8", 3, "\x74\x00"));  /* cmp, je */
	assert_false(fuse(intel, "\x48\x39\xc8", 3, "\x78\x00")); /* cmp, js */
	assert_true(fuse(intel, "\x48\x85\xc0", 3, "\x78\x00"));  /* test, js */
	assert_true(fuse(intel, "\x48\xff\xc8", 3, "\x75\x00"));  /* dec, jne */
	assert_false(fuse(intel, "\x48\xff\xc8", 3, "\x72\x00")); /* dec, jb: old carry */
	assert_true(fuse(intel, "\x48\x39\x07", 3, "\x74\x00"));  /* cmp to memory, je */
	assert_false(fuse(intel, "\x83\x3f\x05", 3, "\x74\x00")); /* memory, immediate */
	assert_false(fuse(intel, "\x48\x09\xc8", 3, "\x74\x00")); /* or, je */
	assert_false(fuse(intel, "\x48\x01\x07", 3, "\x74\x00")); /* add to memory */
	assert_false(fuse(intel, "\x48\x89\xc8", 3, "\x74\x00")); /* mov, je */
	assert_true(fuse(zen4, "\x48\x09\xc8", 3, "\x74\x00"));
	assert_false(fuse(zen2, "\x48\xff\xc8", 3, "\x75\x00"));
	assert_true(fuse(zen2, "\x48\x39\xc8", 3, "\x78\x00"));
	machine_model_free(intel);
	machine_model_free(zen2);
	machine_model_free(zen4);
}

static unsigned count_ports(uint64_t ports)
{
	return (unsigned)__builtin_popcountll(ports);
}

/* What LLVM's models have wrong, on each core: doc/machine.md. */
static void test_corrections(void **state)
{
	const struct machine_core *core;
	(void)state;
	for (size_t i = 0; (core = machine_core_at(i)); i++) {
		struct machine_model *m = open_model(core->name, MACHINE_SOURCE_LLVM);
		struct machine_instruction in;
		const struct machine_cost *c;
		if (!m)
			skip();
		PREPARE(m, "\x31\xc0", &in); /* xor %eax,%eax */
		c = machine_cost_of(m, &in);
		assert_int_equal(c->slots, 1);
		assert_int_equal(c->latency, 0);
		assert_int_equal(c->work_uses, 0);
		PREPARE(m, "\x48\x83\xc0\x01", &in); /* add $1,%rax */
		assert_int_equal(machine_cost_of(m, &in)->slots, 1);
		PREPARE(m, "\x48\x89\xc8", &in); /* mov %rcx,%rax */
		assert_int_equal(machine_cost_of(m, &in)->slots, 1);
		PREPARE(m, "\xeb\x00", &in); /* jmp */
		c = machine_cost_of(m, &in);
		assert_true(c->slots == 1 && c->work_uses == 1);
		PREPARE(m, "\x85\xc0", &in); /* test %eax,%eax */
		assert_int_equal(machine_cost_of(m, &in)->latency, 1);
		PREPARE(m, "\x48\xf7\xf1", &in); /* div %rcx */
		c = machine_cost_of(m, &in);
		assert_int_equal(c->latency, core->division64_cycles);
		assert_int_equal(count_ports(c->divider), 1);
		PREPARE(m, "\x48\x89\x07", &in); /* mov %rax,(%rdi) */
		c = machine_cost_of(m, &in);
		assert_true(c->slots == 1 && c->stores == 1 && !c->loads);
		PREPARE(m, "\x48\x03\x07", &in); /* add (%rdi),%rax: fused, one cycle of work */
		c = machine_cost_of(m, &in);
		assert_true(c->slots == 1 && c->load_uses == 1 && c->work_uses == 1);
		assert_int_equal(c->latency, 1);
		PREPARE(m, "\x0f\x58\x07", &in); /* addps (%rdi),%xmm0 */
		c = machine_cost_of(m, &in);
		assert_true(c->slots == 1 && c->load_uses && c->work_uses);
		assert_true(c->latency >= 2 && c->latency <= 4);
		PREPARE(m, "\x0f\x28\x07", &in); /* movaps (%rdi),%xmm0: nothing but the load */
		c = machine_cost_of(m, &in);
		assert_true(c->loads == 1 && c->latency == 0);
		machine_model_free(m);
	}
}

static void test_unlamination(void **state)
{
	struct machine_model *m = open_model("skylake", MACHINE_SOURCE_LLVM);
	struct machine_instruction in;
	(void)state;
	if (!m)
		skip();
	PREPARE(m, "\xc5\xfc\x58\x07", &in); /* vaddps (%rdi),%ymm0,%ymm0 */
	assert_int_equal(machine_cost_of(m, &in)->slots, 1);
	PREPARE(m, "\xc5\xfc\x58\x04\x37", &in); /* vaddps (%rdi,%rsi),%ymm0,%ymm0 */
	assert_int_equal(machine_cost_of(m, &in)->slots, 2);
	PREPARE(m, "\x0f\x58\x04\x37", &in); /* addps (%rdi,%rsi),%xmm0 */
	assert_int_equal(machine_cost_of(m, &in)->slots, 1);
	machine_model_free(m);
}

static void test_source(void **state)
{
	struct machine_model *m = open_model("sapphirerapids", MACHINE_SOURCE_BEST);
	struct machine_model *b = open_model("sapphirerapids", MACHINE_SOURCE_BUILTIN);
	(void)state;
	assert_non_null(m);
	assert_true(!strncmp(machine_model_source(m), "LLVM ", 5) ||
		    !strncmp(machine_model_source(m), "built-in", 8));
	assert_true(!strncmp(machine_model_source(b), "built-in", 8));
	machine_model_free(m);
	machine_model_free(b);
	machine_model_free(NULL);
}

/* Any bytes give something that can be simulated; the same bytes the same. */
static void test_garbage(void **state)
{
	static const enum machine_source sources[] = {MACHINE_SOURCE_BUILTIN, MACHINE_SOURCE_BEST};
	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct machine_model *m = open_model("zen5", sources[k]);
		struct machine_counters counters;
		uint64_t x = 12345;
		for (int i = 0; i < 20000; i++) {
			struct machine_instruction in, again;
			uint8_t code[15];
			for (size_t j = 0; j < sizeof(code); j++) {
				x = x * 6364136223846793005u + 1442695040888963407u;
				code[j] = (uint8_t)(x >> 56);
			}
			size_t size = 1 + (x >> 20) % sizeof(code);
			bool valid = machine_prepare(m, code, size, 0x1000, &in);
			assert_true(in.size >= 1 && in.size <= size);
			assert_true(in.read_count <= MACHINE_READS_MAX &&
				    in.address_count <= in.read_count &&
				    in.write_count <= MACHINE_WRITES_MAX);
			for (unsigned r = 0; r < in.read_count; r++)
				assert_true(in.reads[r] < MACHINE_REG_COUNT);
			const struct machine_cost *c = machine_cost_of(m, &in);
			assert_true(c->slots >= 1);
			assert_true(c->load_uses + c->work_uses + c->store_uses <=
				    MACHINE_USES_MAX);
			assert_int_equal(machine_prepare(m, code, size, 0x1000, &again), valid);
			assert_int_equal(in.cost, again.cost);
		}
		machine_read_counters(m, &counters);
		assert_true(counters.forms > 100 && counters.forms_refused == 0);
		machine_model_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_links),	     cmocka_unit_test(test_traits),
		cmocka_unit_test(test_fusion),	     cmocka_unit_test(test_corrections),
		cmocka_unit_test(test_unlamination), cmocka_unit_test(test_source),
		cmocka_unit_test(test_garbage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "machine/model.h"
#include "machine/ports.h"
#include "machine/simulate.h"

/* With built-in costs, so that results are the same with and without LLVM. */
struct bench {
	struct machine_model *model;
	struct machine_simulator *simulator;
	struct machine_instruction list[MACHINE_LIST_MAX];
	struct machine_head heads[MACHINE_LIST_MAX];
	struct machine_steady steady;
	size_t count;
};

static struct bench bench;

static struct bench *open_bench(const char *core, const struct machine_plugins *plugins)
{
	memset(&bench, 0, sizeof(bench));
	assert_int_equal(machine_model_new(machine_core_by_name(core), MACHINE_SOURCE_BUILTIN,
					   &bench.model, NULL),
			 0);
	assert_int_equal(machine_simulator_new(bench.model, plugins, &bench.simulator), 0);
	return &bench;
}

static void close_bench(struct bench *b)
{
	machine_simulator_free(b->simulator);
	machine_model_free(b->model);
}

static void prepare(struct bench *b, const char *code, size_t size)
{
	b->count = 0;
	for (size_t at = 0; at < size;) {
		machine_prepare(b->model, (const uint8_t *)code + at, size - at, 0x1000 + at,
				&b->list[b->count]);
		at += b->list[b->count++].size;
	}
	machine_fuse(b->model, b->list, b->count);
}

static double steady(struct bench *b, const char *code, size_t size, enum machine_repeat repeat)
{
	double sum = 0;
	prepare(b, code, size);
	assert_int_equal(
		machine_head_times(b->simulator, b->list, b->count, repeat, b->heads, &b->steady),
		0);
	for (size_t i = 0; i < b->count; i++) {
		sum += b->heads[i].head_cycles;
		assert_true(b->heads[i].stall_cycles <= b->heads[i].head_cycles + 1e-9);
		assert_true(b->heads[i].cause < (int32_t)b->count);
	}
	assert_true(sum > b->steady.cycles - 1e-6 && sum < b->steady.cycles + 1e-6);
	return b->steady.cycles;
}

#define LOOP(b, code) steady(b, code, sizeof(code) - 1, MACHINE_LOOP)
#define PATH(b, code) steady(b, code, sizeof(code) - 1, MACHINE_PATH)

#define ADD_CHAIN  "\x48\x01\xc8"     /* add %rcx,%rax */
#define IMUL_CHAIN "\x48\x0f\xaf\xc1" /* imul %rcx,%rax */
#define LOAD_CHAIN "\x48\x8b\x36"     /* mov (%rsi),%rsi */
#define NOP	   "\x90"
#define COUNT_DOWN "\x48\xff\xcf\x75\x00" /* dec %rdi, jne */

static void test_chains(void **state)
{
	const struct machine_core *core;
	(void)state;
	for (size_t i = 0; (core = machine_core_at(i)); i++) {
		struct bench *b = open_bench(core->name, NULL);
		assert_true(LOOP(b, ADD_CHAIN ADD_CHAIN ADD_CHAIN ADD_CHAIN COUNT_DOWN) == 4);
		assert_int_equal(b->steady.bound, MACHINE_BOUND_DEPENDENCY);
		assert_true(b->steady.settled && !b->steady.throughput);
		/* Each waits for the one before it; the first for the last of the round before. */
		assert_int_equal(b->heads[1].cause, 0);
		assert_int_equal(b->heads[1].cause_distance, 0);
		assert_int_equal(b->heads[0].cause, 3);
		assert_int_equal(b->heads[0].cause_distance, 1);
		assert_int_equal(b->heads[0].cause_register, 0);
		assert_true(LOOP(b, IMUL_CHAIN COUNT_DOWN) == 3);
		assert_true(b->heads[0].head_cycles == 3 && b->heads[1].head_cycles == 0);
		assert_true(LOOP(b, LOAD_CHAIN COUNT_DOWN) == core->l1_cycles);
		/* The same as a path hides the latency. */
		assert_true(PATH(b, LOAD_CHAIN COUNT_DOWN) < core->l1_cycles);
		close_bench(b);
	}
}

static void test_width(void **state)
{
	struct bench *b = open_bench("skylake", NULL);
	(void)state;
	/* Sixteen operations, four a cycle; the pair that ends them takes a cycle of its own. */
	double cycles =
		LOOP(b, NOP NOP NOP NOP NOP NOP NOP NOP NOP NOP NOP NOP NOP NOP NOP COUNT_DOWN);
	assert_true(cycles >= 4 && cycles < 4.5);
	assert_true(b->steady.throughput);
	assert_int_equal(b->steady.slots, 16);
	assert_int_equal(b->heads[16].slots, 0); /* fused */
	close_bench(b);
	b = open_bench("sapphirerapids", NULL);
	cycles = LOOP(b, NOP NOP NOP NOP NOP NOP NOP NOP NOP NOP NOP NOP NOP NOP NOP COUNT_DOWN);
	assert_true(cycles >= 16 / 6.0 - 1e-6 && cycles <= 3);
	close_bench(b);
}

static void test_ports(void **state)
{
	struct bench *b = open_bench("skylake", NULL);
	(void)state;
	/* Three multiplications that do not depend on each other share the one port. */
	double cycles = LOOP(b, "\x48\x6b\xc1\x03\x48\x6b\xd1\x03\x4c\x6b\xc1\x03" COUNT_DOWN);
	assert_true(cycles == 3);
	assert_int_equal(b->steady.bound, MACHINE_BOUND_PORT);
	assert_int_equal(UINT64_C(1) << b->heads[0].port,
			 machine_translate_ports(b->model, 1 << 1)); /* p1 */
	/* div %ecx and what it needs: the divider's own time, whatever the dependencies. */
	cycles = LOOP(b, "\xb8\x00\x00\x00\x00\x31\xd2\xf7\xf1" COUNT_DOWN);
	assert_true(cycles == 6);
	assert_int_equal(b->steady.bound, MACHINE_BOUND_DIVIDER);
	close_bench(b);
}

static void test_forwarding(void **state)
{
	struct bench *b = open_bench("skylake", NULL);
	/* mov %rax,8(%rsp); mov 8(%rsp),%rax */
	static const char through[] = "\x48\x89\x44\x24\x08\x48\x8b\x44\x24\x08" COUNT_DOWN;
	/* the load is at 16(%rsp) */
	static const char apart[] = "\x48\x89\x44\x24\x08\x48\x8b\x44\x24\x10" COUNT_DOWN;
	/* push %rax; pop %rax */
	static const char stack[] = "\x50\x58" COUNT_DOWN;
	/* mov %al,8(%rsp); mov 8(%rsp),%rax: more than was stored */
	static const char partial[] = "\x88\x44\x24\x08\x48\x8b\x44\x24\x08" COUNT_DOWN;
	(void)state;
	assert_true(LOOP(b, through) >= 5);
	assert_int_equal(b->steady.bound, MACHINE_BOUND_FORWARD);
	assert_int_equal(b->heads[1].cause, 0);
	assert_true(LOOP(b, apart) < 3);
	assert_true(LOOP(b, stack) >= 5);
	assert_true(LOOP(b, partial) > LOOP(b, through) + 3);
	close_bench(b);
	b = open_bench("zen4", NULL);
	assert_true(LOOP(b, through) <= 1.5); /* renamed */
	close_bench(b);
}

/* What was measured of Golden Cove (doc/machine.md). */
static void test_golden_cove(void **state)
{
	struct bench *b = open_bench("sapphirerapids", NULL);
	/* add %rcx,64(%rsi): forwarded; addq $1,64(%rsi): renamed */
	static const char update[] = "\x48\x01\x4e\x40" COUNT_DOWN;
	static const char step[] = "\x48\x83\x46\x40\x01" COUNT_DOWN;
	/* mov %rax,64(%rsi); movzwl 64(%rsi),%eax; and mov 64(%rsi),%eax */
	static const char extends[] = "\x48\x89\x46\x40\x0f\xb7\x46\x40" COUNT_DOWN;
	static const char part[] = "\x48\x89\x46\x40\x8b\x46\x40" COUNT_DOWN;
	/* mov %rax,64(%rsi); mov %rcx,72(%rsi), or 128(%rsi), or a vector at 40(%rsi) */
	static const char line[] = "\x48\x89\x46\x40\x48\x89\x4e\x48" COUNT_DOWN;
	static const char lines[] = "\x48\x89\x46\x40\x48\x89\x8e\x80\x00\x00\x00" COUNT_DOWN;
	static const char split[] = "\xc5\xfc\x11\x46\x28" COUNT_DOWN;
	/* lea 64(%rax),%rax; lea 64(%rax,%rcx),%rax; lea (%rax,%rcx,4),%rax */
	static const char sum[] = "\x48\x8d\x40\x40" COUNT_DOWN;
	static const char three[] = "\x48\x8d\x44\x08\x40\x48\x8d\x44\x08\x40" COUNT_DOWN;
	static const char scaled[] = "\x48\x8d\x04\x88" COUNT_DOWN;
	/* addpd %xmm1,%xmm0, twice; and mulpd between two of them */
	static const char sums[] = "\x66\x0f\x58\xc1\x66\x0f\x58\xc1" COUNT_DOWN;
	static const char mixed[] = "\x66\x0f\x58\xc1\x66\x0f\x59\xc1" COUNT_DOWN;
	/* add $5,%rax; shl $3,%rax */
	static const char owed[] = "\x48\x83\xc0\x05\x48\xc1\xe0\x03" COUNT_DOWN;
	/* movzbl %al,%ecx; movzbl %cl,%eax; shl $3,%rax */
	static const char extended[] = "\x0f\xb6\xc8\x0f\xb6\xc1\x48\xc1\xe0\x03" COUNT_DOWN;
	/* bswap %rax, twice */
	static const char swaps[] = "\x48\x0f\xc8\x48\x0f\xc8" COUNT_DOWN;
	(void)state;
	assert_true(LOOP(b, update) == 7.25 && LOOP(b, step) == 1);
	assert_true(LOOP(b, extends) == 5 && LOOP(b, part) == 1);
	assert_true(LOOP(b, line) == 1 && LOOP(b, lines) == 2 && LOOP(b, split) == 2);
	assert_true(LOOP(b, sum) == 1 && LOOP(b, three) == 2 && LOOP(b, scaled) == 2);
	assert_true(LOOP(b, sums) == 4 && LOOP(b, mixed) == 7);
	assert_true(LOOP(b, owed) == 3 && LOOP(b, extended) == 1 && LOOP(b, swaps) == 4);
	close_bench(b);
	/* On others none of it. */
	b = open_bench("zen5", NULL);
	assert_true(LOOP(b, update) == 1 && LOOP(b, extends) == 1 && LOOP(b, lines) == 1);
	assert_true(LOOP(b, owed) == 2 && LOOP(b, sums) == 4 && LOOP(b, mixed) == 6);
	close_bench(b);
}

/* What was measured of Zen 4 (doc/machine.md): how its memory is renamed and divided. */
static void test_zen4_memory(void **state)
{
	struct bench *b = open_bench("zen4", NULL);
	/* mov %rax,64(%rsi); then movzwl, add, mov of 64(%rsi) to the register */
	static const char extends[] = "\x48\x89\x46\x40\x0f\xb7\x46\x40" COUNT_DOWN;
	static const char adds[] = "\x48\x89\x46\x40\x48\x03\x46\x40" COUNT_DOWN;
	static const char moves[] =
		"\x48\x89\x46\x40\x48\x8b\x46\x40\x48\x89\x46\x40\x48\x8b\x46\x40" COUNT_DOWN;
	/* add %rcx,64(%rsi) */
	static const char update[] = "\x48\x01\x4e\x40" COUNT_DOWN;
	/* movups %xmm0,64(%rsi); movups 64(%rsi),%xmm0 */
	static const char vector[] = "\x0f\x11\x46\x40\x0f\x10\x46\x40" COUNT_DOWN;
	/* mov %rax,28(%rsi); vmovups %zmm0,64(%rsi) */
	static const char split[] = "\x48\x89\x46\x1c" COUNT_DOWN;
	static const char wide[] = "\x62\xf1\x7c\x48\x11\x46\x01" COUNT_DOWN;
	/* vmovups 64(%rsi),%xmm0; vmovups 128(%rsi),%xmm1; vmovups %xmm2,32(%rsi) */
	static const char loads[] = "\xc5\xf8\x10\x46\x40\xc5\xf8\x10\x8e\x80\x00\x00\x00"
				    "\xc5\xf8\x11\x56\x20" COUNT_DOWN;
	/* mov (%rsi,%rax),%rax; mov (%rsi,%rax,8),%rax */
	static const char plain[] = "\x48\x8b\x04\x06" COUNT_DOWN;
	static const char scaled[] = "\x48\x8b\x04\xc6" COUNT_DOWN;
	(void)state;
	assert_true(LOOP(b, extends) == 6 && LOOP(b, adds) == 8);
	assert_true(LOOP(b, moves) == 2 && LOOP(b, update) == 1 && LOOP(b, vector) == 9);
	assert_true(LOOP(b, split) == 2 && LOOP(b, wide) == 2 && LOOP(b, loads) == 1);
	assert_true(LOOP(b, plain) == 4 && LOOP(b, scaled) == 5);
	close_bench(b);
}

/* Zen 3: a result takes a cycle more between vector work on integers and on floating-point numbers,
 * also when it is moved in between; shuffles are integer work. */
static void test_vector_domains(void **state)
{
	/* mulps %xmm7,%xmm7; then paddd %xmm6,%xmm7 (66), or addps, shufps */
	static const char integer[] = "\x0f\x59\xff\x66\x0f\xfe\xfe" COUNT_DOWN;
	static const char number[] = "\x0f\x59\xff\x0f\x58\xff" COUNT_DOWN;
	static const char shuffle[] = "\x0f\x59\xff\x0f\xc6\xff\x1b" COUNT_DOWN;
	/* paddd %xmm6,%xmm7; movaps %xmm7,%xmm1; andps %xmm1,%xmm7 */
	static const char moved[] = "\x66\x0f\xfe\xfe\x0f\x28\xcf\x0f\x54\xf9" COUNT_DOWN;
	struct bench *b = open_bench("zen3", NULL);
	(void)state;
	assert_true(LOOP(b, integer) == 6 && LOOP(b, number) == 6 && LOOP(b, shuffle) == 6);
	assert_true(LOOP(b, moved) == 4);
	close_bench(b);
	b = open_bench("zen4", NULL);
	assert_true(LOOP(b, integer) == 4 && LOOP(b, moved) == 2);
	close_bench(b);
}

/* A load finds what was stored wherever in the store it begins, and waits for nothing beside it. */
static void test_parts_of_stores(void **state)
{
	struct bench *b = open_bench("zen4", NULL);
	/* mov %eax,64(%rsi); mov 68(%rsi),%eax */
	static const char neighbours[] = "\x89\x46\x40\x8b\x46\x44" COUNT_DOWN;
	/* movups %xmm0,64(%rsi); mov 72(%rsi),%rax; movq %rax,%xmm0 */
	static const char upper[] =
		"\x0f\x11\x46\x40\x48\x8b\x46\x48\x66\x48\x0f\x6e\xc0" COUNT_DOWN;
	/* mov %eax,68(%rsi); mov 64(%rsi),%rax */
	static const char part[] = "\x89\x46\x44\x48\x8b\x46\x40" COUNT_DOWN;
	/* mov %rax,72(%rsi); mov 68(%rsi),%rax */
	static const char beyond[] = "\x48\x89\x46\x48\x48\x8b\x46\x44" COUNT_DOWN;
	/* mov %ecx,64(%rsi); mov %ecx,68(%rsi); mov 64(%rsi),%rax */
	static const char halves[] = "\x89\x4e\x40\x89\x4e\x44\x48\x8b\x46\x40" COUNT_DOWN;
	(void)state;
	assert_true(LOOP(b, neighbours) == 1);
	assert_true(LOOP(b, upper) == 11);
	assert_int_equal(b->heads[1].cause, 0);
	/* Measured: 19 each. */
	assert_true(LOOP(b, part) == 20 && LOOP(b, beyond) == 20 && LOOP(b, halves) == 19);
	assert_int_equal(b->heads[2].bound, MACHINE_BOUND_FORWARD);
	assert_int_equal(b->heads[2].cause, 1);
	close_bench(b);
}

/* Of the same, what is done away with, and what shares ports. */
static void test_zen4_work(void **state)
{
	struct bench *b = open_bench("zen4", NULL);
	/* Of lea 8(%rax,%rsi,4),%rax and lea 8(%rsi,%rax,4),%rax the base is needed first. */
	static const char base[] = "\x48\x8d\x44\xb0\x08" COUNT_DOWN;
	static const char index[] = "\x48\x8d\x44\x86\x08" COUNT_DOWN;
	/* cmp %rax,%rax; adc %rax,%rax; imul %rax,%rax */
	static const char same[] = "\x48\x39\xc0\x48\x11\xc0\x48\x0f\xaf\xc0" COUNT_DOWN;
	/* vpsrlq $3,%xmm9,%xmm0; vaddps %xmm8,%xmm9,%xmm1, and 2; vpsrlq $3,%xmm9,%xmm3 */
	static const char shifts[] = "\xc4\xc1\x79\x73\xd1\x03\xc4\xc1\x30\x58\xc8"
				     "\xc4\xc1\x30\x58\xd0\xc4\xc1\x61\x73\xd1\x03" COUNT_DOWN;
	/* pshufd $27,%xmm9,%xmm0, and 1 and 2 */
	static const char shuffles[] = "\x66\x41\x0f\x70\xc1\x1b\x66\x41\x0f\x70\xc9\x1b"
				       "\x66\x41\x0f\x70\xd1\x1b" COUNT_DOWN;
	/* vpaddd %zmm2,%zmm3,%zmm0, and 1, twice */
	static const char wide[] = "\x62\xf1\x65\x48\xfe\xc2\x62\xf1\x65\x48\xfe\xca"
				   "\x62\xf1\x65\x48\xfe\xc2\x62\xf1\x65\x48\xfe\xca" COUNT_DOWN;
	/* mov 1024(%rsi),%rax, and two more; lea of the same kind, twice; mov %rsi,%r10, and
	 * another: eight operations with five constants; and with bytes for them */
	static const char far[] =
		"\x48\x8b\x86\x00\x04\x00\x00\x48\x8b\x8e\x08\x04\x00\x00\x48\x8b\x96\x10\x04"
		"\x00\x00\x4c\x8d\x86\x18\x04\x00\x00\x4c\x8d\x8e\x18\x04\x00\x00\x49\x89\xf2"
		"\x49\x89\xf3" COUNT_DOWN;
	static const char near[] = "\x48\x8b\x46\x10\x48\x8b\x4e\x18\x48\x8b\x56\x20\x4c\x8d\x46"
				   "\x28\x4c\x8d\x4e\x28\x49\x89\xf2\x49\x89\xf3" COUNT_DOWN;
	(void)state;
	assert_true(LOOP(b, base) == 2 && LOOP(b, index) == 1 && LOOP(b, same) == 4);
	assert_true(LOOP(b, shifts) == 2 && LOOP(b, shuffles) == 1 && LOOP(b, wide) == 2);
	assert_true(LOOP(b, far) == 2 && LOOP(b, near) < 1.4);
	/* Each second nop is one with what is before it. */
	assert_true(LOOP(b, NOP NOP NOP NOP NOP NOP NOP NOP NOP NOP NOP COUNT_DOWN) < 1.2);
	close_bench(b);
}

/* Operations that are bound to ports when they are renamed do not all find a free one. */
static void test_binding(void **state)
{
	struct ports *p = calloc(1, sizeof(*p));
	const struct machine_use either = {3, 1, 1}, first = {1, 1, 1}, long_one = {1, 1, 10};
	uint8_t port;
	(void)state;
	assert_non_null(p);
	p->bound = true;
	assert_int_equal(ports_take(p, &long_one, 0, &port), 0);
	assert_int_equal(ports_take(p, &either, 0, &port), 0); /* the second: no queue */
	assert_int_equal(ports_take(p, &first, 0, &port), 10);
	/* Its queue is shorter, and stays so although it is taken when this one is ready. */
	assert_int_equal(ports_take(p, &(struct machine_use){2, 1, 1}, 20, &port), 20);
	assert_int_equal(ports_take(p, &either, 20, &port), 21);
	ports_wait_scheduler(p, 5000, 10);
	assert_int_equal(p->queues[0] + p->queues[1], 0);
	free(p);
}

static void test_elimination(void **state)
{
	struct bench *b = open_bench("skylake", NULL);
	/* mov %rax,%rcx; mov %rcx,%rax; add $1,%rax */
	static const char moves[] = "\x48\x89\xc1\x48\x89\xc8\x48\x83\xc0\x01" COUNT_DOWN;
	/* xor %eax,%eax; imul %rax,%rax; imul %rax,%rax: no chain from round to round */
	static const char zero[] = "\x31\xc0\x48\x0f\xaf\xc0\x48\x0f\xaf\xc0" COUNT_DOWN;
	(void)state;
	assert_true(LOOP(b, moves) == 1);
	assert_true(LOOP(b, zero) == 2);
	close_bench(b);
	b = open_bench("icelake", NULL); /* does not eliminate them */
	assert_true(LOOP(b, moves) == 3);
	close_bench(b);
	b = open_bench("sapphirerapids", NULL); /* adds small constants while renaming */
	assert_true(LOOP(b, moves) == 1);	/* and jumps once a cycle */
	close_bench(b);
}

struct world {
	unsigned load_cycles, fetch_cycles;
	unsigned mispredict_every, branches;
};

static unsigned slow_load(void *arg, const struct machine_instruction *in, uint64_t address,
			  uint64_t cycle)
{
	struct world *w = arg;
	(void)in, (void)address, (void)cycle;
	return w->load_cycles;
}

static unsigned slow_fetch(void *arg, uint64_t address, uint64_t cycle)
{
	struct world *w = arg;
	(void)address, (void)cycle;
	return w->fetch_cycles;
}

static bool bad_predictor(void *arg, const struct machine_instruction *in, uint64_t next)
{
	struct world *w = arg;
	(void)in, (void)next;
	return w->mispredict_every && ++w->branches % w->mispredict_every == 0;
}

static void test_plugins(void **state)
{
	struct world w = {.load_cycles = 300};
	struct machine_plugins p = {&w, slow_load, slow_fetch, bad_predictor};
	struct bench *b = open_bench("zen4", &p);
	(void)state;
	assert_true(LOOP(b, LOAD_CHAIN COUNT_DOWN) == 300);
	assert_int_equal(b->steady.bound, MACHINE_BOUND_MEMORY);
	/* Independent misses overlap as far as the reorder buffer reaches. */
	double cycles = LOOP(b, "\x48\x8b\x06" COUNT_DOWN);
	assert_true(cycles > 300.0 / 320 && cycles < 10);
	w = (struct world){.mispredict_every = 1};
	cycles = LOOP(b, NOP NOP NOP COUNT_DOWN);
	assert_true(cycles >= 13 && cycles <= 16);
	assert_int_equal(b->steady.bound, MACHINE_BOUND_MISPREDICT);
	assert_int_equal(b->heads[0].cause, 4); /* the jump of the round before */
	assert_int_equal(b->heads[0].cause_distance, 1);
	w = (struct world){.fetch_cycles = 40};
	cycles = LOOP(b, NOP NOP NOP COUNT_DOWN);
	assert_true(cycles >= 40 && cycles <= 44);
	assert_int_equal(b->steady.bound, MACHINE_BOUND_ICACHE);
	assert_true(b->heads[0].head_cycles >= 40);
	close_bench(b);
}

static void test_serial(void **state)
{
	struct bench *b = open_bench("skylake", NULL);
	double cycles, locked;
	(void)state;
	locked = LOOP(b, "\xf0\x48\x01\x0e" COUNT_DOWN); /* lock add %rcx,(%rsi) */
	assert_true(locked >= 18 && locked <= 30);
	assert_int_equal(b->steady.bound, MACHINE_BOUND_SERIAL);
	cycles = LOOP(b, "\x0f\xa2" COUNT_DOWN); /* cpuid */
	assert_true(cycles >= 30);
	close_bench(b);
}

/* What was measured of Zen 4 (doc/machine.md): what waits for a lock or a fence, and what does not.
 */
static void test_zen4_barriers(void **state)
{
	struct bench *b = open_bench("zen4", NULL);
	/* lock add %rcx,(%rsi); mov 64(%rsi),%rax; imul %rcx,%rax, twice */
	static const char beside[] =
		"\xf0\x48\x01\x0e\x48\x8b\x46\x40" IMUL_CHAIN IMUL_CHAIN COUNT_DOWN;
	/* lock add %rcx,(%rsi), and 4 multiplications of their own */
	static const char hidden[] =
		"\xf0\x48\x01\x0e" IMUL_CHAIN IMUL_CHAIN IMUL_CHAIN IMUL_CHAIN COUNT_DOWN;
	/* lock cmpxchg %rcx,(%rsi) */
	static const char swap[] = "\xf0\x48\x0f\xb1\x0e" COUNT_DOWN;
	static const char mfence[] = IMUL_CHAIN IMUL_CHAIN "\x0f\xae\xf0" COUNT_DOWN;
	static const char lfence[] = "\x0f\xae\xe8" COUNT_DOWN;
	/* mov %rax,64(%rsi); sfence; mov (%rsi),%rax; imul %rcx,%rax */
	static const char sfence[] =
		"\x48\x89\x46\x40\x0f\xae\xf8\x48\x8b\x06" IMUL_CHAIN COUNT_DOWN;
	(void)state;
	assert_true(LOOP(b, beside) == 7);
	assert_int_equal(b->steady.bound, MACHINE_BOUND_SERIAL);
	assert_true(LOOP(b, hidden) == 12);
	assert_int_equal(b->steady.bound, MACHINE_BOUND_DEPENDENCY);
	assert_true(LOOP(b, swap) == 9);
	assert_true(LOOP(b, mfence) == 56 && LOOP(b, lfence) == 17);
	assert_true(LOOP(b, sfence) == 1);
	close_bench(b);
}

/* Fed one by one: stages in order, retirement in program order, everything after its cause. */
static void test_order(void **state)
{
	struct bench *b = open_bench("zen5", NULL);
	uint64_t x = 99, retired = 0, issued = 0;
	(void)state;
	for (int i = 0; i < 50000; i++) {
		struct machine_timing t;
		uint8_t code[15];
		for (size_t j = 0; j < sizeof(code); j++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			code[j] = (uint8_t)(x >> 56);
		}
		machine_prepare(b->model, code, sizeof(code), 0x1000 + (uint64_t)i * 4, b->list);
		struct machine_execution e = {x % 4096, x / 4096 % 4096, x % 8192};
		machine_simulator_step(b->simulator, b->list, i % 2 ? &e : NULL, &t);
		assert_true(t.fetch < t.issue && t.issue <= t.start && t.start <= t.complete);
		assert_true(t.complete <= t.retire && t.retire >= retired && t.issue >= issued);
		assert_true(t.bound < MACHINE_BOUNDS);
		assert_true(t.cause == MACHINE_NO_CAUSE || t.cause <= (uint64_t)i);
		retired = t.retire;
		issued = t.issue;
	}
	close_bench(b);
}

static void test_limits(void **state)
{
	struct bench *b = open_bench("zen4", NULL);
	(void)state;
	prepare(b, NOP, 1);
	assert_int_equal(machine_head_times(b->simulator, b->list, 0, MACHINE_LOOP, b->heads, NULL),
			 -EINVAL);
	assert_int_equal(machine_head_times(b->simulator, b->list, MACHINE_LIST_MAX + 1,
					    MACHINE_LOOP, b->heads, NULL),
			 -EINVAL);
	for (size_t i = 0; i < MACHINE_LIST_MAX; i++) {
		b->list[i] = b->list[0];
		b->list[i].address = 0x1000 + i;
	}
	assert_int_equal(machine_head_times(b->simulator, b->list, MACHINE_LIST_MAX, MACHINE_PATH,
					    b->heads, &b->steady),
			 0);
	assert_true(b->steady.cycles >= MACHINE_LIST_MAX / 6.0 - 1);
	close_bench(b);
	machine_simulator_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chains),		cmocka_unit_test(test_width),
		cmocka_unit_test(test_ports),		cmocka_unit_test(test_forwarding),
		cmocka_unit_test(test_parts_of_stores), cmocka_unit_test(test_golden_cove),
		cmocka_unit_test(test_zen4_memory),	cmocka_unit_test(test_vector_domains),
		cmocka_unit_test(test_zen4_work),	cmocka_unit_test(test_binding),
		cmocka_unit_test(test_elimination),	cmocka_unit_test(test_plugins),
		cmocka_unit_test(test_serial),		cmocka_unit_test(test_zen4_barriers),
		cmocka_unit_test(test_order),		cmocka_unit_test(test_limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

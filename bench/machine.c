/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The machine model against this processor: simulated cycles of known loops beside measured time,
 * in units of a chain of additions (one cycle each); and the simulator's speed.
 *
 *     build/bench/bench-machine [BUILD] [--quick] [--core CORE] [--builtin]
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "machine/simulate.h"
#include "machine_loops.h"

#define LIST_MAX 256
#define TIMES	 9

#define R4(x)  x "\n" x "\n" x "\n" x "\n"
#define R8(x)  R4(x) R4(x)
#define R16(x) R8(x) R8(x)

MACHINE_LOOP_CODE(add_chain, R16("add %rcx,%rax"));
MACHINE_LOOP_CODE(imul_chain, R4("imul %rcx,%rax"));
MACHINE_LOOP_CODE(imul_independent, "imul %rcx,%rax\nimul %rcx,%r8\nimul %rcx,%r9\nimul %rcx,%r10\n"
				    "imul %rcx,%r11\nimul %rcx,%rdx");
MACHINE_LOOP_CODE(div32_chain, "mov $1000,%eax\nadd %edx,%eax\nxor %edx,%edx\ndiv %ecx\n");
MACHINE_LOOP_CODE(div64_chain, "mov $1000,%eax\nadd %rdx,%rax\nxor %edx,%edx\ndiv %rcx\n");
MACHINE_LOOP_CODE(
	div32_independent,
	"mov $1000,%eax\nxor %edx,%edx\ndiv %ecx\nmov $1000,%eax\nxor %edx,%edx\ndiv %ecx");
MACHINE_LOOP_CODE(load_chain, R8("mov (%rsi),%rsi"));
MACHINE_LOOP_CODE(load_indexed_chain, R8("mov (%rsi,%rdx,8),%rsi"));
MACHINE_LOOP_CODE(load_add_chain, R4("add (%rsi),%rax"));
MACHINE_LOOP_CODE(loads_independent, R8("mov 64(%rsi),%rax"));
MACHINE_LOOP_CODE(stores, R4("mov %rax,64(%rsi)"));
MACHINE_LOOP_CODE(forward_chain, R4("mov %rax,64(%rsi)\nmov 64(%rsi),%rax"));
MACHINE_LOOP_CODE(forward_add_chain, R4("add %rcx,64(%rsi)"));
MACHINE_LOOP_CODE(forward_indexed, R4("mov %rax,64(%rsi,%rdx,8)\nmov 64(%rsi,%rdx,8),%rax"));
MACHINE_LOOP_CODE(stack_chain, R4("push %rax\npop %rax"));
MACHINE_LOOP_CODE(move_chain, R8("mov %rax,%rcx\nmov %rcx,%rax"));
MACHINE_LOOP_CODE(move_add_chain, R8("mov %rax,%rcx\nadd %r8,%rcx\nmov %rcx,%rax"));
MACHINE_LOOP_CODE(zero_idiom, R8("xor %eax,%eax\nadd %rcx,%rax"));
MACHINE_LOOP_CODE(adc_chain, R8("adc %rcx,%rax"));
MACHINE_LOOP_CODE(cmov_chain, R8("cmp %rcx,%rax\ncmovb %rcx,%rax"));
MACHINE_LOOP_CODE(lea_chain, R8("lea 8(%rax,%rcx,4),%rax"));
MACHINE_LOOP_CODE(shift_chain, R8("shl %cl,%rax"));
MACHINE_LOOP_CODE(nops, R16("nop"));
MACHINE_LOOP_CODE(adds_independent,
		  R4("add %rcx,%rax\nadd %rcx,%r8\nadd %rcx,%r9\nadd %rcx,%r10\nadd %rcx,%r11"));
MACHINE_LOOP_CODE(
	throughput,
	"mov (%rsi),%rax\nadd %rcx,%r8\nlea 1(%r9),%r10\nmov %r10,64(%rsi)\nadd %rcx,%r11\n"
	"mov 8(%rsi),%rdx\nxor %r9d,%r9d\nadd %rax,%r8\nand $15,%eax\nmov %rax,72(%rsi)\n"
	"or %rcx,%rdx\ntest %rdx,%rdx\ncmovz %rcx,%r9");
MACHINE_LOOP_CODE(mixed, "mov (%rsi),%rsi\nimul %rcx,%rax\nadd %rax,%r8\nshr $3,%r8\n"
			 "xor %r8,%r9\nlea 4(%r9,%r10),%r10\ncmp %r10,%r11\nsetb %dl");
MACHINE_LOOP_CODE(fp_add_chain, R4("addsd %xmm1,%xmm0"));
MACHINE_LOOP_CODE(fp_mul_chain, R4("mulsd %xmm1,%xmm0"));
MACHINE_LOOP_CODE(fp_div_chain, "divsd %xmm1,%xmm0\ndivsd %xmm1,%xmm0");
MACHINE_LOOP_CODE(fp_mul_independent,
		  "mulps %xmm9,%xmm0\nmulps %xmm9,%xmm1\nmulps %xmm9,%xmm2\nmulps %xmm9,%xmm3\n"
		  "mulps %xmm9,%xmm4\nmulps %xmm9,%xmm5\nmulps %xmm9,%xmm6\nmulps %xmm9,%xmm7");
MACHINE_LOOP_CODE(shuffle_chain, R4("pshufd $27,%xmm0,%xmm0\npaddd %xmm1,%xmm0"));
MACHINE_LOOP_CODE(vector_loads, R4("movaps 64(%rsi),%xmm0\naddps 128(%rsi),%xmm1"));
MACHINE_LOOP_CODE(lock_add, R4("lock add %rcx,64(%rsi)"));
MACHINE_LOOP_CODE(empty, "");

static const struct machine_loop loops[] = {
	MACHINE_LOOP_ROW(imul_chain, "latency of a multiplication"),
	MACHINE_LOOP_ROW(imul_independent, "multipliers"),
	MACHINE_LOOP_ROW(div32_chain, "latency of a division"),
	MACHINE_LOOP_ROW(div64_chain, "the same, 64 bits"),
	MACHINE_LOOP_ROW(div32_independent, "divider"),
	MACHINE_LOOP_ROW(load_chain, "first cache's latency"),
	MACHINE_LOOP_ROW(load_indexed_chain, "the same with an index"),
	MACHINE_LOOP_ROW(load_add_chain, "additions from memory"),
	MACHINE_LOOP_ROW(loads_independent, "load ports"),
	MACHINE_LOOP_ROW(stores, "store ports"),
	MACHINE_LOOP_ROW(forward_chain, "store forwarding"),
	MACHINE_LOOP_ROW(forward_add_chain, "the same, read-modify-write"),
	MACHINE_LOOP_ROW(forward_indexed, "the same with an index"),
	MACHINE_LOOP_ROW(stack_chain, "push and pop"),
	MACHINE_LOOP_ROW(move_chain, "move elimination"),
	MACHINE_LOOP_ROW(move_add_chain, "the same between additions"),
	MACHINE_LOOP_ROW(zero_idiom, "zero idioms"),
	MACHINE_LOOP_ROW(adc_chain, "carries"),
	MACHINE_LOOP_ROW(cmov_chain, "conditional moves"),
	MACHINE_LOOP_ROW(lea_chain, "lea of three parts"),
	MACHINE_LOOP_ROW(shift_chain, "variable shifts"),
	MACHINE_LOOP_ROW(nops, "width"),
	MACHINE_LOOP_ROW(adds_independent, "integer ports"),
	MACHINE_LOOP_ROW(throughput, "width, 15 operations"),
	MACHINE_LOOP_ROW(mixed, "chains of different lengths"),
	MACHINE_LOOP_ROW(fp_add_chain, "latency of a floating-point addition"),
	MACHINE_LOOP_ROW(fp_mul_chain, "latency of a floating-point multiplication"),
	MACHINE_LOOP_ROW(fp_div_chain, "latency of a floating-point division"),
	MACHINE_LOOP_ROW(fp_mul_independent, "floating-point multipliers"),
	MACHINE_LOOP_ROW(shuffle_chain, "vector latencies"),
	MACHINE_LOOP_ROW(vector_loads, "vector load ports"),
	MACHINE_LOOP_ROW(lock_add, "locked operations"),
	MACHINE_LOOP_ROW(empty, "one taken branch a round"),
};
#define LOOP_COUNT (sizeof(loops) / sizeof(*loops))

static const struct machine_loop yardstick = MACHINE_LOOP_ROW(add_chain, "16 cycles and the jump");

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* What this thread ran: others may be on the machine. */
static double own_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_loop(const struct machine_loop *l, uint64_t rounds)
{
	_Alignas(64) static uint64_t buffer[512];
	buffer[0] = (uint64_t)(uintptr_t)buffer;
	double start = now_ns();
	l->run(rounds, buffer);
	return now_ns() - start;
}

/* Cycles a round: the least of several ratios, each to the yardstick just before it, so that the
 * clock's changes cancel and interruptions are left out. */
static double measure(const struct machine_loop *l)
{
	const uint64_t rounds = 100000, yard_rounds = 40000;
	double best = INFINITY, best_yard = INFINITY;
	time_loop(l, rounds / 10);
	for (int i = 0; i < TIMES; i++) {
		best_yard = fmin(best_yard, time_loop(&yardstick, yard_rounds));
		best = fmin(best, time_loop(l, rounds));
	}
	return best / (double)rounds / (best_yard / (double)yard_rounds / 16);
}

static size_t prepare(struct machine_model *m, const struct machine_loop *l,
		      struct machine_instruction *list)
{
	size_t count = 0;
	for (const uint8_t *p = l->begin; p < l->end && count < LIST_MAX; count++) {
		machine_prepare(m, p, (size_t)(l->end - p), (uint64_t)(uintptr_t)p, &list[count]);
		p += list[count].size;
	}
	machine_fuse(m, list, count);
	return count;
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static void print_accuracy(struct machine_model *m, struct machine_simulator *s)
{
	struct machine_instruction list[LIST_MAX];
	struct machine_head heads[LIST_MAX];
	struct machine_steady steady;
	double errors[LOOP_COUNT];
	size_t known = 0;
	printf("%-20s %10s %10s %8s  %-14s %s\n", "loop", "measured", "simulated", "error", "bound",
	       "what it shows");
	for (size_t i = 0; i < LOOP_COUNT; i++) {
		size_t count = prepare(m, &loops[i], list);
		if (machine_head_times(s, list, count, MACHINE_LOOP, heads, &steady))
			continue;
		double measured = measure(&loops[i]);
		errors[known++] = fabs(steady.cycles / measured - 1);
		printf("%-20s %10.2f %10.2f %+7.0f%%  %-14s %s\n", loops[i].name, measured,
		       steady.cycles, 100 * (steady.cycles / measured - 1),
		       machine_bound_name(steady.bound), loops[i].what);
	}
	if (!known)
		return;
	qsort(errors, known, sizeof(*errors), compare);
	printf("row\tsimulated cycles of %zu known loops, median error\t%%\t%.1f\t-\t-\t-\n", known,
	       100 * errors[known / 2]);
	printf("row\tthe same, 90th percentile\t%%\t%.1f\t-\t-\t-\n", 100 * errors[known * 9 / 10]);
}

/* Instructions that the simulator takes in a second, over all the loops in turn. */
static void print_speed(struct machine_model *m, struct machine_simulator *s)
{
	struct machine_instruction list[LIST_MAX];
	struct machine_timing t;
	double took = 0, prepared = 0;
	uint64_t steps = 0, prepares = 0;
	for (size_t i = 0; i < LOOP_COUNT; i++) {
		double start = own_ns();
		size_t count = prepare(m, &loops[i], list);
		for (int k = 0; k < 100; k++)
			count = prepare(m, &loops[i], list);
		prepared += own_ns() - start;
		prepares += 101 * count;
		machine_simulator_reset(s);
		start = own_ns();
		for (size_t k = 0; k < 100000; k++, steps++)
			machine_simulator_step(s, &list[k % count], NULL, &t);
		took += own_ns() - start;
	}
	printf("row\tthe simulator\tmillion instructions/s\t%.1f\t-\t-\t-\n",
	       (double)steps / took * 1e3);
	printf("row\tpreparing code for it\tmillion instructions/s\t%.1f\t-\t-\t-\n",
	       (double)prepares / prepared * 1e3);
}

int main(int argc, char **argv)
{
	struct diag diag;
	struct machine_model *m = NULL;
	struct machine_simulator *s = NULL;
	enum machine_match match = MACHINE_MATCH_EXACT;
	struct machine_cpu cpu = {0};
	enum machine_source source = MACHINE_SOURCE_BEST;
	char text[256];
	machine_cpu_here(&cpu);
	const struct machine_core *core = machine_core_find(&cpu, &match);
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--builtin"))
			source = MACHINE_SOURCE_BUILTIN;
		else if (!strcmp(argv[i], "--core") &&
			 (++i == argc || !(core = machine_core_by_name(argv[i]))))
			return fprintf(stderr, "no core is called that\n"), 2;
	if (machine_model_new(core, source, &m, &diag) || machine_simulator_new(m, NULL, &s))
		return fprintf(stderr, "%s\n", diag.text), 1;
	printf("core: %s; costs: %s\n\n",
	       machine_core_describe(core, &cpu, match, text, sizeof(text)),
	       machine_model_source(m));
	print_accuracy(m, s);
	print_speed(m, s);
	machine_simulator_free(s);
	machine_model_free(m);
	return 0;
}

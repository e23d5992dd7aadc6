/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The machine model against this processor: simulated cycles of known loops beside measured time,
 * in units of a chain of additions (one cycle each); and the simulator's speed.
 *
 *     build/bench/bench-machine [BUILD] [--quick] [--core CORE] [--builtin] [--tuned]
 *
 * --tuned: with the corrections that are measured here. Loops of which these are made (loops.c) and
 * the others are summed up apart.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "collect/cost/core_measure.h"
#include "collect/cost/core_meter.h"
#include "machine/simulate.h"
#include "bound_name.h"
#include "tune_here.h"

#define PATIENCE_NS 15e6

#define R4  MACHINE_LOOP_4
#define R8  MACHINE_LOOP_8
#define R16 MACHINE_LOOP_16

MACHINE_LOOP_CODE(load_add_chain, R4("add (%rsi),%rax"));
MACHINE_LOOP_CODE(loads_independent, R8("mov 64(%rsi),%rax"));
MACHINE_LOOP_CODE(stack_chain, R4("push %rax\npop %rax"));
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
MACHINE_LOOP_CODE(fp_mul_independent,
		  "mulps %xmm9,%xmm0\nmulps %xmm9,%xmm1\nmulps %xmm9,%xmm2\nmulps %xmm9,%xmm3\n"
		  "mulps %xmm9,%xmm4\nmulps %xmm9,%xmm5\nmulps %xmm9,%xmm6\nmulps %xmm9,%xmm7");
MACHINE_LOOP_CODE(shuffle_chain, R4("pshufd $27,%xmm0,%xmm0\npaddd %xmm1,%xmm0"));
MACHINE_LOOP_CODE(vector_loads, R4("movaps 64(%rsi),%xmm0\naddps 128(%rsi),%xmm1"));
MACHINE_LOOP_CODE(empty, "");

static const struct machine_loop loops[] = {
	MACHINE_LOOP_ROW(load_add_chain, "additions from memory"),
	MACHINE_LOOP_ROW(loads_independent, "load ports"),
	MACHINE_LOOP_ROW(stack_chain, "push and pop"),
	MACHINE_LOOP_ROW(move_add_chain, "move elimination between additions"),
	MACHINE_LOOP_ROW(zero_idiom, "zero idioms"),
	MACHINE_LOOP_ROW(adc_chain, "carries"),
	MACHINE_LOOP_ROW(cmov_chain, "conditional moves"),
	MACHINE_LOOP_ROW(lea_chain, "lea of three parts"),
	MACHINE_LOOP_ROW(shift_chain, "variable shifts"),
	MACHINE_LOOP_ROW(nops, "width"),
	MACHINE_LOOP_ROW(adds_independent, "integer ports"),
	MACHINE_LOOP_ROW(throughput, "width, 15 operations"),
	MACHINE_LOOP_ROW(mixed, "chains of different lengths"),
	MACHINE_LOOP_ROW(fp_mul_independent, "floating-point multipliers"),
	MACHINE_LOOP_ROW(shuffle_chain, "vector latencies"),
	MACHINE_LOOP_ROW(vector_loads, "vector load ports"),
	MACHINE_LOOP_ROW(empty, "one taken branch a round"),
};
#define LOOP_COUNT (sizeof(loops) / sizeof(*loops))

/* Those above, then those that the core is measured by. */
static const struct machine_loop *loop_at(size_t i)
{
	return i < LOOP_COUNT ? &loops[i] : machine_loop_at(i - LOOP_COUNT);
}

/* What this thread ran: others may be on the machine. */
static double own_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double measure(const struct machine_loop *l)
{
	_Alignas(64) static uint64_t buffer[512];
	static struct core_meter meter;
	buffer[0] = (uint64_t)(uintptr_t)buffer;
	return core_meter_cycles(&meter, l->run, buffer, PATIENCE_NS);
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

static void print_errors(double *errors, size_t count, const char *which)
{
	if (!count)
		return;
	qsort(errors, count, sizeof(*errors), compare);
	printf("row\tsimulated cycles of %zu known loops %s, median error\t%%\t%.1f\t-\t-\t-\n",
	       count, which, 100 * errors[count / 2]);
	printf("row\tthe same, 90th percentile\t%%\t%.1f\t-\t-\t-\n", 100 * errors[count * 9 / 10]);
}

static void print_accuracy(struct machine_model *m, struct machine_simulator *s)
{
	struct machine_instruction list[MACHINE_LOOP_INSTRUCTIONS];
	struct machine_head heads[MACHINE_LOOP_INSTRUCTIONS];
	struct machine_steady steady;
	double errors[2][LOOP_COUNT + MACHINE_LOOPS_MAX];
	size_t known[2] = {0};
	const struct machine_loop *l;
	printf("%-20s %10s %10s %8s  %-14s %s\n", "loop", "measured", "simulated", "error", "bound",
	       "what it shows");
	for (size_t i = 0; (l = loop_at(i)); i++) {
		size_t count = machine_fit_prepare(m, l, list);
		bool tunes = i >= LOOP_COUNT;
		double measured = measure(l);
		if (machine_head_times(s, list, count, MACHINE_LOOP, heads, &steady))
			continue;
		if (measured <= 0) {
			printf("%-20s %10s %10.2f  disturbed all the while\n", l->name, "-",
			       steady.cycles);
			continue;
		}
		errors[tunes][known[tunes]++] = fabs(steady.cycles / measured - 1);
		printf("%-20s %10.2f %10.2f %+7.0f%%  %-14s %s\n", l->name, measured, steady.cycles,
		       100 * (steady.cycles / measured - 1), bound_names[steady.bound], l->what);
	}
	print_errors(errors[0], known[0], "that correct nothing");
	print_errors(errors[1], known[1], "that corrections are made of");
}

/* Instructions that the simulator takes in a second, over all the loops in turn. */
static void print_speed(struct machine_model *m, struct machine_simulator *s)
{
	struct machine_instruction list[MACHINE_LOOP_INSTRUCTIONS];
	struct machine_timing t;
	double took = 0, prepared = 0;
	uint64_t steps = 0, prepares = 0;
	const struct machine_loop *l;
	for (size_t i = 0; (l = loop_at(i)); i++) {
		double start = own_ns();
		size_t count = machine_fit_prepare(m, l, list);
		for (int k = 0; k < 100; k++)
			count = machine_fit_prepare(m, l, list);
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
	bool tuned = false;
	char text[256];
	machine_cpu_here(&cpu);
	const struct machine_core *core = machine_core_find(&cpu, &match);
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--builtin"))
			source = MACHINE_SOURCE_BUILTIN;
		else if (!strcmp(argv[i], "--tuned"))
			tuned = true;
		else if (!strcmp(argv[i], "--core") &&
			 (++i == argc || !(core = machine_core_by_name(argv[i]))))
			return fprintf(stderr, "no core is called that\n"), 2;
	if (machine_model_new(core, source, &m, &diag) || (tuned && tune_here(m, &diag)) ||
	    machine_simulator_new(m, NULL, &s))
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

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Small pieces of code with samples where a stall of each kind puts them: the first-named culprit
 * and the instruction to blame must be the right ones. No machine's own timing takes part.
 */
#include <elf.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "analyze/culprits/best_case.h"
#include "analyze/culprits/charge.h"
#include "analyze/culprits/culprits.h"
#include "analyze/culprits/culprits_kinds.h"
#include "analyze/culprits/culprits_scale.h"
#include "cfg/function_graph.h"

/* Each piece is a function of its own, never called. */
#define PIECE(name, text)                                                                   \
	__asm__(".pushsection .rodata\n.balign 4096\n.global piece_" #name "\npiece_" #name \
		":\n" text "\n ret\n.global piece_" #name "_end\npiece_" #name              \
		"_end:\n.popsection\n");                                                    \
	extern const uint8_t piece_##name[], piece_##name##_end[];

PIECE(chase, "1: mov (%rdi),%rdi\n add $1,%r8\n lea 3(%r8),%r9\n dec %rsi\n jnz 1b")
PIECE(pages, "1: mov (%rdi),%rax\n add $1,%r8\n add $4160,%rdi\n dec %rsi\n jnz 1b")
PIECE(imul, "1: imul %r8,%r8\n add $1,%r9\n dec %rsi\n jnz 1b")
PIECE(div, "1: mov $0,%edx\n div %rcx\n add $1,%r9\n dec %rsi\n jnz 1b")
PIECE(branch, "1: test $16,%r8b\n jz 2f\n add $1,%r10\n add $2,%r11\n jmp 3f\n"
	      "2: sub $1,%r10\n sub $3,%r11\n 3: nop\n dec %rsi\n jnz 1b")
PIECE(once, "test $16,%r8b\n jz 2f\n add $1,%r10\n add $2,%r11\n 2: add $3,%r9\n add $1,%r8")
PIECE(leaves, "add $1,%r8\n test $16,%r8b\n jz .+0x100000\n add $1,%r9\n add $2,%r10")
PIECE(store, "1: mov %rax,(%rdi)\n add $1,%r8\n add $64,%rdi\n dec %rsi\n jnz 1b")
PIECE(forward, "1: movb %al,(%rdi)\n movb %al,1(%rdi)\n mov (%rdi),%r8\n add $1,%r9\n dec %rsi\n"
	       " jnz 1b")
PIECE(lock, "1: lock addq $1,(%rdi)\n add $1,%r8\n dec %rsi\n jnz 1b")
PIECE(locks, "1: lock addq $1,(%rdi)\n lock addq $1,8(%rdi)\n dec %rsi\n jnz 1b")
PIECE(fence, "1: mfence\n add $1,%r8\n add $1,%r9\n dec %rsi\n jnz 1b")
PIECE(call, "1: mov $110,%eax\n syscall\n add $1,%r8\n dec %rsi\n jnz 1b")
PIECE(rep, "1: mov %rdx,%rcx\n rep movsb\n add $1,%r8\n dec %rsi\n jnz 1b")
PIECE(fill, "1: mov %rdx,%rcx\n rep stosb\n add $1,%r8\n dec %rsi\n jnz 1b")
PIECE(line, "add $1,%r8\n jmp 2f\n.balign 64\n2: add $1,%r9\n add $1,%r10")
PIECE(page, "add $1,%r8\n jmp 2f\n.balign 4096\n2: add $1,%r9\n add $1,%r10")
PIECE(fault, "1: movb $1,(%rdi)\n add $1,%r8\n add $4096,%rdi\n dec %rsi\n jnz 1b")
PIECE(float, "1: mulsd %xmm1,%xmm0\n add $1,%r8\n dec %rsi\n jnz 1b")
PIECE(even, "1: nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n dec %rsi\n"
	    " jnz 1b")
PIECE(large, "1: .rept 3000\n nop\n .endr\n dec %rsi\n jnz 1b")
PIECE(waits, "1: imul %r8,%r8\n imul %r8,%r8\n imul %r8,%r8\n imul %r8,%r8\n imul %r8,%r8\n"
	     " imul %r8,%r8\n imul %r8,%r8\n imul %r8,%r8\n mov (%rdi,%r8),%rax\n add $1,%r9\n"
	     " dec %rsi\n jnz 1b")
PIECE(table, "1: imul $1664525,%r8\n mov %r8,%rsi\n shr $28,%rsi\n and $3,%esi\n cmp $3,%rsi\n"
	     " ja 5f\n lea 6f(%rip),%rdx\n movslq (%rdx,%rsi,4),%rcx\n add %rdx,%rcx\n jmp *%rcx\n"
	     "2: add $1,%r9\n jmp 1b\n 3: add $2,%r9\n jmp 1b\n 4: add $3,%r9\n jmp 1b\n"
	     "5: ret\n .balign 4\n6: .long 2b-6b,3b-6b,4b-6b,2b-6b")
PIECE(locks_load, "1: lock addq $1,(%rdi)\n lock addq $1,8(%rdi)\n mov (%rdx,%r8),%r8\n dec %rsi\n"
		  " jnz 1b")
PIECE(scatter,
      "1: imul $1664525,%r8\n add $7,%r8\n mov %r8,%rdx\n shr $20,%rdx\n mov %r8,(%rdi,%rdx)\n"
      " dec %rsi\n jnz 1b")
PIECE(calls, "1: add $1,%r8\n call .+0x100000\n add $1,%r9\n add $1,%r10\n add $1,%r11\n"
	     " add $1,%rcx\n dec %rsi\n jnz 1b")
PIECE(compare, "1: cmp %rax,(%rdi)\n jne 2f\n add $1,%r8\n 2: add $1,%r9\n mov %r9,%rdi\n"
	       " dec %rsi\n jnz 1b")

/* What a kernel does: the flags restored, at a join that is mostly come to another way; a branch in
 * the instruction that sti lets pass; popf. */
PIECE(restore, "test $512,%esi\n jz 1f\n sti\n nop\n1: add $1,%r8\n add $1,%r9")
PIECE(shadow, "add $1,%r8\n sti\n jmp 1f\n.balign 64\n1: add $1,%r9\n add $1,%r10")
PIECE(flags, "push %rsi\n popf\n add $1,%r8\n add $1,%r9")

/* One piece ready to be asked. */
struct lab {
	struct cfg_image *image;
	const struct cfg_function *f;
	struct cfg_loops *loops;
	struct isa_decoder *decoder;
	struct culprit_kinds *kinds;
	struct machine_model *model;
	struct machine_simulator *simulator;
	struct best_case *best;
	struct isa_operands *operands;
	uint64_t *samples;
	double *charged, *fresh, *block_count, *edge_count, *weight;
	bool *edge_known;
	struct culprit_site *sites;
	struct culprit_events *events;
	struct culprit_list *lists;
	struct arena *memory;
	struct culprit_footprint footprint;
	bool masks, shows_divisions;
	struct data_footprint *data;
	const uint8_t *code;
	struct culprit_view view;
	double wrong; /* counts are said to be so many times what they are; 0: they are known */
};

static const uint8_t *code_at(void *arg, uint64_t address)
{
	return ((struct lab *)arg)->code + (address - 0x1000);
}

static void lab_open(struct lab *l, const uint8_t *code, const uint8_t *end)
{
	struct cfg_bytes bytes = {0x1000, code, (size_t)(end - code)};
	struct cfg_extent extent = {0x1000, bytes.size, "piece", true, false};
	static struct cfg_source source;
	struct isa_instruction in;
	static struct cfg_bytes kept;
	static struct cfg_extent extent_kept;
	*l = (struct lab){.code = code};
	kept = bytes;
	extent_kept = extent;
	source = (struct cfg_source){.machine = EM_X86_64,
				     .bits = 64,
				     .code = &kept,
				     .code_count = 1,
				     .data = &kept,
				     .data_count = 1,
				     .extents = &extent_kept,
				     .extent_count = 1};
	assert_int_equal(cfg_image_new(&source, &l->image, NULL), 0);
	assert_int_equal(cfg_image_function(l->image, 0x1000, &l->f), 0);
	assert_int_equal(cfg_loops_of_function(l->f, &l->loops), 0);
	assert_int_equal(isa_decoder_new(EM_X86_64, 64, ISA_SYNTAX_ATT, &l->decoder, NULL), 0);
	assert_int_equal(machine_model_new(machine_core_by_name("zen4"), MACHINE_SOURCE_BUILTIN,
					   &l->model, NULL),
			 0);
	assert_int_equal(machine_simulator_new(l->model, NULL, &l->simulator), 0);
	l->kinds = culprit_kinds_new(l->decoder);
	l->memory = arena_new(1 << 24);
	size_t n = l->f->instruction_count;
	l->operands = calloc(n, sizeof(*l->operands));
	l->samples = calloc(n, sizeof(*l->samples));
	l->charged = calloc(n, sizeof(double));
	l->fresh = calloc(n, sizeof(double));
	l->sites = calloc(n, sizeof(*l->sites));
	l->lists = calloc(n, sizeof(*l->lists));
	l->block_count = calloc(l->f->block_count, sizeof(double));
	l->weight = calloc(l->f->block_count, sizeof(double));
	l->edge_count = calloc(l->f->edge_count, sizeof(double));
	l->edge_known = calloc(l->f->edge_count, sizeof(bool));
	for (size_t i = 0; i < n; i++)
		isa_decode_operands(l->decoder, code_at(l, l->f->instructions[i].address), 15,
				    l->f->instructions[i].address, &in, &l->operands[i]);
}

static void lab_close(struct lab *l)
{
	machine_simulator_free(l->simulator);
	machine_model_free(l->model);
	culprit_kinds_free(l->kinds);
	isa_decoder_free(l->decoder);
	best_case_free(l->best);
	cfg_loops_free(l->loops);
	cfg_image_free(l->image);
	arena_free(l->memory);
	free(l->operands);
	free(l->samples);
	free(l->charged);
	free(l->fresh);
	free(l->sites);
	free(l->lists);
	free(l->block_count);
	free(l->weight);
	free(l->edge_count);
	free(l->edge_known);
	free(l->events);
	free(l->data);
}

/* Every block ran a million times, but for the ways out; conditional jumps inside split in half. */
static void lab_run(struct lab *l, double cycles_per_sample)
{
	const struct cfg_function *f = l->f;
	for (uint32_t b = 0; b < f->block_count; b++) {
		l->block_count[b] = 1e6;
		l->weight[b] = 1;
		for (uint32_t i = 0; i < f->blocks[b].succ_count; i++) {
			uint32_t e = f->blocks[b].first_succ + i, last;
			last = f->blocks[b].first_instruction + f->blocks[b].instruction_count - 1;
			bool ends = f->instructions[last].branch == ISA_BRANCH_CONDITIONAL &&
				    f->instructions[last].target == 0x1000;
			l->edge_known[e] = f->edges[e].to != CFG_OUTSIDE;
			l->edge_count[e] = f->blocks[b].succ_count == 1 ? 1e6
					   : ends ? (f->edges[e].kind == CFG_TAKEN ? 999999 : 1)
						  : 5e5;
		}
	}
	struct best_case_request q = {f, l->loops, l->model, l->simulator, code_at, l, l->weight};
	assert_int_equal(best_case_new(&q, &l->best), 0);
	struct charge_request c = {f,
				   l->operands,
				   l->best->prepared,
				   l->edge_count,
				   l->samples,
				   {1, l->shows_divisions},
				   l->masks};
	charge_samples(&c, l->charged, l->fresh);
	for (uint32_t i = 0; i < f->instruction_count; i++)
		l->sites[i] = (struct culprit_site){1e6, l->wrong > 0 ? 10 : 1,
						    l->charged[i] * cycles_per_sample / 1e6,
						    l->fresh[i] * cycles_per_sample / 1e6};
	l->view = (struct culprit_view){.function = f,
					.operands = l->operands,
					.kinds = l->kinds,
					.model = l->model,
					.prepared = l->best->prepared,
					.heads = l->best->heads,
					.expected = l->best->expected,
					.sites = l->sites,
					.block_count = l->block_count,
					.edge_count = l->edge_count,
					.edge_known = l->edge_known,
					.loops = l->loops,
					.events = l->events,
					.data = l->data,
					.footprint = l->footprint,
					.masks = l->masks};
	culprit_limits_of(machine_model_core(l->model), &l->view.limits);
	assert_int_equal(culprits_find(&l->view, l->memory, l->lists), 0);
}

struct question {
	const uint8_t *code, *end;
	unsigned sampled; /* the instruction that has the samples */
	double cycles;	  /* of stall, an execution */
	unsigned stalled; /* the one that must have the culprit */
	enum culprit_cause cause;
	unsigned blamed;
	double code_lines, code_pages;
	double page_faults;
	bool masks;
};

#define Q(name) piece_##name, piece_##name##_end

static const struct question questions[] = {
	{Q(chase), 1, 300, 0, CULPRIT_DCACHE, 0, 0, 0, 0},
	{Q(pages), 1, 30, 0, CULPRIT_DTLB, 0, 0, 0, 0},
	{Q(imul), 1, 3, 0, CULPRIT_DEPENDENCY, 0, 0, 0, 0},
	{Q(div), 2, 40, 1, CULPRIT_DIVIDER, 1, 0, 0, 0},
	{Q(branch), 3, 10, 2, CULPRIT_BRANCH_MISPREDICT, 1, 0, 0, 0},
	{Q(once), 2, 10, 0, CULPRIT_BRANCH_MISPREDICT, 1, 0, 0, 0},
	{Q(once), 4, 10, 0, CULPRIT_BRANCH_MISPREDICT, 1, 0, 0, 0},
	{Q(leaves), 3, 10, 1, CULPRIT_BRANCH_MISPREDICT, 2, 0, 0, 0},
	{Q(branch), 8, 10, 7, CULPRIT_BRANCH_MISPREDICT, 1, 0, 0, 0},
	{Q(store), 1, 20, 0, CULPRIT_STORE_BUFFER, 0, 0, 0, 0},
	{Q(forward), 3, 15, 2, CULPRIT_STORE_FORWARD, 1, 0, 0, 0},
	{Q(lock), 1, 20, 0, CULPRIT_LOCK, 0, 0, 0, 0},
	{Q(fence), 1, 40, 0, CULPRIT_FENCE, 0, 0, 0, 0},
	{Q(fence), 2, 10, 1, CULPRIT_FENCE, 0, 0, 0, 0},
	{Q(call), 2, 100, 1, CULPRIT_SYSCALL, 1, 0, 0, 0},
	{Q(rep), 2, 100, 1, CULPRIT_ASSIST, 1, 0, 0, 0},
	{Q(rep), 1, 100, 1, CULPRIT_ASSIST, 1, 0, 0, 0},
	{Q(line), 3, 20, 2, CULPRIT_ICACHE, 2, 8000, 60, 0},
	{Q(page), 3, 20, 2, CULPRIT_ITLB, 2, 1000, 1000, 0},
	{Q(fault), 1, 400, 0, CULPRIT_PAGE_FAULT, 0, 0, 0, 1},
	{Q(float), 1, 150, 0, CULPRIT_ASSIST, 0, 0, 0, 0},
	{Q(compare), 1, 20, 0, CULPRIT_DCACHE, 0, 0, 0, 0},
	{Q(compare), 2, 10, 1, CULPRIT_BRANCH_MISPREDICT, 1, 0, 0, 0},
	{Q(restore), 4, 500, 2, CULPRIT_INTERRUPTS_OFF, 2, 0, 0, 0, true},
	{Q(shadow), 3, 500, 1, CULPRIT_INTERRUPTS_OFF, 1, 0, 0, 0, true},
	{Q(flags), 2, 500, 1, CULPRIT_INTERRUPTS_OFF, 1, 0, 0, 0, true},
};

static void test_first_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		const struct question *q = &questions[i];
		struct culprit_events none = {-1, -1, -1, -1, -1, -1};
		struct lab l;
		lab_open(&l, q->code, q->end);
		l.footprint =
			(struct culprit_footprint){q->code_lines, q->code_pages, q->code_lines > 0};
		if (q->page_faults > 0) {
			l.events = calloc(l.f->instruction_count, sizeof(none));
			for (uint32_t k = 0; k < l.f->instruction_count; k++)
				l.events[k] = none;
			l.events[q->blamed].page_faults = q->page_faults;
		}
		l.samples[q->sampled] = 10000;
		l.masks = q->masks;
		lab_run(&l, q->cycles * 1e6 / 10000);
		const struct culprit_list *list = &l.lists[q->stalled];
		if (list->count == 0 || list->list[0].cause != q->cause ||
		    list->list[0].blame != l.f->instructions[q->blamed].address) {
			print_message("question %zu: %u culprits\n", i, list->count);
			for (uint32_t k = 0; k < list->count; k++)
				print_message("  %s blame %#llx %g to %g, %g\n",
					      culprit_name(list->list[k].cause),
					      (unsigned long long)list->list[k].blame,
					      list->list[k].low, list->list[k].high,
					      list->list[k].likely);
			fail();
		}
		lab_close(&l);
	}
}

/* A pointer chase through so many lines in so many pages: Zen 4 has 512, 16,384 and 524,288 lines
 * of caches, and translations of 72 and 3072 pages. */
static const struct chase {
	double lines, pages, most; /* most: factor by which there may be more */
	enum culprit_cause cause;
	uint8_t level;	 /* 0: not asked */
	double tlb_most; /* cycles that DTLB may explain at most */
} chases[] = {
	{8192, 128, 1.2, CULPRIT_DCACHE, 2, 10},     {8192, 8192, 1.2, CULPRIT_DTLB, 0, 1e9},
	{100000, 1600, 1.2, CULPRIT_DCACHE, 3, 1e9}, {100000, 1500, 1.01, CULPRIT_DCACHE, 3, 20},
	{1e7, 1e7, 1.2, CULPRIT_DCACHE, 4, 1e9},     {6000, 6000, INFINITY, CULPRIT_DCACHE, 0, 1e9},
};

static void test_footprint_of_data(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(chases) / sizeof(chases[0]); i++) {
		const struct chase *q = &chases[i];
		struct lab l;
		double tlb = 0;
		lab_open(&l, piece_chase, piece_chase_end);
		l.data = calloc(l.f->instruction_count, sizeof(*l.data));
		l.data[0] = (struct data_footprint){300,
						    {q->lines / 1.1, q->lines, q->lines * q->most},
						    {q->pages / 1.1, q->pages, q->pages * q->most}};
		l.samples[1] = 10000;
		lab_run(&l, 300 * 1e6 / 10000);
		const struct culprit_list *list = &l.lists[0];
		assert_true(list->count > 0);
		if (list->list[0].cause != q->cause)
			fail_msg("chase %zu: %s", i, culprit_name(list->list[0].cause));
		assert_int_equal(list->list[0].blame, l.f->instructions[0].address);
		if (q->level) {
			assert_int_equal(list->list[0].level, q->level);
			assert_true(list->list[0].level_sure);
		}
		for (uint32_t k = 0; k < list->count; k++)
			if (list->list[k].cause == CULPRIT_DTLB)
				tlb = list->list[k].high;
		assert_true(tlb <= q->tlb_most);
		lab_close(&l);
	}
}

static double likely_of(const struct culprit_list *list, enum culprit_cause cause)
{
	double likely = 0;
	for (uint32_t k = 0; k < list->count; k++)
		likely += list->list[k].cause == cause ? list->list[k].likely : 0;
	return likely;
}

/* Of two lines in a program too large for the cache, the one that runs all the time is there. */
static void test_lines_that_stay(void **state)
{
	(void)state;
	const double lives[] = {0, 1e-7, 1e-5, INFINITY};
	double likely[4];
	for (size_t i = 0; i < 4; i++) {
		struct lab l;
		lab_open(&l, piece_line, piece_line_end);
		l.footprint = (struct culprit_footprint){8000, 60, true, lives[i]};
		l.samples[3] = 10000;
		lab_run(&l, 4 * 1e6 / 10000); /* not more than the decoders may be said to take */
		likely[i] = likely_of(&l.lists[2], CULPRIT_ICACHE);
		lab_close(&l);
	}
	assert_true(likely[0] > 2);
	assert_true(likely[1] > 2);
	assert_true(likely[2] < 0.5);
	assert_true(likely[3] <= likely[2]);
}

/* Code that fits is gone when others ran in between: not in every round of a loop that runs all the
 * time, and perhaps each time that a rare piece does. */
static void test_code_that_fits(void **state)
{
	(void)state;
	const double cycles[] = {2e7, 1e12};
	double likely[2];
	for (size_t i = 0; i < 2; i++) {
		struct lab l;
		lab_open(&l, piece_line, piece_line_end);
		l.footprint = (struct culprit_footprint){20, 2, true, INFINITY, cycles[i]};
		l.samples[3] = 10000;
		lab_run(&l, 20 * 1e6 / 10000);
		likely[i] = likely_of(&l.lists[2], CULPRIT_ICACHE);
		lab_close(&l);
	}
	assert_true(likely[0] < 1);
	assert_true(likely[1] > 10);
}

/* A jump's table is small and there: what is waited for behind its load is the way. */
static void test_tables_of_jumps(void **state)
{
	struct lab l;
	(void)state;
	lab_open(&l, Q(table));
	assert_true(l.f->complete);
	l.samples[8] = 10000;
	lab_run(&l, 20 * 1e6 / 10000);
	assert_true(l.sites[7].cycles > 19);
	assert_true(likely_of(&l.lists[7], CULPRIT_DCACHE) < 3);
	lab_close(&l);
}

/* What is waited for behind a call whose code cannot be gone: the way back, or a return that was
 * mispredicted when that takes longer. Such samples give the function no scale. */
static void test_returns_that_go_wrong(void **state)
{
	(void)state;
	for (int wrong = 0; wrong < 2; wrong++) {
		struct lab l;
		lab_open(&l, Q(calls));
		l.footprint = (struct culprit_footprint){20, 2, true, INFINITY, 2e7};
		l.samples[2] = 10000;
		l.samples[4] = 1000;
		lab_run(&l, (wrong ? 15 : 3) * 1e6 / 10000);
		const struct culprit_list *list = &l.lists[2];
		assert_true(list->count > 0);
		assert_int_equal(list->list[0].cause,
				 wrong ? CULPRIT_BRANCH_MISPREDICT : CULPRIT_FRONT_END);
		if (wrong)
			assert_int_equal(list->list[0].blame, l.f->instructions[1].address);
		l.view.limits.measured = true;
		assert_true(culprit_stall_by_shape(&l.view) == 0);
		lab_close(&l);
	}
}

/*
 * A load that waits, beside a chain of 24 cycles, in a loop that is said to have run so many times
 * as often as it did: what the load waits for is the same share of the time.
 */
static void test_counts_that_are_wrong(void **state)
{
	(void)state;
	const double wrong[] = {1, 0.3, 3, 8};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct lab l;
		double likely = 0, sum = 0;
		lab_open(&l, Q(waits));
		l.wrong = wrong[i];
		for (uint32_t k = 1; k <= 8; k++)
			l.samples[k] = 300; /* behind each multiplication */
		l.samples[9] = 7200;
		lab_run(&l, 1e4 / wrong[i]);
		for (uint32_t k = 0; k < l.f->instruction_count; k++) {
			likely += likely_of(&l.lists[k], CULPRIT_DCACHE) +
				  likely_of(&l.lists[k], CULPRIT_DTLB);
			sum += l.sites[k].cycles;
		}
		assert_true(likely > 0.6 * sum);
		assert_true(likely < 0.8 * sum);
		lab_close(&l);
	}
}

/* How many times its best case a loop takes follows from where its samples are, whatever its counts
 * are said to be. Loads wait beside a chain, which gives it; locked operations do as the model has
 * them; a branch goes either way. Samples that are even are of the width, in a loop that is decoded
 * once. */
static const struct shape {
	const uint8_t *code, *end;
	unsigned sampled[2];
	uint64_t samples[2];
	double least, most;
} shapes[] = {
	{Q(waits), {1, 9}, {2400, 7200}, 3, 4.5}, {Q(locks), {1, 2}, {5000, 5000}, 1.2, 1.8},
	{Q(branch), {2, 8}, {8000, 2000}, 3, 20}, {Q(chase), {1, 1}, {5000, 5000}, 0, 0},
	{Q(even), {1, 7}, {5000, 5000}, 1, 1.2},  {Q(large), {1, 1500}, {5000, 5000}, 0, 0},
};

static void test_shapes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const struct shape *q = &shapes[i];
		for (double cycles = 1; cycles < 1e4; cycles *= 30) {
			struct lab l;
			double stall;
			lab_open(&l, q->code, q->end);
			for (uint32_t k = 0; k < 2; k++)
				l.samples[q->sampled[k]] = q->samples[k];
			lab_run(&l, cycles);
			stall = culprit_stall_by_shape(&l.view);
			if (stall < q->least || stall > q->most)
				fail_msg("shape %zu: %g", i, stall);
			lab_close(&l);
		}
	}
}

/* Where the core was measured and the model fits it, what lies as the model puts it takes as long.
 */
static void test_shape_on_a_measured_core(void **state)
{
	(void)state;
	for (int measured = 0; measured < 2; measured++) {
		struct lab l;
		lab_open(&l, Q(locks));
		l.samples[1] = l.samples[2] = 5000;
		lab_run(&l, 100);
		l.view.limits.measured = measured;
		assert_true((culprit_stall_by_shape(&l.view) < 1.2) == measured);
		lab_close(&l);
	}
}

/* There, locked operations give the scale beside a load that may miss. */
static void test_shape_beside_a_load(void **state)
{
	(void)state;
	for (int measured = 0; measured < 2; measured++) {
		struct lab l;
		lab_open(&l, Q(locks_load));
		l.samples[1] = l.samples[2] = 2500;
		l.samples[3] = 5000;
		lab_run(&l, 100);
		l.view.limits.measured = measured;
		double stall = culprit_stall_by_shape(&l.view);
		if (measured ? stall < 1.3 || stall > 2.7 : stall != 0)
			fail_msg("measured %d: %g", measured, stall);
		lab_close(&l);
	}
}

/* Behind stores that wait for room the latencies of others are not seen, only their width is. */
static void test_shape_behind_stores(void **state)
{
	struct lab l;
	(void)state;
	lab_open(&l, Q(scatter));
	l.samples[1] = 1000;
	l.samples[5] = 9000;
	lab_run(&l, 100);
	assert_true(culprit_stall_by_shape(&l.view) > 1);
	assert_true(culprit_stall_by_shape(&l.view) < 4);
	lab_close(&l);
	/* Nor when next to nothing of them is seen. */
	lab_open(&l, Q(scatter));
	l.samples[1] = 10;
	l.samples[5] = 9990;
	lab_run(&l, 100);
	assert_true(culprit_stall_by_shape(&l.view) == 0);
	lab_close(&l);
}

/* How long a repeated instruction takes depends on its count, which nothing tells. */
static void test_shape_of_repeated(void **state)
{
	struct lab l;
	(void)state;
	lab_open(&l, Q(fill));
	l.samples[1] = 10000;
	lab_run(&l, 100);
	l.view.limits.measured = true;
	l.best->expected[1] = 50; /* as where LLVM has the costs */
	assert_true(culprit_stall_by_shape(&l.view) == 0);
	lab_close(&l);
}

/* Ranges: every low is at most its likely, that at most its high, and the likely ones add up. */
static void test_ranges(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		struct lab l;
		lab_open(&l, questions[i].code, questions[i].end);
		l.footprint = (struct culprit_footprint){8000, 60, i % 3 > 0, i % 3 * 1e-3};
		for (uint32_t k = 0; k < l.f->instruction_count; k++)
			l.samples[k] = (k * 7919 + i * 104729) % 1000;
		lab_run(&l, 1e4);
		for (uint32_t k = 0; k < l.f->instruction_count; k++) {
			double sum = 0;
			for (uint32_t n = 0; n < l.lists[k].count; n++) {
				const struct culprit *c = &l.lists[k].list[n];
				assert_true(c->low <= c->likely + 1e-6);
				assert_true(c->likely <= c->high + 1e-6);
				sum += c->likely;
			}
			assert_true(sum <= l.sites[k].cycles + 1e-6);
		}
		lab_close(&l);
	}
}

/* Where interrupts cannot be turned off, or samples do not wait for them, nobody is blamed so. */
static void test_counters_do_not_wait(void **state)
{
	struct lab l;
	(void)state;
	lab_open(&l, Q(flags));
	l.samples[2] = 10000;
	lab_run(&l, 500);
	for (uint32_t k = 0; k < l.f->instruction_count; k++)
		for (uint32_t n = 0; n < l.lists[k].count; n++)
			assert_int_not_equal(l.lists[k].list[n].cause, CULPRIT_INTERRUPTS_OFF);
	lab_close(&l);
}

/* No sample is lost or made when they are moved to where the time was spent. */
static void test_charge_keeps_samples(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		struct lab l;
		double sampled = 0, charged = 0;
		lab_open(&l, questions[i].code, questions[i].end);
		for (uint32_t k = 0; k < l.f->instruction_count; k++)
			sampled += (double)(l.samples[k] = k + 1);
		l.masks = questions[i].masks;
		lab_run(&l, 1);
		for (uint32_t k = 0; k < l.f->instruction_count; k++)
			charged += l.charged[k];
		assert_true(charged > sampled - 1e-6 && charged < sampled + 1e-6);
		lab_close(&l);
	}
}

/* Samples at a division are its own where the machine shows it so, and those behind it as well. */
static void test_divisions_that_show_themselves(void **state)
{
	(void)state;
	for (int shows = 0; shows < 2; shows++) {
		struct lab l;
		lab_open(&l, Q(div));
		l.shows_divisions = shows;
		l.samples[1] = 600;
		l.samples[2] = 400;
		lab_run(&l, 1e4);
		assert_true(l.charged[1] == (shows ? 1000 : 400));
		lab_close(&l);
	}
}

static void test_letters(void **state)
{
	(void)state;
	for (unsigned c = 0; c < CULPRIT_CAUSES; c++)
		for (unsigned d = 0; d < c; d++)
			assert_int_not_equal(culprit_letter(c), culprit_letter(d));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_letters),
		cmocka_unit_test(test_charge_keeps_samples),
		cmocka_unit_test(test_divisions_that_show_themselves),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_first_named),
		cmocka_unit_test(test_counters_do_not_wait),
		cmocka_unit_test(test_footprint_of_data),
		cmocka_unit_test(test_lines_that_stay),
		cmocka_unit_test(test_code_that_fits),
		cmocka_unit_test(test_tables_of_jumps),
		cmocka_unit_test(test_returns_that_go_wrong),
		cmocka_unit_test(test_counts_that_are_wrong),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_shape_on_a_measured_core),
		cmocka_unit_test(test_shape_beside_a_load),
		cmocka_unit_test(test_shape_behind_stores),
		cmocka_unit_test(test_shape_of_repeated),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Simulated cycles a round of blocks of machine code, one in hex a line on stdin, and, with --time,
 * measured ones beside them (in units of a chain of additions). For machine_blocks.py.
 *
 *     machine-blocks [--core CORE] [--builtin] [--tuned] [--time] <BLOCKS
 *
 * Timed blocks must run in a loop: they may use the caller-saved registers, and memory from 0 to
 * 2047 bytes past rsi and r9, which hold the address of a buffer of zeros.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <immintrin.h>
#include <sys/mman.h>
#include "collect/cost/core_meter.h"
#include "bound_name.h"
#include "tune_here.h"

#define CODE_MAX    4096
#define PATIENCE_NS 40e6

struct block {
	uint8_t code[CODE_MAX];
	size_t size;
};

static bool read_block(const char *line, struct block *b)
{
	unsigned byte;
	b->size = 0;
	while (b->size < CODE_MAX - 64 && sscanf(line, "%2x", &byte) == 1) {
		b->code[b->size++] = (uint8_t)byte;
		line += 2;
	}
	return b->size > 0;
}

/* Appends dec %rdi; jnz to the block's begin. */
static void add_jump(struct block *b)
{
	static const uint8_t jump[] = {0x48, 0xff, 0xcf, 0x0f, 0x85};
	memcpy(b->code + b->size, jump, sizeof(jump));
	int32_t back = -(int32_t)(b->size + sizeof(jump) + 4);
	memcpy(b->code + b->size + sizeof(jump), &back, sizeof(back));
	b->size += sizeof(jump) + sizeof(back);
}

static size_t prepare(struct machine_model *m, const struct block *b,
		      struct machine_instruction *list)
{
	size_t count = 0;
	for (size_t at = 0; at < b->size; at += list[count++].size)
		machine_prepare(m, b->code + at, b->size - at, 0x400000 + at, &list[count]);
	machine_fuse(m, list, count);
	return count;
}

/* The page that code is put on: a start that sets registers, the block at an even place, ret. */
static uint8_t *load_code(const struct block *b)
{
	static uint8_t *page;
	static const uint8_t start[] = {
		0xc5, 0xf8, 0x77,	/* vzeroupper: old halves of registers are a dependency */
		0x49, 0x89, 0xf1,	/* mov %rsi,%r9 */
		0xb8, 3,    0,	  0, 0, /* mov $3,%eax */
		0xb9, 5,    0,	  0, 0, /* mov $5,%ecx */
		0xba, 7,    0,	  0, 0, /* mov $7,%edx */
		0x41, 0xb8, 9,	  0, 0, 0, /* mov $9,%r8d */
		0x41, 0xba, 11,	  0, 0, 0, /* mov $11,%r10d */
		0x41, 0xbb, 13,	  0, 0, 0, /* mov $13,%r11d */
	};
	if (!page)
		page = mmap(NULL, 3 * CODE_MAX, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return NULL;
	memset(page, 0x90, 3 * CODE_MAX);
	uint8_t *begin = page + 64;
	memcpy(begin - sizeof(start), start, sizeof(start));
	memcpy(begin, b->code, b->size);
	begin[b->size] = 0xc3;
	return begin - sizeof(start);
}

static double measure(const struct block *b)
{
	_Alignas(4096) static uint8_t buffer[8192];
	const uint8_t *code = load_code(b);
	machine_loop_run *run;
	memcpy(&run, &code, sizeof(run));
	static struct core_meter meter;
	memset(buffer, 0, sizeof(buffer));
	return core_meter_cycles(&meter, run, buffer, PATIENCE_NS);
}

int main(int argc, char **argv)
{
	enum machine_match match;
	const struct machine_core *core = machine_core_detect(&match);
	enum machine_source source = MACHINE_SOURCE_BEST;
	struct machine_model *m;
	struct machine_simulator *s;
	struct diag diag;
	bool timed = false, tuned = false;
	static struct machine_instruction list[CODE_MAX];
	static struct machine_head heads[CODE_MAX];
	static char line[3 * CODE_MAX];
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--builtin"))
			source = MACHINE_SOURCE_BUILTIN;
		else if (!strcmp(argv[i], "--time"))
			timed = true;
		else if (!strcmp(argv[i], "--tuned"))
			tuned = true;
		else if (strcmp(argv[i], "--core") != 0 || ++i == argc ||
			 !(core = machine_core_by_name(argv[i])))
			return fprintf(stderr, "what is %s?\n", argv[i < argc ? i : argc - 1]), 2;
	}
	/* What blocks compute from zeros, no static model knows: denormal numbers count as zeros.
	 */
	_mm_setcsr(_mm_getcsr() | 0x8040);
	if (machine_model_new(core, source, &m, &diag) || (tuned && tune_here(m, &diag)) ||
	    machine_simulator_new(m, NULL, &s))
		return fprintf(stderr, "%s\n", diag.text), 1;
	while (fgets(line, sizeof(line), stdin)) {
		struct block b;
		struct machine_steady steady;
		if (!read_block(line, &b))
			continue;
		if (timed)
			add_jump(&b);
		size_t count = prepare(m, &b, list);
		if (machine_head_times(s, list, count, MACHINE_LOOP, heads, &steady))
			return 1;
		printf("%.3f %s", steady.cycles, bound_names[steady.bound]);
		if (timed)
			printf(" %.3f", measure(&b));
		putchar('\n');
	}
	machine_simulator_free(s);
	machine_model_free(m);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_TESTS_WALKED_PROGRAM_H
#define CULPRIT_TESTS_WALKED_PROGRAM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "analyze/frequency/evidence.h"
#include "cfg/cfg.h"

/*
 * Frequencies of programs that are made up, with known branch probabilities: windows begin where
 * made-up time is spent, and walk the code as a processor would. Random numbers are ours, so every
 * run is the same.
 */
static uint64_t state;

static inline double uniform(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) / 9007199254740992.0;
}

#define CODE_MAX 512

struct program {
	uint8_t code[CODE_MAX];
	size_t size;
	struct cfg_bytes bytes;
	struct cfg_extent extents[4];
	struct cfg_source source;
	struct cfg_image *image;
};

static inline void emit(struct program *p, const char *bytes, size_t size)
{
	memcpy(p->code + p->size, bytes, size);
	p->size += size;
}

static inline void emit_nops(struct program *p, int n)
{
	for (int i = 0; i < n; i++)
		emit(p, "\x90", 1);
}

static inline void emit_near(struct program *p, const char *opcode, size_t size, size_t to)
{
	int32_t distance;

	emit(p, opcode, size);
	distance = (int32_t)((int64_t)to - (int64_t)p->size - 4);
	emit(p, (const char *)&distance, 4);
}

#define BASE 0x1000

/*
 * leaf:  a loop of 3 instructions that is left with 1/4; main: for ever { 30%: five nops and a
 * call of leaf, else two nops; 60%: another call }. Offsets of the branches are in at[].
 */
enum { LEAF_LOOP, MAIN_SKIP, MAIN_SECOND, BRANCHES };
static const double taken[BRANCHES] = {0.75, 0.7, 0.4};

static inline void make_program(struct program *p, uint64_t at[BRANCHES])
{
	size_t main_at, fix, loop;

	memset(p, 0, sizeof(*p));
	emit_nops(p, 2); /* leaf */
	loop = p->size;
	emit_nops(p, 2);
	at[LEAF_LOOP] = BASE + p->size;
	emit_near(p, "\x0f\x84", 2, loop);
	emit(p, "\xc3", 1);
	main_at = p->size;
	emit_nops(p, 3);
	at[MAIN_SKIP] = BASE + p->size;
	fix = p->size;
	emit_near(p, "\x0f\x84", 2, 0);
	emit_nops(p, 5);
	emit_near(p, "\xe8", 1, 0);
	emit_near(p, "\xe9", 1, p->size + 7);
	memcpy(p->code + fix + 2, &(int32_t){(int32_t)(p->size - fix - 6)}, 4);
	emit_nops(p, 2);
	at[MAIN_SECOND] = BASE + p->size;
	emit_near(p, "\x0f\x84", 2, p->size + 11);
	emit_near(p, "\xe8", 1, 0);
	emit_near(p, "\xe9", 1, main_at);
	p->bytes = (struct cfg_bytes){BASE, p->code, p->size};
	p->extents[0] = (struct cfg_extent){BASE, main_at, "leaf", true, false};
	p->extents[1] = (struct cfg_extent){BASE + main_at, p->size - main_at, "main", true, false};
	p->source = (struct cfg_source){.machine = 62,
					.bits = 64,
					.code = &p->bytes,
					.code_count = 1,
					.extents = p->extents,
					.extent_count = 2};
	assert_int_equal(cfg_image_new(&p->source, &p->image, NULL), 0);
}

/* A processor: its place and where it returns to. */
struct walker {
	const struct program *p;
	const uint64_t *at;
	uint64_t pc, back;
};

static const struct isa_instruction *instruction(const struct program *p, uint64_t pc)
{
	const struct cfg_function *f;

	assert_int_equal(cfg_image_function(p->image, pc, &f), 0);
	return &f->instructions[cfg_function_instruction_at(f, pc)];
}

/* One step; true when it was a transfer. */
static inline bool step(struct walker *w)
{
	const struct isa_instruction *in = instruction(w->p, w->pc);
	const uint64_t next = w->pc + in->size;

	switch (in->branch) {
	case ISA_BRANCH_CONDITIONAL:
		for (int i = 0; i < BRANCHES; i++) {
			if (w->at[i] == w->pc)
				w->pc = uniform() < taken[i] ? in->target : next;
		}
		return true;
	case ISA_BRANCH_JUMP:
		w->pc = in->target;
		return true;
	case ISA_BRANCH_CALL:
		w->back = next;
		w->pc = in->target;
		return true;
	case ISA_BRANCH_RETURN:
		w->pc = w->back;
		return true;
	default:
		w->pc = next;
		return false;
	}
}

struct rows {
	struct evidence_sample samples[CODE_MAX];
	struct evidence_edge edges[CODE_MAX * 8];
	size_t sample_count, edge_count;
	uint64_t truth[CODE_MAX], total;
	uint64_t time[CODE_MAX], pair[CODE_MAX][CODE_MAX], ends[CODE_MAX];
	uint64_t jumps[CODE_MAX][CODE_MAX]; /* taken ones, of the whole run */
};

/* Time passes in proportion to an instruction's cost, which differs tenfold. */
static inline double cost(uint64_t pc)
{
	return pc % 5 == 0 ? 5 : pc % 3 == 0 ? 0.5 : 1;
}

static inline void run(struct rows *r, const struct program *p, const uint64_t *at, size_t windows)
{
	struct walker w = {.p = p, .at = at, .pc = BASE + 11};
	double clock = 0, next = 200 * uniform();
	size_t taken_windows = 0;
	uint64_t here, next_pc;

	memset(r, 0, sizeof(*r));
	w.pc = p->extents[1].start;
	/* To where main begins again: nothing is left in the middle. */
	while (taken_windows < windows || w.pc != p->extents[1].start) {
		r->truth[w.pc - BASE]++;
		r->total++;
		clock += cost(w.pc);
		if (clock > next) {
			struct walker ahead = w;

			next = clock + 400 * uniform();
			taken_windows++;
			r->time[w.pc - BASE]++;
			for (int i = 0; i < 64; i++) {
				const uint64_t from = ahead.pc;

				if (step(&ahead))
					r->pair[from - BASE][ahead.pc - BASE]++;
			}
			r->ends[ahead.pc - BASE]++;
		}
		here = w.pc;
		next_pc = w.pc + instruction(p, w.pc)->size;
		if (step(&w) && w.pc != next_pc)
			r->jumps[here - BASE][w.pc - BASE]++;
	}
	for (uint64_t i = 0; i < CODE_MAX; i++) {
		if (r->time[i]) {
			r->samples[r->sample_count++] =
				(struct evidence_sample){BASE + i, r->time[i]};
			r->edges[r->edge_count++] = (struct evidence_edge){
				EVIDENCE_START, BASE + i, r->time[i], .windows = r->time[i]};
		}
		if (r->ends[i])
			r->edges[r->edge_count++] = (struct evidence_edge){
				BASE + i, EVIDENCE_END, r->ends[i], .windows = r->ends[i]};
		for (uint64_t j = 0; j < CODE_MAX; j++) {
			if (r->pair[i][j])
				r->edges[r->edge_count++] = (struct evidence_edge){
					.from = BASE + i, .to = BASE + j, .count = r->pair[i][j]};
		}
	}
	for (size_t i = 0; i < r->edge_count; i++)
		r->edges[i].evidence = DB_EVIDENCE_WINDOWS;
}

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Plans against walks: functions that are made up, as bytes, are walked through at random; what the
 * counters of a copy would count then gives how often each block and edge was passed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "instrument/copy.h"
#include "instrument/counts.h"
#include "random_graph.h"

#define MADE_CODE   0x10000u
#define MADE_DATA   0x80000u
#define MADE_BLOCKS 24
#define MADE_BYTES  40 /* of a block, the most */

enum made { MADE_FALLS, MADE_JUMPS, MADE_BRANCHES, MADE_CALLS, MADE_RETURNS, MADE_SWITCHES };

struct made_code {
	uint8_t code[MADE_BLOCKS * MADE_BYTES + 64], data[MADE_BLOCKS * 16];
	struct cfg_bytes code_bytes, data_bytes;
	struct cfg_extent extents[2];
	struct cfg_source source;
	uint32_t at[MADE_BLOCKS + 1]; /* of each block; of the function that is called */
	enum made kinds[MADE_BLOCKS];
	uint32_t count, size;
};

static void emit(struct made_code *m, const char *bytes, uint32_t size)
{
	memcpy(m->code + m->size, bytes, size);
	m->size += size;
}

static void emit_distance(struct made_code *m, uint32_t target)
{
	const uint32_t distance = target - (m->size + 4);

	emit(m, (const char *)&distance, 4);
}

/* A block at m->size; positions of others are of the round before. */
static void emit_block(struct made_code *m, uint32_t n, uint64_t *random)
{
	static const char filler[] = "\x89\xc8\x48\x8d\x40\x01\x31\xf6\x48\x63\xc6\x0f\x1f\x40\x00";
	static const uint32_t sizes[] = {0, 0, 2, 6, 8, 11};

	m->at[n] = m->size;
	emit(m, filler, sizes[random_below(random, 6)]);
	const uint32_t a = m->at[random_below(random, m->count)];
	const uint32_t b = m->at[random_below(random, m->count)];
	const int32_t near = (int32_t)(a - (m->size + 2));

	switch (m->kinds[n]) {
	case MADE_FALLS:
		break;
	case MADE_JUMPS:
		if (near == (int8_t)near) {
			emit(m, (char[]){(char)0xeb, (char)near}, 2);
		} else {
			emit(m, "\xe9", 1);
			emit_distance(m, a);
		}
		break;
	case MADE_BRANCHES:
		emit(m, "\x0f\x84", 2);
		emit_distance(m, a);
		break;
	case MADE_CALLS:
		emit(m, "\xe8", 1);
		emit_distance(m, m->at[m->count]);
		break;
	case MADE_RETURNS:
		emit(m, "\xc3", 1);
		break;
	case MADE_SWITCHES: /* cmp $1; ja; mov; lea; movslq; add; jmp */
		emit(m, "\x83\xff\x01\x0f\x87", 5);
		emit_distance(m, b);
		emit(m, "\x89\xff\x48\x8d\x15", 5);
		emit_distance(m, MADE_DATA - MADE_CODE + n * 16);
		emit(m, "\x48\x63\x04\xba\x48\x01\xd0\xff\xe0", 9);
		for (uint32_t i = 0; i < 2; i++) {
			const uint32_t entry = MADE_CODE + (i ? b : a) - (MADE_DATA + n * 16);

			memcpy(m->data + n * 16 + i * 4, &entry, sizeof(entry));
		}
	}
}

static void make_code(struct made_code *m, uint64_t seed)
{
	uint64_t start = seed * 2654435761u + 7;

	*m = (struct made_code){.count = 3 + random_below(&start, MADE_BLOCKS - 3)};
	for (uint32_t i = 0; i < m->count; i++)
		m->kinds[i] = random_below(&start, MADE_SWITCHES + (seed % 3 == 0));
	m->kinds[m->count - 1] = MADE_RETURNS;
	for (int round = 0; round < 8; round++) { /* until short jumps are where they were */
		uint64_t random = start;

		m->size = 0;
		for (uint32_t i = 0; i < m->count; i++)
			emit_block(m, i, &random);
		m->at[m->count] = m->size;
		emit(m, "\xc3\xcc\xcc\xcc\xcc", 5);
	}
	m->code_bytes = (struct cfg_bytes){MADE_CODE, m->code, m->size};
	m->data_bytes = (struct cfg_bytes){MADE_DATA, m->data, sizeof(m->data)};
	m->extents[0] = (struct cfg_extent){.start = MADE_CODE, .size = m->at[m->count]};
	m->extents[1] = (struct cfg_extent){.start = MADE_CODE + m->at[m->count], .size = 1};
	m->source = (struct cfg_source){.machine = EM_X86_64,
					.bits = 64,
					.code = &m->code_bytes,
					.code_count = 1,
					.data = &m->data_bytes,
					.data_count = 1,
					.extents = m->extents,
					.extent_count = 2};
}

/* Walks, and what is known of them. */
struct walk {
	const struct instrument_plan *plan;
	const struct cfg_function *f;
	uint64_t *blocks, *edges, *slots;
	uint64_t random;
};

static void pass(struct walk *w, uint32_t block, enum instrument_site site)
{
	const uint32_t edge = w->plan->at[block][site];

	if (edge != INSTRUMENT_NONE)
		w->slots[w->plan->edges[edge].slot]++;
}

/* A call that comes back where nothing sees it has to. */
static bool may_not_return(struct walk *w, uint32_t to)
{
	return !w->plan->through[to] && random_below(&w->random, 8) == 0;
}

/* Leaves a block by one of its edges: the next block, or CFG_OUTSIDE. */
static uint32_t leave(struct walk *w, uint32_t block)
{
	const struct cfg_block *b = &w->f->blocks[block];
	const enum isa_branch branch =
		w->f->instructions[b->first_instruction + b->instruction_count - 1].branch;
	const uint32_t which = b->succ_count ? random_below(&w->random, b->succ_count) : 0;
	const struct cfg_edge *e = &w->f->edges[b->first_succ + which];

	if (branch == ISA_BRANCH_CALL && may_not_return(w, e->to))
		return CFG_OUTSIDE;
	w->edges[b->first_succ + which]++;
	if (branch == ISA_BRANCH_CONDITIONAL)
		pass(w, block, which ? INSTRUMENT_AT_TAKEN : INSTRUMENT_AT_NEXT);
	else if (branch != ISA_BRANCH_CALL && !w->plan->through[block])
		pass(w, block, INSTRUMENT_AT_END);
	if (e->to == CFG_OUTSIDE)
		return CFG_OUTSIDE;
	if (e->kind == CFG_INDIRECT || w->plan->through[block] ||
	    (branch == ISA_BRANCH_CALL && !w->plan->through[e->to]))
		pass(w, e->to, INSTRUMENT_AT_ENTRANCE);
	return e->to;
}

static void walk(struct walk *w, struct instrument_presence *presence)
{
	uint32_t block = w->f->entry_block;

	*presence = (struct instrument_presence){0};
	if (random_below(&w->random, 4) == 0) {
		block = random_below(&w->random, w->f->block_count);
		*presence = (struct instrument_presence){w->f->blocks[block].start, 1, 0};
	} else {
		pass(w, block, INSTRUMENT_AT_ENTRANCE);
		w->edges[w->f->edge_count - 1]++; /* the one that enters */
	}
	for (uint32_t left = random_below(&w->random, 60); block != CFG_OUTSIDE; left--) {
		if (left == 0) {
			presence[1] = (struct instrument_presence){w->f->blocks[block].start, 0, 1};
			return;
		}
		w->blocks[block]++;
		block = leave(w, block);
	}
}

static void walk_function(const struct instrument_plan *plan, uint64_t seed)
{
	const struct cfg_function *f = plan->function;
	struct instrument_presence presences[64] = {{0}};
	struct instrument_counts *c;
	struct walk w = {.plan = plan,
			 .f = f,
			 .blocks = calloc(f->block_count, sizeof(uint64_t)),
			 .edges = calloc(f->edge_count, sizeof(uint64_t)),
			 .slots = calloc(plan->slot_count + 1, sizeof(uint64_t)),
			 .random = seed};

	assert_true(w.blocks && w.edges && w.slots);
	for (int i = 0; i < 32; i++)
		walk(&w, &presences[2 * i]);
	assert_int_equal(instrument_counts_new(plan, w.slots, presences, 64, &c), 0);
	assert_int_equal(c->inconsistent, 0);
	assert_memory_equal(c->blocks, w.blocks, f->block_count * sizeof(uint64_t));
	for (uint32_t i = 0; i < f->edge_count; i++)
		if (c->edges[i] != INSTRUMENT_UNKNOWN)
			assert_int_equal(c->edges[i], w.edges[i]);
	instrument_counts_free(c);
	free(w.blocks);
	free(w.edges);
	free(w.slots);
}

#define MADE_COPY 0x200000u
#define MADE_BIAS 0x7000u

/* From inserted code, at an offset of a copy, to the instruction that it leads to, 0: out of the
 * copy. All on the way is charged to the one, or the other. How many pieces are on the way. */
static uint32_t follow_inserted(const struct instrument_code *c, uint64_t at, uint64_t *ret_charged,
				uint64_t *ret_to)
{
	uint32_t pieces = 0;

	for (;;) {
		const struct instrument_place *place = instrument_code_at_copy(c, c->address + at);
		const struct instrument_piece *p = c->pieces;
		uint32_t i = 0;
		int32_t distance;

		*ret_to = place ? place->original : 0;
		if (place || at >= c->size)
			return pieces;
		while (i < c->piece_count && p[i].copy != at)
			i++;
		assert_true(i < c->piece_count);
		assert_true(!pieces++ || p[i].charged == *ret_charged);
		*ret_charged = p[i].charged;
		memcpy(&distance, c->bytes + at + 1, sizeof(distance));
		if (c->bytes[at] == 0xe9) {
			at += 5 + (uint64_t)(int64_t)distance;
			continue;
		}
		/* The next piece, or the next place. */
		do
			at++;
		while (!instrument_code_at_copy(c, c->address + at) &&
		       !(i + 1 < c->piece_count && p[i + 1].copy == at));
	}
}

/* Where the copy is entered, and behind branches, counters are time of the block that they lead to;
 * where a branch leads out of the copy, of the branch. */
static uint32_t check_led_to(const struct instrument_code *c, uint64_t at, uint64_t from)
{
	uint64_t charged = 0, to;

	if (!follow_inserted(c, at, &charged, &to))
		return 0;
	assert_int_equal(charged, to ? to : from);
	return 1;
}

static uint32_t check_charged(const struct instrument_plan *plan)
{
	const struct instrument_destination at = {.bias = MADE_BIAS, .address = MADE_COPY};
	struct instrument_code c;
	uint32_t checked = 0;
	int32_t distance;

	assert_int_equal(instrument_copy_new(plan, &at, &c), 0);
	for (uint32_t i = 0; i < c.patch_count; i++) {
		const struct instrument_patch *p = &c.patches[i];

		memcpy(&distance, p->after + 1, sizeof(distance));
		if (p->size == INSTRUMENT_PATCH_BYTES)
			checked += check_led_to(
				&c, p->address + 5 + (uint64_t)(int64_t)distance - c.address, 0);
	}
	for (uint32_t i = 0; i < c.place_count; i++) {
		const uint8_t *code = c.bytes + c.places[i].copy;

		/* Those that are made, not the inverse. */
		if (c.size - c.places[i].copy < 6 || code[0] != 0x0f ||
		    (code[1] != 0x84 && code[1] != 0x87))
			continue;
		memcpy(&distance, code + 2, sizeof(distance));
		checked += check_led_to(&c, c.places[i].copy + 6 + (uint64_t)(int64_t)distance,
					c.places[i].original);
	}
	instrument_code_free(&c);
	return checked;
}

static void test_walks(void **state)
{
	uint32_t planned = 0, through = 0, made_up = 0, charged = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 3000; seed++) {
		struct made_code m;
		struct instrument_request q = {0};
		struct instrument_plan *plan;
		enum instrument_reason why;
		struct cfg_image *made;

		make_code(&m, seed);
		assert_int_equal(cfg_image_new(&m.source, &made, NULL), 0);
		assert_int_equal(cfg_image_function(made, MADE_CODE, &q.function), 0);
		const int r = instrument_plan_new(&q, &plan, &why);
		if (r == 0) {
			planned++;
			made_up += plan->node_count > plan->function->block_count + 1;
			for (uint32_t i = 0; i < plan->function->block_count; i++)
				through += plan->through[i];
			walk_function(plan, seed);
			charged += check_charged(plan);
			instrument_plan_free(plan);
		} else {
			assert_int_equal(r, -EOPNOTSUPP);
		}
		cfg_image_free(made);
	}
	assert_true(planned > 1000 && through > 50 && made_up > 50 && charged > 1000);
}

/* One counter of 5 and all others of 0, and one that is none. */
static uint32_t find_inconsistent(const struct instrument_plan *plan)
{
	uint64_t *some = calloc(plan->slot_count + 1, sizeof(*some));
	struct instrument_counts *c;
	uint32_t found = 0;

	assert_non_null(some);
	for (uint32_t i = 0; i < plan->slot_count; i++) {
		some[i] = 5;
		assert_int_equal(instrument_counts_new(plan, some, NULL, 0, &c), 0);
		for (uint32_t b = 0; b < plan->function->block_count; b++)
			assert_true(c->blocks[b] <= 5 * (uint64_t)plan->edge_count);
		found += c->inconsistent != 0;
		instrument_counts_free(c);
		some[i] = UINT64_MAX;
		assert_int_equal(instrument_counts_new(plan, some, NULL, 0, &c), -ERANGE);
		some[i] = 0;
	}
	free(some);
	return found;
}

/* Counters that do not belong together are said to, and nothing wraps. */
static void test_inconsistent(void **state)
{
	uint32_t found = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 50; seed++) {
		struct made_code m;
		struct instrument_request q = {0};
		struct instrument_plan *plan;
		enum instrument_reason why;
		struct cfg_image *made;

		make_code(&m, seed);
		assert_int_equal(cfg_image_new(&m.source, &made, NULL), 0);
		assert_int_equal(cfg_image_function(made, MADE_CODE, &q.function), 0);
		if (instrument_plan_new(&q, &plan, &why) == 0) {
			found += find_inconsistent(plan);
			instrument_plan_free(plan);
		}
		cfg_image_free(made);
	}
	assert_true(found > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walks),
		cmocka_unit_test(test_inconsistent),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

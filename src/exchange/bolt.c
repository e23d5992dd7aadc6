/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/counted.h"
#include "util/hash.h"
#include "util/num.h"

#define LOCALS_MAX (1u << 24)

/*
 * BOLT's profiles (llvm-project, bolt/lib/Profile/DataReader.cpp and DataAggregator.cpp describe
 * the formats): what a last-branch record would have shown, without mispredictions.
 */
struct writer {
	const struct counted_image *image;
	struct buf *out;
	struct map64 *called; /* entry of a function -> calls of it that have a line */
	struct map64 *locals; /* start of a local function -> its number; of fdata only */
	void (*branch)(struct writer *w, uint64_t from, uint64_t to, uint64_t count);
	/* from: the first instruction of a block, last: its last, to: the next block. */
	void (*fall)(struct writer *w, uint64_t from, uint64_t last, uint64_t to, uint64_t count);
	void (*enter)(struct writer *w, uint64_t to, uint64_t count);
};

static uint64_t last_instruction(const struct cfg_function *f, uint32_t block)
{
	const struct cfg_block *b = &f->blocks[block];

	return b->instruction_count ? cfg_block_last(f, b)->address : b->start;
}

static void write_edge(struct writer *w, const struct cfg_function *f, const struct cfg_edge *e,
		       uint64_t count)
{
	uint64_t last;

	if (!count || e->from == CFG_OUTSIDE || e->to == CFG_OUTSIDE)
		return;
	last = last_instruction(f, e->from);
	switch (e->kind) {
	case CFG_TAKEN:
	case CFG_JUMP:
	case CFG_INDIRECT:
		w->branch(w, last, f->blocks[e->to].start, count);
		break;
	case CFG_FALL_THROUGH:
	case CFG_AFTER_CALL:
		/* A call alone ends no block of BOLT's. */
		if (e->kind == CFG_AFTER_CALL && f->blocks[e->to].pred_count == 1)
			break;
		w->fall(w, f->blocks[e->from].start, last, f->blocks[e->to].start, count);
		break;
	default:
		break;
	}
}

static void count_call(struct writer *w, uint64_t target, uint64_t count)
{
	uint64_t sum = 0;

	map64_get(w->called, target, &sum);
	if (map64_put(w->called, target, num_add_sat(sum, count)))
		w->out->error = -ENOMEM;
}

static void write_calls(struct writer *w, const struct counted_function *c)
{
	const struct cfg_function *f = c->function;

	for (uint32_t i = 0; i < f->call_count; i++) {
		const struct cfg_call *call = &f->calls[i];
		uint64_t address = f->instructions[call->instruction].address;
		uint32_t block = cfg_function_block_at(f, address);

		if (call->target == ISA_NO_ADDRESS || block == CFG_OUTSIDE || !c->blocks[block])
			continue;
		/* A conditional jump that leaves the function is taken less often than it runs; how
		 * often is known of its edge alone, which has no address. */
		if (call->tail && f->instructions[call->instruction].branch != ISA_BRANCH_JUMP)
			continue;
		w->branch(w, address, call->target, c->blocks[block]);
		count_call(w, call->target, c->blocks[block]);
	}
}

/* The calls that come from other images, or through pointers. */
static void write_entries(struct writer *w, const struct counted_function *c)
{
	uint64_t known = 0;

	map64_get(w->called, c->function->entry, &known);
	if (c->entries > known)
		w->enter(w, c->function->entry, c->entries - known);
}

static void write_all(struct writer *w)
{
	w->called = map64_new(1 << 24);
	if (!w->called) {
		w->out->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < w->image->function_count; i++) {
		const struct counted_function *c = &w->image->functions[i];

		for (uint32_t e = 0; e < c->function->edge_count; e++)
			write_edge(w, c->function, &c->function->edges[e], c->edges[e]);
		write_calls(w, c);
	}
	for (size_t i = 0; i < w->image->function_count; i++)
		write_entries(w, &w->image->functions[i]);
	map64_free(w->called);
}

static void branch_by_address(struct writer *w, uint64_t from, uint64_t to, uint64_t count)
{
	buf_printf(w->out, "B %" PRIx64 " %" PRIx64 " %" PRIu64 " 0\n", from, to, count);
}

static void fall_by_address(struct writer *w, uint64_t from, uint64_t last, uint64_t to,
			    uint64_t count)
{
	(void)last;
	buf_printf(w->out, "F %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", from, to, count);
}

static void enter_by_address(struct writer *w, uint64_t to, uint64_t count)
{
	buf_printf(w->out, "B X:0 %" PRIx64 " %" PRIu64 " 0\n", to, count);
}

void bolt_write_preaggregated(const struct counted_image *image, struct buf *out)
{
	struct writer w = {.image = image,
			   .out = out,
			   .branch = branch_by_address,
			   .fall = fall_by_address,
			   .enter = enter_by_address};

	write_all(&w);
}

static const struct image_function *find_symbol(const struct writer *w, uint64_t address)
{
	const struct image_function *f = image_symbols_find(w->image->symbols, address);

	return f && f->named ? f : NULL;
}

/*
 * Names are written as BOLT's own tools do: with a backslash before what would split them, and
 * local ones with their number among those of the same name, in order of address.
 */
static void put_place(struct writer *w, const struct image_function *f, uint64_t address)
{
	uint64_t number;

	buf_printf(w->out, "1 ");
	for (const char *c = f->name; *c; c++) {
		/* BOLT would look for the name in vain; on a terminal it could do harm. */
		uint8_t byte = iscntrl((unsigned char)*c) ? '?' : (uint8_t)*c;

		if (byte == ' ' || byte == '\\')
			buf_append_u8(w->out, '\\');
		buf_append_u8(w->out, byte);
	}
	if (f->local && map64_get(w->locals, f->start, &number) == 0)
		buf_printf(w->out, "/%" PRIu64, number);
	buf_printf(w->out, " %" PRIx64 " ", address - f->start);
}

static int number_locals(struct writer *w)
{
	struct intern *names = intern_new(LOCALS_MAX);
	size_t count = image_symbols_count(w->image->symbols);
	uint32_t *numbers = calloc(count + 1, sizeof(*numbers)), name;
	int r = names && numbers && w->locals ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !r; i++) {
		const struct image_function *f = image_symbols_at(w->image->symbols, i);

		if (!f->local)
			continue;
		r = intern_add(names, f->name, strlen(f->name), &name);
		if (!r)
			r = map64_put(w->locals, f->start, ++numbers[name]);
	}
	intern_free(names);
	free(numbers);
	return r;
}

static void branch_by_symbol(struct writer *w, uint64_t from, uint64_t to, uint64_t count)
{
	const struct image_function *a = find_symbol(w, from), *b = find_symbol(w, to);

	if (!a || !b)
		return;
	put_place(w, a, from);
	put_place(w, b, to);
	buf_printf(w->out, "0 %" PRIu64 "\n", count);
}

static void fall_by_symbol(struct writer *w, uint64_t from, uint64_t last, uint64_t to,
			   uint64_t count)
{
	(void)from;
	branch_by_symbol(w, last, to, count);
}

static void enter_by_symbol(struct writer *w, uint64_t to, uint64_t count)
{
	const struct image_function *f = find_symbol(w, to);

	if (!f)
		return;
	buf_printf(w->out, "0 [unknown] 0 ");
	put_place(w, f, to);
	buf_printf(w->out, "0 %" PRIu64 "\n", count);
}

void bolt_write_fdata(const struct counted_image *image, struct buf *out)
{
	struct writer w = {.image = image,
			   .out = out,
			   .branch = branch_by_symbol,
			   .fall = fall_by_symbol,
			   .enter = enter_by_symbol};

	if (!image->symbols)
		return;
	w.locals = map64_new(LOCALS_MAX);
	w.out->error = number_locals(&w);
	if (!w.out->error)
		write_all(&w);
	map64_free(w.locals);
}

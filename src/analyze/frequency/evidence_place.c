/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "analyze/frequency/evidence_graph.h"
#include "analyze/frequency/masked.h"
#include "util/array.h"
#include "util/num.h"

static bool transfers(enum isa_branch branch)
{
	return branch == ISA_BRANCH_JUMP || branch == ISA_BRANCH_CONDITIONAL ||
	       branch == ISA_BRANCH_CALL || branch == ISA_BRANCH_RETURN;
}

static const struct isa_instruction *last_instruction(const struct cfg_function *f, uint32_t block)
{
	return cfg_block_last(f, &f->blocks[block]);
}

/* Of the functions that have the code the first choice, if it is one of them; else the one that it
 * belongs to, which has its samples. */
static bool find_place(const struct evidence *e, uint32_t image, uint64_t address, uint32_t first,
		       struct evidence_place *ret)
{
	const struct evidence_function *f = NULL;
	const struct cfg_function *built;
	uint64_t number;

	if (first < e->function_count && e->functions[first].image == image) {
		f = &e->functions[first];
		ret->block = cfg_function_block_at(f->function, address);
	}
	if (!f || ret->block == CFG_OUTSIDE) {
		if (image >= e->image_count || !e->images[image].cfg ||
		    cfg_image_function(e->images[image].cfg, address, &built) ||
		    map64_get(e->numbers, (uintptr_t)built, &number))
			return false;
		f = &e->functions[number];
		ret->block = cfg_function_block_at(f->function, address);
	}
	if (ret->block == CFG_OUTSIDE)
		return false;
	ret->function = (uint32_t)(f - e->functions);
	ret->instruction = cfg_function_instruction_at(f->function, address);
	return true;
}

static struct evidence_block *block_of(struct evidence *e, const struct evidence_place *p)
{
	return &e->blocks[e->functions[p->function].first_block + p->block];
}

/* That it ran is all that such samples tell of a place, not how long it took. */
static bool has_waited(const struct evidence *e, const struct evidence_place *p)
{
	return masked_until(e->functions[p->function].function, p->block, p->instruction) !=
	       CFG_OUTSIDE;
}

static void place_samples(struct evidence *e, uint32_t image)
{
	const struct evidence_image *m = &e->images[image];
	struct evidence_block *block;
	struct evidence_place p = {0};

	for (size_t i = 0; i < m->sample_count; i++) {
		if (!m->samples[i].count)
			continue;
		e->totals.samples += m->samples[i].count;
		if (!find_place(e, image, m->samples[i].offset, UINT32_MAX, &p))
			continue;
		e->totals.samples_placed += m->samples[i].count;
		block = block_of(e, &p);
		const uint64_t count = m->masks && has_waited(e, &p) ? 1 : m->samples[i].count;
		block->samples += count;
		block->entropy_sum += (double)count * log((double)count);
		block->sampled++;
		e->functions[p.function].samples += m->samples[i].count;
	}
	for (size_t i = 0; i < m->executed_count; i++) {
		if (find_place(e, image, m->executed[i].offset, UINT32_MAX, &p))
			block_of(e, &p)->executed += (double)m->executed[i].count;
	}
}

/* Windows that begin at an instruction, come to it, or (negative) end before it. */
static void arrive(struct evidence *e, const struct evidence_place *p, double count)
{
	const struct cfg_block *b = &e->functions[p->function].function->blocks[p->block];
	const uint32_t before = p->instruction - b->first_instruction;
	struct evidence_block *to = block_of(e, p);

	if (!before && count > 0) {
		to->head += count;
		return;
	}
	to->inside += count;
	to->passed += count * (b->instruction_count - before) / b->instruction_count;
}

static int add_call(struct evidence *e, const struct evidence_call *call)
{
	if (array_grow(&e->calls, e->call_count, &e->call_room, sizeof(*e->calls), 1024))
		return -ENOMEM;
	e->calls[e->call_count++] = *call;
	return 0;
}

/* The edge of a block that leads to an address in its function, or out of it. */
static uint32_t find_edge(const struct cfg_function *f, uint32_t block, uint64_t to, bool inside)
{
	const struct cfg_block *b = &f->blocks[block];
	uint32_t out = EVIDENCE_NO_EDGE;

	for (uint32_t i = b->first_succ; i < b->first_succ + b->succ_count; i++) {
		const struct cfg_edge *edge = &f->edges[i];

		if (edge->to == CFG_OUTSIDE) {
			if (out == EVIDENCE_NO_EDGE || edge->kind == CFG_TAIL)
				out = i;
		} else if (inside && edge->kind != CFG_AFTER_CALL &&
			   f->blocks[edge->to].start == to) {
			return i;
		}
	}
	return out;
}

/* An outcome of the transfer at the end of a known block; target NULL: it is not in the graph. */
static int place_outcome(struct evidence *e, const struct evidence_edge *row, bool windows,
			 const struct evidence_place *from, const struct evidence_place *target)
{
	const struct evidence_function *f = &e->functions[from->function];
	const bool call = last_instruction(f->function, from->block)->branch == ISA_BRANCH_CALL;
	const double count = (double)row->count;
	uint32_t edge = EVIDENCE_NO_EDGE;

	if (windows)
		block_of(e, from)->outcomes += count;
	if (!call) {
		edge = find_edge(f->function, from->block, row->to,
				 target && target->function == from->function);
		if (edge == EVIDENCE_NO_EDGE)
			return 0;
		if (windows)
			e->ways[f->first_edge + edge].passes += count;
		else
			e->ways[f->first_edge + edge].recorded += count;
		if (f->function->edges[edge].to != CFG_OUTSIDE ||
		    f->function->edges[edge].kind == CFG_RETURN) {
			e->totals.edges_placed += row->count;
			return 0;
		}
	}
	if (!target ||
	    e->functions[target->function].function->blocks[target->block].start != row->to)
		return 0;
	e->totals.edges_placed += row->count;
	return add_call(e, &(struct evidence_call){.callee = target->function,
						   .target = target->block,
						   .caller = from->function,
						   .block = from->block,
						   .edge = edge,
						   .passes = count});
}

static int place_edges(struct evidence *e, uint32_t image)
{
	const struct evidence_image *m = &e->images[image];
	struct evidence_place from = {0}, to = {0};

	for (size_t i = 0; i < m->edge_count; i++) {
		const struct evidence_edge *row = &m->edges[i];
		const bool windows = row->evidence == DB_EVIDENCE_WINDOWS;
		const double count = (double)row->count;
		bool known = false, target = false;

		if (row->from != EVIDENCE_START)
			known = find_place(e, image, row->from, UINT32_MAX, &from);
		if (row->to != EVIDENCE_END)
			target = find_place(e, row->to_image, row->to,
					    known ? from.function : UINT32_MAX, &to);
		if (row->evidence == DB_EVIDENCE_COUNTS) {
			evidence_place_count(e, row, known ? &from : NULL, target ? &to : NULL);
			continue;
		}
		if (target && windows)
			arrive(e, &to, count);
		if (row->from == EVIDENCE_START) {
			e->totals.windows += windows ? row->count : 0;
			continue;
		}
		if (row->to == EVIDENCE_END) {
			if (known && windows)
				arrive(e, &from, -count);
			continue;
		}
		e->totals.edges += row->count;
		if (!known && target && e->functions[to.function].function->entry == row->to)
			e->functions[to.function].unexplained += count;
		if (!known ||
		    last_instruction(e->functions[from.function].function, from.block)->address !=
			    row->from)
			continue;
		int r = place_outcome(e, row, windows, &from, target ? &to : NULL);
		if (r)
			return r;
	}
	return 0;
}

/* From arrivals to visits: what does not transfer control goes on into the next block. */
static void pass_on(struct evidence *e, const struct evidence_function *f)
{
	double carried = 0;

	for (uint32_t i = 0; i < f->function->block_count; i++) {
		const struct cfg_block *b = &f->function->blocks[i];
		struct evidence_block *to = &e->blocks[f->first_block + i];
		const bool follows = i && f->function->blocks[i - 1].end == b->start;

		to->visits = (follows ? carried : 0) + to->head + to->passed;
		to->leaving = (follows ? carried : 0) + to->head + to->inside;
		to->visits = to->visits > 0 ? to->visits : 0;
		to->leaving = to->leaving > 0 ? to->leaving : 0;
		carried = transfers(last_instruction(f->function, i)->branch) ? 0 : to->leaving;
		for (uint32_t k = 0; carried > 0 && k < b->succ_count; k++) {
			if (f->function->edges[b->first_succ + k].kind == CFG_FALL_THROUGH)
				e->ways[f->first_edge + b->first_succ + k].passes += carried;
		}
	}
}

#define CROWDING_LEAST 8 /* samples of a block */

static void find_crowding(const struct evidence *e, struct evidence_function *f)
{
	for (uint32_t b = 0; b < f->function->block_count; b++) {
		const struct evidence_block *block = &e->blocks[f->first_block + b];
		const double n = (double)block->samples;

		if (block->samples < CROWDING_LEAST)
			continue;
		f->crowding_samples += n;
		/* Less what chance makes of an even spread. */
		f->crowding += block->entropy_sum - n * log(n) +
			       n * log(f->function->blocks[b].instruction_count) -
			       (block->sampled - 1.0) / 2;
	}
}

/* Calls that the code fixes, seen or not. */
static int add_fixed_calls(struct evidence *e, uint32_t caller)
{
	const struct evidence_function *f = &e->functions[caller];

	for (uint32_t i = 0; i < f->function->call_count; i++) {
		const struct cfg_call *c = &f->function->calls[i];
		const uint64_t at = f->function->instructions[c->instruction].address;
		const uint32_t block = cfg_function_block_at(f->function, at);
		const struct evidence_function *to = evidence_find_entry(e, f->image, c->target);

		if (c->target == ISA_NO_ADDRESS || block == CFG_OUTSIDE || !to)
			continue;
		int r = add_call(e,
				 &(struct evidence_call){
					 .callee = (uint32_t)(to - e->functions),
					 .target = to->function->entry_block,
					 .caller = caller,
					 .block = block,
					 .edge = c->tail ? find_edge(f->function, block, 0, false)
							 : EVIDENCE_NO_EDGE,
					 .direct = true});
		if (r)
			return r;
	}
	return 0;
}

static int call_compare(const void *a, const void *b)
{
	const struct evidence_call *c = a, *d = b;
	int order = NUM_ORDER(c->callee, d->callee) ?: NUM_ORDER(c->target, d->target);

	if (!order)
		order = NUM_ORDER(c->caller, d->caller) ?: NUM_ORDER(c->block, d->block);
	return order ?: NUM_ORDER(c->edge, d->edge);
}

static void merge_calls(struct evidence *e)
{
	size_t kept = 0;

	array_sort(e->calls, e->call_count, sizeof(*e->calls), call_compare);
	for (size_t i = 0; i < e->call_count; i++) {
		if (kept && !call_compare(&e->calls[kept - 1], &e->calls[i])) {
			e->calls[kept - 1].passes += e->calls[i].passes;
			e->calls[kept - 1].direct |= e->calls[i].direct;
		} else {
			e->calls[kept++] = e->calls[i];
		}
	}
	e->call_count = kept;
}

int evidence_place_all(struct evidence *e)
{
	int r = 0;

	for (uint32_t i = 0; i < e->image_count && !r; i++) {
		place_samples(e, i);
		r = place_edges(e, i);
	}
	evidence_judge_counts(e);
	for (uint32_t i = 0; i < e->function_count && !r; i++) {
		pass_on(e, &e->functions[i]);
		find_crowding(e, &e->functions[i]);
		r = add_fixed_calls(e, i);
	}
	if (!r)
		merge_calls(e);
	return r ?: evidence_find_loops(e);
}

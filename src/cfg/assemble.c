/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Makes sorted blocks and edges from instructions in the order in which they were found. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cfg/build.h"
#include "util/array.h"
#include "util/num.h"

struct assembly {
	struct cfg_builder *b;
	struct build_instruction **sorted;
	uint32_t *block_of; /* of sorted instructions */
	struct cfg_block *blocks;
	struct cfg_edge *edges;
	struct cfg_call *calls;
	size_t block_count, block_room, edge_count, edge_room, call_count, call_room;
};

static int compare_instructions(const void *pa, const void *pb)
{
	const struct build_instruction *a = *(struct build_instruction *const *)pa;
	const struct build_instruction *b = *(struct build_instruction *const *)pb;

	return a->in.address < b->in.address ? -1 : a->in.address > b->in.address;
}

/* Runs rise within, so sorting them is enough, unless they overlap. */
static void sort_instructions(struct assembly *a)
{
	struct cfg_builder *b = a->b;
	size_t n = 0;
	bool rises = true;

	array_sort(b->runs, b->run_count, sizeof(*b->runs), num_compare_u64);
	for (size_t r = 0; r < b->run_count; r++)
		for (uint32_t i = 0; i < b->runs[r].count; i++) {
			struct build_instruction *in = &b->list[b->runs[r].first + i];

			rises &= n == 0 || a->sorted[n - 1]->in.address < in->in.address;
			a->sorted[n++] = in;
		}
	if (!rises)
		array_sort(a->sorted, n, sizeof(*a->sorted), compare_instructions);
	for (size_t i = 0; i < n; i++)
		a->sorted[i]->order = (uint32_t)i;
}

static struct build_instruction *find(const struct assembly *a, uint64_t address)
{
	uint32_t i = build_find(a->b, address);

	return i == UINT32_MAX ? NULL : &a->b->list[i];
}

static void mark_leader(const struct assembly *a, uint64_t address, uint32_t more)
{
	struct build_instruction *in = find(a, address);

	if (in)
		in->flags |= BUILD_LEADER | more;
}

static bool ends_block(const struct build_instruction *i)
{
	return (i->in.branch != ISA_BRANCH_NONE && i->in.branch != ISA_BRANCH_SYSTEM) ||
	       (i->flags & (BUILD_FALL_TAIL | BUILD_STOP));
}

/* The next address is reached from here. */
static bool goes_on(const struct build_instruction *i)
{
	switch (i->in.branch) {
	case ISA_BRANCH_JUMP:
	case ISA_BRANCH_RETURN:
		return false;
	case ISA_BRANCH_STOP:
		return i->flags & BUILD_GOES_ON;
	default:
		return !(i->flags & (BUILD_NO_RETURN | BUILD_STOP));
	}
}

static void mark_leaders(const struct assembly *a)
{
	const struct cfg_builder *b = a->b;

	mark_leader(a, b->entry, 0);
	for (size_t i = 0; i < b->landing_count; i++)
		mark_leader(a, b->landings[i], BUILD_LANDING);
	for (size_t j = 0; j < b->jump_count; j++)
		for (uint32_t t = 0; t < b->jumps[j].target_count; t++)
			mark_leader(a, b->jumps[j].targets[t], 0);
	for (size_t i = 0; i < b->count; i++) {
		const struct build_instruction *in = a->sorted[i];
		const uint64_t next = in->in.address + in->in.size;

		if ((in->in.branch == ISA_BRANCH_JUMP || in->in.branch == ISA_BRANCH_CONDITIONAL) &&
		    !(in->flags & (BUILD_TAIL | BUILD_RETURN_JUMP)))
			mark_leader(a, in->in.target, 0);
		/* Where the next instruction is not the next in the list: overlapping code. */
		if (goes_on(in) && (i + 1 == b->count || a->sorted[i + 1]->in.address != next))
			mark_leader(a, next, 0);
	}
}

static int make_blocks(struct assembly *a)
{
	const struct cfg_builder *b = a->b;
	struct cfg_block *block = NULL;

	for (size_t i = 0; i < b->count; i++) {
		const struct build_instruction *in = a->sorted[i];

		if (!block || (in->flags & BUILD_LEADER) || block->end != in->in.address ||
		    ends_block(a->sorted[i - 1])) {
			if (array_grow(&a->blocks, a->block_count, &a->block_room,
				       sizeof(*a->blocks), 64))
				return -ENOMEM;
			block = &a->blocks[a->block_count++];
			*block = (struct cfg_block){.start = in->in.address,
						    .first_instruction = (uint32_t)i};
			if (in->in.address == b->entry)
				block->flags |= CFG_BLOCK_ENTRY;
			if (in->flags & BUILD_LANDING)
				block->flags |= CFG_BLOCK_LANDING;
		}
		block->end = in->in.address + in->in.size;
		block->instruction_count++;
		if (in->flags & BUILD_NO_RETURN)
			block->flags |= CFG_BLOCK_NO_RETURN;
		if (in->flags & BUILD_STOP)
			block->flags |= CFG_BLOCK_STOP;
		a->block_of[i] = (uint32_t)a->block_count - 1;
	}
	return 0;
}

static int add_edge(struct assembly *a, uint32_t from, uint32_t to, enum cfg_edge_kind kind)
{
	if (array_grow(&a->edges, a->edge_count, &a->edge_room, sizeof(*a->edges), 64))
		return -ENOMEM;
	a->edges[a->edge_count++] = (struct cfg_edge){from, to, (uint8_t)kind};
	if (kind == CFG_MISSING)
		a->blocks[from].flags |= CFG_BLOCK_MISSING;
	return 0;
}

static int add_edge_to(struct assembly *a, uint32_t from, uint64_t address, enum cfg_edge_kind kind)
{
	const struct build_instruction *to = find(a, address);

	return to ? add_edge(a, from, a->block_of[to->order], kind)
		  : add_edge(a, from, CFG_OUTSIDE, CFG_MISSING);
}

static int add_call(struct assembly *a, const struct build_instruction *in, uint64_t target,
		    bool tail)
{
	const struct cfg_image *image = a->b->image;
	struct cfg_call c = {.instruction = in->order, .tail = tail, .target = target};

	if (array_grow(&a->calls, a->call_count, &a->call_room, sizeof(*a->calls), 64))
		return -ENOMEM;
	if (target != ISA_NO_ADDRESS)
		c.name = cfg_external_entry(image, target);
	else if (in->in.data != ISA_NO_ADDRESS)
		c.name = cfg_external_word(image, in->in.data);
	if (tail && target != ISA_NO_ADDRESS)
		c.returns = cfg_may_return(a->b->image, target);
	else if (tail)
		c.returns = !cfg_name_never_returns(c.name);
	else
		c.returns = !(in->flags & BUILD_NO_RETURN);
	a->calls[a->call_count++] = c;
	return 0;
}

static int add_jump_edges(struct assembly *a, uint32_t from, const struct build_instruction *in)
{
	const bool conditional = in->in.branch == ISA_BRANCH_CONDITIONAL;

	if (in->flags & BUILD_RETURN_JUMP)
		return add_edge(a, from, CFG_OUTSIDE, CFG_RETURN);
	if (in->flags & BUILD_TAIL)
		return add_edge(a, from, CFG_OUTSIDE, CFG_TAIL);
	if (conditional || in->in.target != ISA_NO_ADDRESS)
		return add_edge_to(a, from, in->in.target, conditional ? CFG_TAKEN : CFG_JUMP);
	const struct build_jump *jump = in->jump ? &a->b->jumps[in->jump - 1] : NULL;
	if (jump && jump->state == JUMP_LEAVES)
		return add_edge(a, from, CFG_OUTSIDE, CFG_TAIL);
	if (!jump || jump->target_count == 0)
		return add_edge(a, from, CFG_OUTSIDE, CFG_MISSING);
	int r = 0;
	for (uint32_t t = 0; t < jump->target_count && !r; t++) {
		const uint64_t target = jump->targets[t];

		/* Entries may be whole functions, after tail calls were optimized. */
		r = build_classify(a->b, target, false) == WAY_LEAVES
			    ? add_edge(a, from, CFG_OUTSIDE, CFG_TAIL)
			    : add_edge_to(a, from, target, CFG_INDIRECT);
	}
	return r;
}

static int add_next_edge(struct assembly *a, uint32_t from, const struct build_instruction *in)
{
	if (!goes_on(in))
		return 0;
	if (in->flags & BUILD_FALL_TAIL)
		return add_edge(a, from, CFG_OUTSIDE, CFG_TAIL);
	return add_edge_to(a, from, in->in.address + in->in.size,
			   in->in.branch == ISA_BRANCH_CALL ? CFG_AFTER_CALL : CFG_FALL_THROUGH);
}

static int add_successors(struct assembly *a, uint32_t from)
{
	struct cfg_block *block = &a->blocks[from];
	const struct build_instruction *in =
		a->sorted[block->first_instruction + block->instruction_count - 1];
	const size_t first = a->edge_count;
	int r = add_next_edge(a, from, in);

	if (!r && in->in.branch == ISA_BRANCH_RETURN)
		r = add_edge(a, from, CFG_OUTSIDE, CFG_RETURN);
	if (!r && (in->in.branch == ISA_BRANCH_JUMP || in->in.branch == ISA_BRANCH_CONDITIONAL))
		r = add_jump_edges(a, from, in);
	if (!r && in->in.branch == ISA_BRANCH_CALL)
		r = add_call(a, in, in->in.target, false);
	if (!r && ((in->flags & BUILD_TAIL) ||
		   (in->jump && a->b->jumps[in->jump - 1].state == JUMP_LEAVES)))
		r = add_call(a, in, in->in.target, true);
	if (!r && (in->flags & BUILD_FALL_TAIL))
		r = add_call(a, in, in->in.address + in->in.size, true);
	a->blocks[from].first_succ = (uint32_t)first;
	a->blocks[from].succ_count = (uint32_t)(a->edge_count - first);
	return r;
}

static int make_edges(struct assembly *a)
{
	int r = 0;

	for (uint32_t i = 0; i < a->block_count && !r; i++)
		r = add_successors(a, i);
	for (uint32_t i = 0; i < a->block_count && !r; i++) {
		if (a->blocks[i].flags & CFG_BLOCK_ENTRY)
			r = add_edge(a, CFG_OUTSIDE, i, CFG_ENTER);
		if (!r && (a->blocks[i].flags & CFG_BLOCK_LANDING))
			r = add_edge(a, CFG_OUTSIDE, i, CFG_LANDING);
	}
	return r;
}

static uint32_t count_ranges(const struct assembly *a)
{
	uint32_t ranges = 0;
	uint64_t end = 0;

	for (size_t i = 0; i < a->block_count; i++) {
		if (ranges == 0 || a->blocks[i].start > end)
			ranges++;
		if (i == 0 || a->blocks[i].end > end)
			end = a->blocks[i].end;
	}
	return ranges;
}

static void fill_ranges(struct cfg_function *f)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->block_count; i++) {
		const struct cfg_block *b = &f->blocks[i];

		if (n == 0 || b->start > f->ranges[n - 1].end)
			f->ranges[n++] = (struct cfg_range){b->start, b->end};
		else if (b->end > f->ranges[n - 1].end)
			f->ranges[n - 1].end = b->end;
	}
	if (n) {
		f->low = f->ranges[0].start;
		f->high = f->ranges[n - 1].end;
	}
}

/* Counting sort of the edges by the block they lead to. */
static void fill_preds(struct cfg_function *f)
{
	for (uint32_t i = 0; i < f->edge_count; i++)
		if (f->edges[i].to != CFG_OUTSIDE)
			f->blocks[f->edges[i].to].pred_count++;
	uint32_t at = 0;
	for (uint32_t i = 0; i < f->block_count; i++) {
		f->blocks[i].first_pred = at;
		at += f->blocks[i].pred_count;
		f->blocks[i].pred_count = 0;
	}
	for (uint32_t i = 0; i < f->edge_count; i++) {
		if (f->edges[i].to == CFG_OUTSIDE)
			continue;
		struct cfg_block *to = &f->blocks[f->edges[i].to];
		f->preds[to->first_pred + to->pred_count++] = i;
	}
}

static void fill_summary(const struct cfg_builder *b, struct cfg_function *f)
{
	f->image = b->image;
	f->entry = b->entry;
	memcpy(f->why, b->why, sizeof(f->why));
	for (size_t j = 0; j < b->jump_count; j++) {
		const struct build_jump *jump = &b->jumps[j];

		if (jump->state == JUMP_UNKNOWN)
			f->why[jump->why]++;
		f->tables_proven += jump->state == JUMP_PROVEN;
		f->tables_inferred += jump->state == JUMP_INFERRED;
	}
	f->complete = true;
	for (int i = 0; i < CFG_REASONS; i++)
		f->complete &= f->why[i] == 0;
	f->entry_block = CFG_OUTSIDE;
	for (uint32_t i = 0; i < f->block_count; i++)
		if (f->blocks[i].flags & CFG_BLOCK_ENTRY)
			f->entry_block = i;
	f->returns = cfg_may_return(b->image, b->entry);
}

/* One piece of memory: the function, then its lists, the most aligned first. */
static int make_function(const struct assembly *a, struct cfg_function **ret)
{
	const uint32_t ranges = count_ranges(a);
	const size_t n = a->b->count;
	const size_t size = sizeof(struct cfg_function) + n * sizeof(struct isa_instruction) +
			    a->block_count * sizeof(struct cfg_block) +
			    ranges * sizeof(struct cfg_range) +
			    a->call_count * sizeof(struct cfg_call) +
			    a->edge_count * (sizeof(struct cfg_edge) + sizeof(uint32_t));
	struct cfg_function *f = calloc(1, size);

	if (!f)
		return -ENOMEM;
	f->instructions = (struct isa_instruction *)(f + 1);
	f->blocks = (struct cfg_block *)(f->instructions + n);
	f->ranges = (struct cfg_range *)(f->blocks + a->block_count);
	f->calls = (struct cfg_call *)(f->ranges + ranges);
	f->edges = (struct cfg_edge *)(f->calls + a->call_count);
	f->preds = (uint32_t *)(f->edges + a->edge_count);
	f->instruction_count = (uint32_t)n;
	f->block_count = (uint32_t)a->block_count;
	f->range_count = ranges;
	f->call_count = (uint32_t)a->call_count;
	f->edge_count = (uint32_t)a->edge_count;
	for (size_t i = 0; i < n; i++)
		f->instructions[i] = a->sorted[i]->in;
	if (a->block_count)
		memcpy(f->blocks, a->blocks, a->block_count * sizeof(*f->blocks));
	if (a->call_count)
		memcpy(f->calls, a->calls, a->call_count * sizeof(*f->calls));
	if (a->edge_count)
		memcpy(f->edges, a->edges, a->edge_count * sizeof(*f->edges));
	fill_ranges(f);
	fill_preds(f);
	fill_summary(a->b, f);
	*ret = f;
	return 0;
}

int build_assemble(struct cfg_builder *b, struct cfg_function **ret)
{
	struct assembly a = {.b = b};
	int r = -ENOMEM;

	a.sorted = calloc(b->count + 1, sizeof(*a.sorted));
	a.block_of = calloc(b->count + 1, sizeof(*a.block_of));
	if (!a.sorted || !a.block_of)
		goto out;
	sort_instructions(&a);
	mark_leaders(&a);
	r = make_blocks(&a);
	if (!r)
		r = make_edges(&a);
	if (!r)
		r = make_function(&a, ret);
out:
	free(a.sorted);
	free(a.block_of);
	free(a.blocks);
	free(a.edges);
	free(a.calls);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/copy_state.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "instrument/paths.h"
#include "util/array.h"
#include "util/num.h"

#define JUMP_BYTES    5
#define COUNTER_BYTES 48 /* the most, with a jump behind it */
#define BRANCH_BYTES  9	 /* of a branch in the copy, the most */

uint64_t instrument_copy_size_max(const struct instrument_plan *plan)
{
	const struct cfg_function *f = plan->function;
	uint64_t size =
		plan->paths ? plan->paths->bytes_max : COUNTER_BYTES * (uint64_t)plan->slot_count;

	for (uint32_t i = 0; i < f->block_count; i++)
		size += f->blocks[i].end - f->blocks[i].start + BRANCH_BYTES + JUMP_BYTES;
	return size;
}

static void put(struct copying *c, const char *bytes, size_t size)
{
	buf_append(&c->out, bytes, size);
}

/* Of the original, in the image. */
static void begin_inserted(struct copying *c, uint64_t charged, uint64_t stands_for)
{
	c->inserted.charged = charged + c->to->bias;
	c->inserted.stands_for = stands_for + c->to->bias;
}

/* In front of each instruction that is inserted. What stands in the place of an original one needs
 * no piece. */
static void put_piece(struct copying *c)
{
	struct instrument_code *code = c->code;

	c->inserted.copy = (uint32_t)c->out.size;
	if (code->place_count && code->places[code->place_count - 1].copy == c->inserted.copy)
		return;
	if (array_grow(&code->pieces, code->piece_count, &c->piece_room, sizeof(*code->pieces), 16))
		c->out.error = -ENOMEM;
	else
		code->pieces[code->piece_count++] = c->inserted;
}

void copying_put_inserted(struct copying *c, const char *bytes, size_t size)
{
	put_piece(c);
	put(c, bytes, size);
}

/* -ERANGE is the buffer's, as other errors are. */
static void put_relative(struct copying *c, uint64_t target)
{
	const uint64_t next = c->to->address + c->out.size + sizeof(int32_t);
	const int64_t distance = (int64_t)(target - next);

	if (distance != (int32_t)distance && !c->out.error)
		c->out.error = -ERANGE;
	buf_append_u32(&c->out, (uint32_t)distance);
}

void copying_put_link(struct copying *c, const uint32_t *to)
{
	if (array_grow(&c->links, c->link_count, &c->link_room, sizeof(*c->links), 64)) {
		c->out.error = -ENOMEM;
		return;
	}
	c->links[c->link_count++] = (struct link){(uint32_t)c->out.size, to};
	buf_append_u32(&c->out, 0);
}

/* Where an edge leads: to a block's copy, or out. */
static void put_target(struct copying *c, uint32_t block, uint64_t address)
{
	if (block == CFG_OUTSIDE)
		put_relative(c, address + c->to->bias);
	else
		copying_put_link(c, &c->labels[block]);
}

static void put_jump(struct copying *c, uint32_t block, uint64_t address)
{
	copying_put_inserted(c, "\xe9", 1);
	put_target(c, block, address);
}

/* Where flags are live. No place of the original has the stack that it makes for itself. */
static void put_flags_counter(struct copying *c, uint32_t at)
{
	const uint64_t stands_for = c->inserted.stands_for;

	copying_put_inserted(c, "\x48\x8d\x64\x24\x80", 5); /* lea -128(%rsp),%rsp */
	c->inserted.stands_for = INSTRUMENT_NOWHERE;
	copying_put_inserted(c, "\x50", 1);		    /* push %rax */
	copying_put_inserted(c, "\x65\x48\x8b\x04\x25", 5); /* mov %gs:at,%rax */
	buf_append_u32(&c->out, at);
	copying_put_inserted(c, "\x48\x8d\x40\x01", 4);	    /* lea 1(%rax),%rax */
	copying_put_inserted(c, "\x65\x48\x89\x04\x25", 5); /* mov %rax,%gs:at */
	buf_append_u32(&c->out, at);
	copying_put_inserted(c, "\x58", 1);				/* pop %rax */
	copying_put_inserted(c, "\x48\x8d\xa4\x24\x80\x00\x00\x00", 8); /* lea 128(%rsp),%rsp */
	c->inserted.stands_for = stands_for;
}

static void put_counter(struct copying *c, uint32_t edge)
{
	if (edge == INSTRUMENT_NONE)
		return;
	if (c->plan->paths) {
		copying_put_step(c, edge);
		return;
	}
	const struct instrument_edge *e = &c->plan->edges[edge];
	const uint32_t at = (c->to->first_slot + e->slot) * 8;

	if (e->flags) {
		put_flags_counter(c, at);
		return;
	}
	copying_put_inserted(c, "\x65\x48\xff\x04\x25", 5); /* incq %gs:at */
	buf_append_u32(&c->out, at);
}

static const uint8_t *code_of(const struct copying *c, uint64_t address)
{
	size_t size;

	return cfg_code_at(c->f->image, address, &size);
}

static void put_place(struct copying *c, const struct isa_instruction *in)
{
	c->code->places[c->code->place_count++] = (struct instrument_place){
		in->address + c->to->bias, (uint32_t)c->out.size, in->size};
}

/* An instruction as it is, but for what is relative to its address. */
static void put_instruction(struct copying *c, const struct isa_instruction *in)
{
	const uint8_t *code = code_of(c, in->address);
	int32_t relative;

	if (!in->relative) {
		buf_append(&c->out, code, in->size);
		return;
	}
	memcpy(&relative, code + in->relative, sizeof(relative));
	buf_append(&c->out, code, in->relative);
	/* The bytes behind the displacement are part of the way to the next instruction. */
	const uint8_t behind = (uint8_t)(in->size - in->relative - sizeof(relative));
	put_relative(c,
		     in->address + c->to->bias + in->size + (uint64_t)(int64_t)relative - behind);
	buf_append(&c->out, code + in->relative + sizeof(relative), behind);
}

/* The second byte of a jcc with 32 bits; 0: it is one of those that are only there with 8. */
static uint8_t condition_of(const struct copying *c, const struct isa_instruction *in)
{
	const uint8_t *code = code_of(c, in->address);
	const uint8_t opcode = code[in->size - 2];

	if (in->size >= 6 && (code[in->size - 5] & 0xf0) == 0x80 && code[in->size - 6] == 0x0f)
		return code[in->size - 5];
	return (opcode & 0xf0) == 0x70 ? opcode + 0x10 : 0;
}

/* The branch alone: jcc with 32 bits, or what is only there with 8, around two jumps. */
static void put_condition(struct copying *c, const struct isa_instruction *in, bool inverted)
{
	const uint8_t condition = condition_of(c, in);

	if (condition) {
		buf_append_u8(&c->out, 0x0f);
		buf_append_u8(&c->out, condition ^ inverted);
	} else {
		buf_append(&c->out, code_of(c, in->address), in->size - 1u); /* loop, jecxz */
		put(c, "\x02", 1);
		copying_put_inserted(c, "\xeb\x05", 2);
		copying_put_inserted(c, "\xe9", 1);
	}
}

static uint32_t counted_branch(const struct copying *c, uint32_t block)
{
	return c->plan->at[block][INSTRUMENT_AT_TAKEN];
}

static uint32_t target_of(const struct copying *c, uint32_t block)
{
	return c->f->edges[c->f->blocks[block].first_succ + 1].to;
}

/* How often a block's branch is expected not to be taken, or its end to be run past. */
static uint64_t expected_next(const struct copying *c, uint32_t block)
{
	const uint32_t edge = c->plan->of_edge[c->f->blocks[block].first_succ];

	return edge == INSTRUMENT_NONE ? 0 : c->plan->edges[edge].weight;
}

static uint64_t expected_taken(const struct copying *c, uint32_t block)
{
	return c->plan->edges[counted_branch(c, block)].weight;
}

/* Whether the counter of a block's branch lies behind it, and the branch leads past that. */
static bool is_inverted(const struct copying *c, uint32_t block)
{
	const uint32_t to = target_of(c, block);

	return counted_branch(c, block) != INSTRUMENT_NONE &&
	       (to == CFG_OUTSIDE || c->front[to] != block) &&
	       condition_of(c, cfg_block_last(c->f, &c->f->blocks[block])) &&
	       expected_taken(c, block) > expected_next(c, block);
}

static void put_branch(struct copying *c, uint32_t block, const struct isa_instruction *in)
{
	const struct cfg_block *b = &c->f->blocks[block];
	const struct cfg_edge *next = &c->f->edges[b->first_succ], *jump = next + 1;

	const bool inverted = is_inverted(c, block);

	put_condition(c, in, inverted);
	if (counted_branch(c, block) != INSTRUMENT_NONE)
		copying_put_link(c, &c->taken[block]);
	else
		put_target(c, jump->to, in->target);
	if (inverted) {
		put_counter(c, counted_branch(c, block));
		put_jump(c, jump->to, in->target);
		c->taken[block] = (uint32_t)c->out.size;
	}
	put_counter(c, c->plan->at[block][INSTRUMENT_AT_NEXT]);
	if (next->to != block + 1)
		put_jump(c, next->to, b->end);
}

/* What ends a block. The place of a branch is in front of its counter, so that a thread that is
 * there has neither branched nor been counted. */
static void put_end(struct copying *c, uint32_t block)
{
	const struct cfg_block *b = &c->f->blocks[block];
	const struct isa_instruction *in = cfg_block_last(c->f, b);
	const struct cfg_edge *e = b->succ_count ? &c->f->edges[b->first_succ] : NULL;
	const uint32_t counter = c->plan->at[block][INSTRUMENT_AT_END];

	put_place(c, in);
	begin_inserted(c, in->address, in->address);
	switch (in->branch) {
	case ISA_BRANCH_CONDITIONAL:
		put_branch(c, block, in);
		return;
	case ISA_BRANCH_CALL:
		if (c->plan->paths)
			copying_put_call(c, block);
		put_counter(c, counter);
		put_jump(c, CFG_OUTSIDE, in->address);
		return;
	case ISA_BRANCH_JUMP:
		put_counter(c, counter);
		if (in->target == ISA_NO_ADDRESS) {
			put_piece(c);
			put_instruction(c, in);
		} else if (c->plan->through[block]) {
			copying_put_inserted(c, "\xe9", 1);
			copying_put_link(c, &c->entrances[e->to]);
		} else {
			put_jump(c, e ? e->to : CFG_OUTSIDE, in->target);
		}
		return;
	case ISA_BRANCH_RETURN:
	case ISA_BRANCH_STOP:
		put_counter(c, counter);
		put_piece(c);
		put_instruction(c, in);
		return;
	default:
		put_instruction(c, in);
		begin_inserted(c, in->address, b->end);
		put_counter(c, counter);
		if (e && e->to != block + 1)
			put_jump(c, e->to, b->end);
	}
}

/* Whether the copy of the block before runs on into that of this one, not by its entrance, as where
 * the original runs through does. */
static bool is_run_into(const struct copying *c, uint32_t block)
{
	if (block == 0)
		return false;
	const struct cfg_block *before = &c->f->blocks[block - 1];
	const struct cfg_edge *e = &c->f->edges[before->first_succ];

	return before->succ_count && e->kind == CFG_FALL_THROUGH && e->to == block &&
	       !c->plan->through[block - 1];
}

static void put_entrance(struct copying *c, uint32_t block)
{
	const uint64_t start = c->f->blocks[block].start;

	begin_inserted(c, start, start);
	c->entrances[block] = (uint32_t)c->out.size;
	put_counter(c, c->plan->at[block][INSTRUMENT_AT_ENTRANCE]);
}

/*
 * Whose taken branches are counted right in front of the blocks that they lead to, as of most
 * loops: so they jump once, and what runs into the block from the one before once more.
 */
static void choose_fronts(struct copying *c)
{
	uint32_t *front = c->front;

	for (uint32_t i = 0; i < c->f->block_count; i++)
		front[i] = c->taken[i] = INSTRUMENT_NONE;
	for (uint32_t i = 0; i < c->f->block_count; i++) {
		const uint32_t to =
			counted_branch(c, i) == INSTRUMENT_NONE ? CFG_OUTSIDE : target_of(c, i);

		if (to == CFG_OUTSIDE || c->plan->at[to][INSTRUMENT_AT_ENTRANCE] != INSTRUMENT_NONE)
			continue;
		if (front[to] == INSTRUMENT_NONE ||
		    expected_taken(c, i) > expected_taken(c, front[to]))
			front[to] = i;
	}
	for (uint32_t i = 1; i < c->f->block_count; i++)
		if (front[i] != INSTRUMENT_NONE && is_run_into(c, i) &&
		    expected_next(c, i - 1) >= expected_taken(c, front[i]))
			front[i] = INSTRUMENT_NONE;
}

/* The counter of a branch that leads to the block. What a branch costs shows there: it is time of
 * what the branch leads to. */
static void put_front(struct copying *c, uint32_t block)
{
	const uint64_t start = c->f->blocks[block].start;

	if (is_run_into(c, block)) {
		begin_inserted(c, cfg_block_last(c->f, &c->f->blocks[block - 1])->address, start);
		put_jump(c, block, 0);
	}
	begin_inserted(c, start, start);
	c->taken[c->front[block]] = (uint32_t)c->out.size;
	put_counter(c, counted_branch(c, c->front[block]));
	c->entrances[block] = (uint32_t)c->out.size;
}

static void put_block(struct copying *c, uint32_t block)
{
	const struct cfg_block *b = &c->f->blocks[block];

	if (c->front[block] != INSTRUMENT_NONE)
		put_front(c, block);
	else if (!is_run_into(c, block))
		put_entrance(c, block);
	c->labels[block] = (uint32_t)c->out.size;
	for (uint32_t i = 0; i + 1 < b->instruction_count; i++) {
		const struct isa_instruction *in = &c->f->instructions[b->first_instruction + i];

		put_place(c, in);
		put_instruction(c, in);
	}
	put_end(c, block);
}

/* Counters out of the way: of taken branches, and of entrances where the block before runs on. */
static void put_stubs(struct copying *c, uint32_t block)
{
	const struct cfg_block *b = &c->f->blocks[block];

	if (c->taken[block] == INSTRUMENT_NONE && counted_branch(c, block) != INSTRUMENT_NONE) {
		const uint32_t to = target_of(c, block);
		const struct isa_instruction *branch = cfg_block_last(c->f, b);
		/* As in a front; or of the branch itself when it leads out of the copy. */
		const uint64_t original =
			to == CFG_OUTSIDE ? branch->address : c->f->blocks[to].start;

		begin_inserted(c, original, original);
		c->taken[block] = (uint32_t)c->out.size;
		put_counter(c, counted_branch(c, block));
		put_jump(c, to, branch->target);
	}
	if (!is_run_into(c, block))
		return;
	c->entrances[block] = c->labels[block];
	if (c->plan->at[block][INSTRUMENT_AT_ENTRANCE] != INSTRUMENT_NONE) {
		put_entrance(c, block);
		put_jump(c, block, 0);
	}
}

static void resolve_links(struct copying *c)
{
	for (size_t i = 0; i < c->link_count; i++) {
		const struct link *l = &c->links[i];
		const uint32_t distance = *l->to - (l->at + (uint32_t)sizeof(uint32_t));

		memcpy(c->out.data + l->at, &distance, sizeof(distance));
	}
}

static int add_patch(struct copying *c, uint64_t address, uint8_t size, uint64_t target)
{
	struct instrument_patch *p = &c->code->patches[c->code->patch_count++];
	const int64_t distance = (int64_t)(target - (address + c->to->bias + size));
	const int32_t near = (int32_t)distance;

	if (distance != (size == JUMP_BYTES ? near : (int8_t)distance))
		return -ERANGE;
	*p = (struct instrument_patch){.address = address + c->to->bias,
				       .stands_for = address + c->to->bias,
				       .size = size};
	memcpy(p->before, code_of(c, address), size);
	p->after[0] = size == JUMP_BYTES ? 0xe9 : 0xeb;
	memcpy(p->after + 1, &near, size - 1u);
	return 0;
}

static int compare_patches(const void *pa, const void *pb)
{
	const struct instrument_patch *a = pa, *b = pb;

	return NUM_ORDER(a->address, b->address);
}

static int add_patches(struct copying *c)
{
	struct instrument_code *code = c->code;
	int r = 0;

	for (uint32_t i = 0; i < c->plan->entrance_count && !r; i++) {
		const struct instrument_entrance *e = &c->plan->entrances[i];
		const uint64_t target = c->to->address + c->entrances[e->block];

		if (e->relay == ISA_NO_ADDRESS) {
			r = add_patch(c, e->patch, JUMP_BYTES, target);
			continue;
		}
		r = add_patch(c, e->patch, 2, e->relay + c->to->bias);
		if (!r)
			r = add_patch(c, e->relay, JUMP_BYTES, target);
		if (!r)
			code->patches[code->patch_count - 1].stands_for = e->patch + c->to->bias;
	}
	array_sort(code->patches, code->patch_count, sizeof(*code->patches), compare_patches);
	return r;
}

/* As the image has it. */
static int read_original(void *arg, uint64_t address, void *data, size_t size)
{
	const struct copying *c = arg;
	size_t there;
	const uint8_t *code = cfg_code_at(c->f->image, address - c->to->bias, &there);

	if (!code || there < size)
		return -ERANGE;
	memcpy(data, code, size);
	return 0;
}

static int make(struct copying *c)
{
	choose_fronts(c);
	for (uint32_t i = 0; i < c->f->block_count; i++)
		put_block(c, i);
	for (uint32_t i = 0; i < c->f->block_count; i++)
		put_stubs(c, i);
	if (c->plan->paths)
		copying_put_detours(c);
	if (c->out.error)
		return c->out.error;
	resolve_links(c);
	return instrument_code_hash_original(c->code, read_original, c, &c->code->original_hash)
		       ?: add_patches(c);
}

int instrument_copy_new(const struct instrument_plan *plan, const struct instrument_destination *at,
			struct instrument_code *ret)
{
	const struct cfg_function *f = plan->function;
	const uint64_t size_max = instrument_copy_size_max(plan);
	struct instrument_code code = {.entry = f->entry + at->bias,
				       .address = at->address,
				       .first_slot = at->first_slot,
				       .slot_count = plan->slot_count};
	struct copying c = {.plan = plan, .f = f, .to = at, .code = &code};
	int r = -ENOMEM;

	if (size_max > INT32_MAX)
		return -EFBIG;
	if (at->first_slot > INSTRUMENT_SLOTS_MAX - 1 ||
	    plan->slot_count > INSTRUMENT_SLOTS_MAX - 1 - at->first_slot ||
	    at->address > UINT64_MAX - size_max)
		return -ERANGE;
	buf_init(&c.out, size_max);
	c.labels = calloc(4 * (size_t)f->block_count, sizeof(*c.labels));
	code.places = calloc(f->instruction_count, sizeof(*code.places));
	code.patches = calloc(2 * (size_t)plan->entrance_count, sizeof(*code.patches));
	if (plan->paths)
		c.detours = calloc((size_t)plan->edge_count + 1, sizeof(*c.detours));
	if (c.labels && code.places && code.patches && (c.detours || !plan->paths)) {
		c.entrances = c.labels + f->block_count;
		c.taken = c.entrances + f->block_count;
		c.front = c.taken + f->block_count;
		r = make(&c);
	}
	code.entrance = r ? 0 : c.entrances[f->entry_block];
	code.bytes = c.out.data;
	code.size = (uint32_t)c.out.size;
	free(c.labels);
	free(c.links);
	free(c.detours);
	if (r)
		instrument_code_free(&code);
	else
		*ret = code;
	return r;
}

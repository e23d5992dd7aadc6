/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cfg/build.h"
#include "isa/operands.h"
#include "util/array.h"
#include "util/search.h"

/* The maximum of instructions that one function may have in the ranges of others. */
#define FOREIGN_MAX 65536
#define SLOTS_FIRST 1024

static struct build_slot *slot_of(const struct cfg_builder *b, uint64_t address)
{
	size_t at = hash_u64(address) & (b->slot_count - 1);

	while (b->slots[at].generation == b->generation &&
	       b->list[b->slots[at].index].in.address != address)
		at = (at + 1) & (b->slot_count - 1);
	return &b->slots[at];
}

uint32_t build_find(const struct cfg_builder *b, uint64_t address)
{
	const struct build_slot *s = slot_of(b, address);

	return s->generation == b->generation ? s->index : UINT32_MAX;
}

/* All slots become empty: entries of another generation do not count. */
static void forget_slots(struct cfg_builder *b)
{
	if (++b->generation == 0) {
		memset(b->slots, 0, b->slot_room * sizeof(*b->slots));
		b->generation = 1;
	}
}

static bool grow_slots(struct cfg_builder *b)
{
	size_t count = b->slot_count * 2;

	if (count > b->slot_room) {
		struct build_slot *more = calloc(count, sizeof(*more));

		if (!more)
			return false;
		free(b->slots);
		b->slots = more;
		b->slot_room = count;
	}
	b->slot_count = count;
	forget_slots(b);
	for (uint32_t i = 0; i < b->count; i++)
		*slot_of(b, b->list[i].in.address) = (struct build_slot){b->generation, i};
	return true;
}

static int add_instruction(struct cfg_builder *b, const struct isa_instruction *in)
{
	if (array_grow(&b->list, b->count, &b->room, sizeof(*b->list), 64) ||
	    (b->count * 2 >= b->slot_count && !grow_slots(b)))
		return -ENOMEM;
	*slot_of(b, in->address) = (struct build_slot){b->generation, (uint32_t)b->count};
	b->list[b->count++] = (struct build_instruction){.in = *in};
	b->runs[b->run_count - 1].count++;
	return 0;
}

int build_push(struct cfg_builder *b, uint64_t address)
{
	if (array_grow(&b->work, b->work_count, &b->work_room, sizeof(*b->work), 64))
		return -ENOMEM;
	b->work[b->work_count++] = address;
	return 0;
}

/* Landing pads of the function, or part, that starts at start. */
static int add_landings(struct cfg_builder *b, uint64_t start)
{
	const struct cfg_source *s = b->image->source;
	size_t low = SEARCH_FIRST(s->landing_count, i, s->landings[i].function >= start);

	for (; low < s->landing_count && s->landings[low].function == start; low++) {
		if (array_grow(&b->landings, b->landing_count, &b->landing_room,
			       sizeof(*b->landings), 64))
			return -ENOMEM;
		b->landings[b->landing_count++] = s->landings[low].address;
		int r = build_push(b, s->landings[low].address);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_own(const struct cfg_builder *b, const struct cfg_place *place)
{
	if (!place || place == b->place)
		return true;
	const uint32_t index = (uint32_t)(place - b->image->places);
	for (size_t i = 0; i < b->adopted_count; i++)
		if (b->adopted[i] == index)
			return true;
	return false;
}

/* A split-off part becomes the function's, unless another has it. */
static void adopt_place(struct cfg_builder *b, const struct cfg_place *place)
{
	const uint32_t index = (uint32_t)(place - b->image->places);

	if (array_grow(&b->adopted, b->adopted_count, &b->adopted_room, sizeof(*b->adopted), 64))
		return;
	b->adopted[b->adopted_count++] = index;
	if (b->place && b->image->places[index].owner == UINT32_MAX)
		b->image->places[index].owner = (uint32_t)(b->place - b->image->places);
	add_landings(b, place->start);
}

enum build_way build_classify(struct cfg_builder *b, uint64_t target, bool adopt)
{
	const struct cfg_place *to = cfg_place_at(b->image, target);
	uint64_t known;
	size_t size;

	if (to && is_own(b, to))
		return WAY_INSIDE;
	if (!to) {
		if (!cfg_code_at(b->image, target, &size))
			return WAY_NOWHERE;
		return target != b->entry && map64_get(b->image->extra_known, target, &known) == 0
			       ? WAY_LEAVES
			       : WAY_INSIDE;
	}
	if (target != to->start)
		return WAY_INSIDE; /* code that two functions share */
	if (!to->part && !(b->place && cfg_name_is_part_of(to->name, b->place->name)))
		return WAY_LEAVES;
	if (adopt)
		adopt_place(b, to);
	return WAY_INSIDE;
}

/* True when nothing but padding is between address and end. */
static bool is_padding(const struct cfg_builder *b, uint64_t address, uint64_t end)
{
	size_t size = 0;
	const uint8_t *code = cfg_code_at(b->image, address, &size);

	if (!code || end - address > size || end - address > 64)
		return false;
	for (uint64_t at = 0; at < end - address;) {
		struct isa_instruction in;
		struct isa_operands o;

		isa_decode_operands(b->image->decoder, code + at, (size_t)(end - address - at),
				    address + at, &in, &o);
		if (code[at] != 0xcc && !(in.valid && (o.attributes & ISA_NOP)))
			return false;
		at += in.size;
	}
	return true;
}

/* Compilers end a function only behind a call that does not return. */
static bool ends_place(const struct cfg_builder *b, uint64_t next)
{
	const struct cfg_place *p = cfg_place_at(b->image, next - 1);

	return p && p->exact && (next == p->end || is_padding(b, next, p->end));
}

static uint32_t call_flags(struct cfg_builder *b, const struct isa_instruction *in)
{
	const char *name = NULL;

	if (in->target == ISA_NO_ADDRESS && in->data != ISA_NO_ADDRESS)
		name = cfg_external_word(b->image, in->data);
	if (in->target != ISA_NO_ADDRESS) {
		const struct cfg_place *to = cfg_place_at(b->image, in->target);
		size_t size;

		if ((!to || to->start != in->target) && cfg_code_at(b->image, in->target, &size))
			cfg_image_add_entry(b->image, in->target);
		if (!cfg_may_return(b->image, in->target))
			return BUILD_NO_RETURN;
	}
	if (cfg_name_never_returns(name) || ends_place(b, in->address + in->size))
		return BUILD_NO_RETURN;
	return 0;
}

/* A direct jump. Inside: its target is to be explored. */
static int direct_jump(struct cfg_builder *b, const struct isa_instruction *in, uint32_t *flags)
{
	const struct cfg_place *to;

	switch (build_classify(b, in->target, true)) {
	case WAY_INSIDE:
		return build_find(b, in->target) == UINT32_MAX ? build_push(b, in->target) : 0;
	case WAY_LEAVES:
		to = cfg_place_at(b->image, in->target);
		*flags |= to && cfg_name_is_return(to->name) ? BUILD_RETURN_JUMP : BUILD_TAIL;
		return 0;
	default:
		b->why[CFG_WHY_CODE]++;
		return 0;
	}
}

static int indirect_jump(struct cfg_builder *b, const struct isa_instruction *in, uint32_t *flags)
{
	/* Through one fixed word: the GOT's, or a pointer to a function. */
	if (in->data != ISA_NO_ADDRESS) {
		*flags |= BUILD_TAIL;
		return 0;
	}
	if (array_grow(&b->jumps, b->jump_count, &b->jump_room, sizeof(*b->jumps), 64))
		return -ENOMEM;
	b->jumps[b->jump_count++] = (struct build_jump){.instruction = (uint32_t)b->count - 1};
	b->list[b->count - 1].jump = (uint32_t)b->jump_count;
	return 0;
}

/* What follows from the instruction just added. *ret_on: the next address is reached too. */
static int after_instruction(struct cfg_builder *b, const struct isa_instruction *in,
			     const uint8_t *code, bool *ret_on)
{
	const uint32_t index = (uint32_t)b->count - 1;
	const uint64_t next = in->address + in->size;
	uint32_t flags = 0;
	int r = 0;

	*ret_on = true;
	switch (in->branch) {
	case ISA_BRANCH_JUMP:
		*ret_on = false;
		r = in->target == ISA_NO_ADDRESS ? indirect_jump(b, in, &flags)
						 : direct_jump(b, in, &flags);
		break;
	case ISA_BRANCH_CONDITIONAL:
		r = direct_jump(b, in, &flags);
		break;
	case ISA_BRANCH_CALL:
		flags |= call_flags(b, in);
		*ret_on = !(flags & BUILD_NO_RETURN);
		break;
	case ISA_BRANCH_RETURN:
		*ret_on = false;
		break;
	case ISA_BRANCH_STOP:
		*ret_on = b->image->source->kernel && !ends_place(b, next);
		flags |= *ret_on ? BUILD_GOES_ON : BUILD_STOP;
		break;
	case ISA_BRANCH_SYSTEM:
		if (code[0] == 0xcc) { /* int3: what compilers put where nothing comes */
			*ret_on = false;
			flags |= BUILD_STOP;
		}
		break;
	default:
		break;
	}
	const struct cfg_place *to = *ret_on ? cfg_place_at(b->image, next) : NULL;
	if (to && next == to->start && build_classify(b, next, true) == WAY_LEAVES) {
		flags |= BUILD_FALL_TAIL;
		*ret_on = false;
	}
	b->list[index].flags |= flags;
	return r;
}

/* False: the function has grown too large. */
static bool may_grow(struct cfg_builder *b, const struct cfg_place *place)
{
	if (b->count >= CFG_INSTRUCTIONS_MAX)
		return false;
	if (is_own(b, place) && b->place)
		return true;
	/* Shared, or code that nothing delimits: together not more than the image has. */
	if (b->foreign >= FOREIGN_MAX || !b->image->foreign_budget)
		return false;
	b->foreign++;
	b->image->foreign_budget--;
	return true;
}

/* Decodes from address until control goes elsewhere, or to what is known. */
static int follow(struct cfg_builder *b, uint64_t address)
{
	const struct cfg_place *place = NULL;
	const uint8_t *code = NULL;
	size_t size = 0;
	uint64_t at = 0;
	bool on = true;
	int r = 0;

	if (array_grow(&b->runs, b->run_count, &b->run_room, sizeof(*b->runs), 64))
		return -ENOMEM;
	b->runs[b->run_count++] = (struct build_run){address, (uint32_t)b->count, 0};
	while (on && !r && build_find(b, address) == UINT32_MAX) {
		struct isa_instruction in;

		if (!code || address - at >= size) {
			at = address;
			code = cfg_code_at(b->image, address, &size);
		}
		if (!place || address >= place->end)
			place = cfg_place_at(b->image, address);
		if (!code || !may_grow(b, place)) {
			b->why[code ? CFG_WHY_LIMIT : CFG_WHY_CODE]++;
			break;
		}
		const uint8_t *bytes = code + (address - at);
		isa_decode(b->image->decoder, bytes, size - (size_t)(address - at), address, &in);
		if (!in.valid) {
			b->why[CFG_WHY_DECODE]++;
			break;
		}
		r = add_instruction(b, &in);
		if (!r)
			r = after_instruction(b, &in, bytes, &on);
		address += in.size;
	}
	if (b->runs[b->run_count - 1].count == 0)
		b->run_count--;
	return r;
}

int build_explore(struct cfg_builder *b)
{
	int r = 0;

	while (b->work_count && !r) {
		uint64_t address = b->work[--b->work_count];

		if (build_find(b, address) == UINT32_MAX)
			r = follow(b, address);
	}
	return r;
}

static void free_jumps(struct cfg_builder *b)
{
	for (size_t i = 0; i < b->jump_count; i++) {
		free(b->jumps[i].targets);
		free(b->jumps[i].checks);
	}
	b->jump_count = 0;
}

int build_start(struct cfg_builder *b, struct cfg_image *image, uint64_t entry)
{
	b->image = image;
	b->entry = entry;
	b->place = cfg_place_at(image, entry);
	b->count = b->run_count = b->work_count = b->landing_count = b->adopted_count = 0;
	b->foreign = 0;
	memset(b->why, 0, sizeof(b->why));
	free_jumps(b);
	if (!b->slots) {
		b->slots = calloc(SLOTS_FIRST, sizeof(*b->slots));
		if (!b->slots)
			return -ENOMEM;
		b->slot_room = SLOTS_FIRST;
	}
	b->slot_count = SLOTS_FIRST;
	forget_slots(b);
	int r = b->place && b->place->start == entry ? add_landings(b, entry) : 0;
	return r ? r : build_push(b, entry);
}

struct cfg_builder *cfg_builder_new(void)
{
	return calloc(1, sizeof(struct cfg_builder));
}

void cfg_builder_free(struct cfg_builder *b)
{
	if (!b)
		return;
	free_jumps(b);
	free(b->list);
	free(b->runs);
	free(b->slots);
	free(b->work);
	free(b->landings);
	free(b->adopted);
	free(b->jumps);
	free(b);
}

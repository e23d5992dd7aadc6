/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/table_search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cfg/routes.h"
#include "cfg/stack.h"
#include "util/array.h"
#include "util/num.h"

/* The maximum of entries of one table; larger tables are not believed. */
#define ENTRIES_MAX 65536

/* ---- reading a table ---- */

struct target_list {
	uint64_t *list;
	size_t count, room;
};

static bool read_entry(const struct table_search *t, const struct table_shape *s, uint64_t index,
		       uint64_t *ret)
{
	if (s->bytes == 1) {
		*ret = s->base;
		return true;
	}
	const uint8_t *data = cfg_data_at(t->b->image, s->offset + s->scale * index, s->bytes);
	if (!data)
		return false;
	if (s->bytes == 8) {
		memcpy(ret, data, sizeof(*ret));
	} else {
		int32_t relative;

		memcpy(&relative, data, sizeof(relative));
		*ret = s->base + (uint64_t)(int64_t)relative;
	}
	return true;
}

/* A place where a target of this function's jumps may be. */
static bool is_plausible(const struct table_search *t, uint64_t target)
{
	size_t size;

	return cfg_code_at(t->b->image, target, &size) &&
	       build_classify(t->b, target, false) == WAY_INSIDE;
}

/* The instructions of the function as they lie there, one after the other. */
static void sweep_place(struct table_search *t)
{
	const struct cfg_place *p = t->b->place;
	size_t size;
	const uint8_t *code = cfg_code_at(t->b->image, p->start, &size);

	if (!code || size < p->end - p->start)
		return;
	size = (size_t)(p->end - p->start);
	t->starts = calloc(1, size / 8 + 1);
	for (size_t at = 0; t->starts && at < size;) {
		struct isa_instruction in;

		isa_decode(t->b->image->decoder, code + at, size - at, p->start + at, &in);
		t->starts[at / 8] |= (uint8_t)(in.valid << (at % 8));
		at += in.size;
	}
}

/* Compilers lay out a function's instructions without gaps. */
static bool is_instruction(struct table_search *t, uint64_t target)
{
	const uint64_t at = target - t->b->place->start;

	if (!t->starts)
		sweep_place(t);
	return t->starts && (t->starts[at / 8] >> (at % 8) & 1);
}

/* Without a proof a table may not lead into other functions, nor be longer than its object. */
static bool is_likely(struct table_search *t, const struct table_shape *s, uint64_t index,
		      uint64_t target)
{
	const struct cfg_place *to = cfg_place_at(t->b->image, target);
	const uint64_t at = s->offset + s->scale * index;

	if (!is_plausible(t, target) || (to && to != t->b->place && !to->part))
		return false;
	if (to && to == t->b->place && !is_instruction(t, target))
		return false;
	if (at + s->bytes > cfg_next_reference(t->b->image, s->offset + s->scale * s->low))
		return false;
	for (size_t i = 0; i < t->b->jump_count; i++)
		if (t->b->jumps[i].table == at && index != s->low)
			return false;
	return true;
}

enum reading { READ_ALL, READ_SOME, READ_NOTHING };

/*
 * A comparison may bound more than the table has: of what the compiler knew not to come. Then
 * another object begins within.
 */
static bool is_proven(struct table_search *t, const struct table_shape *s)
{
	if (s->bytes == 1)
		return true;
	if (s->strength != STRENGTH_COMPARED || s->high - s->low >= ENTRIES_MAX)
		return false;
	const uint64_t first = s->offset + s->scale * s->low;
	const uint64_t size = s->scale * (s->high - s->low) + s->bytes;
	return cfg_next_reference(t->b->image, first) - first >= size;
}

static int read_table(struct table_search *t, const struct table_shape *s, struct target_list *to,
		      enum reading *ret)
{
	const bool proven = is_proven(t, s);
	const size_t first = to->count;
	size_t size;

	*ret = READ_ALL;
	for (uint64_t i = s->low; i <= s->high && i - s->low < ENTRIES_MAX; i++) {
		uint64_t target;

		if (!read_entry(t, s, i, &target) ||
		    !(proven ? cfg_code_at(t->b->image, target, &size) != NULL
			     : is_likely(t, s, i, target))) {
			*ret = to->count > first ? READ_SOME : READ_NOTHING;
			break;
		}
		if (array_grow(&to->list, to->count, &to->room, sizeof(*to->list), 64))
			return -ENOMEM;
		to->list[to->count++] = target;
		if (i == UINT64_MAX)
			break;
	}
	if (*ret == READ_ALL && !proven && s->strength != STRENGTH_WIDTH)
		*ret = READ_SOME;
	return 0;
}

/* ---- one jump ---- */

static int read_shapes(struct table_search *t, struct build_jump *jump,
		       const struct table_shape *shapes, unsigned count, bool complete,
		       struct target_list *to)
{
	jump->state = complete ? JUMP_PROVEN : JUMP_UNKNOWN;
	jump->why = CFG_WHY_INDIRECT;
	for (unsigned i = 0; i < count; i++) {
		enum reading reading;
		const bool proven = is_proven(t, &shapes[i]);

		jump->table = shapes[i].offset + shapes[i].scale * shapes[i].low;
		int r = read_table(t, &shapes[i], to, &reading);
		if (r < 0)
			return r;
		if (reading == READ_NOTHING || (proven && reading == READ_SOME)) {
			jump->state = JUMP_UNKNOWN;
			jump->why = proven ? CFG_WHY_TABLE : CFG_WHY_INDIRECT;
		} else if (reading == READ_SOME && jump->state == JUMP_PROVEN) {
			jump->state = JUMP_INFERRED;
		}
	}
	return 0;
}

/* The targets that are new are to be explored. */
static int keep_targets(struct table_search *t, struct build_jump *jump, struct target_list *to,
			bool *ret_more)
{
	int r = 0;

	to->count = num_sort_unique(to->list, to->count);
	for (size_t i = 0; i < to->count && !r; i++) {
		if (build_classify(t->b, to->list[i], true) != WAY_INSIDE)
			continue;
		if (build_find(t->b, to->list[i]) == UINT32_MAX) {
			r = build_push(t->b, to->list[i]);
			*ret_more = true;
		}
	}
	if (jump->target_count != to->count)
		*ret_more = true;
	free(jump->targets);
	jump->targets = to->list;
	jump->target_count = (uint32_t)to->count;
	*to = (struct target_list){0};
	return r;
}

/* Nothing has changed that the answer depends on. */
static bool is_current(const struct table_search *t, const struct build_jump *jump)
{
	if (jump->check_count == 0 || jump->check_count > BUILD_CHECKS_MAX)
		return false;
	for (uint32_t i = 0; i < jump->check_count; i++) {
		const struct build_check *c = &jump->checks[i];
		const uint32_t block = cfg_function_block_at(t->f, c->start);
		const struct cfg_block *b = &t->f->blocks[block];

		if (block == CFG_OUTSIDE || b->start != c->start || b->end != c->end ||
		    b->pred_count != c->pred_count)
			return false;
	}
	return true;
}

static int resolve_jump(struct table_search *t, struct build_jump *jump, uint32_t block,
			bool *ret_more)
{
	struct table_shape shapes[TABLE_SHAPES_MAX];
	struct target_list to = {0};
	bool complete, leaves = false;

	if (is_current(t, jump))
		return 0;
	unsigned count = table_find_shapes(t, jump, block, shapes, &complete);
	int r = read_shapes(t, jump, shapes, count, complete && count, &to);
	if (!r && jump->state == JUMP_UNKNOWN && to.count == 0) {
		/* No table of this function: a call in the place of a return, perhaps. */
		r = table_at_entry_height(t, block, &leaves);
		if (leaves)
			jump->state = JUMP_LEAVES;
	}
	if (!r)
		r = keep_targets(t, jump, &to, ret_more);
	free(to.list);
	return r;
}

static uint32_t block_of(const struct table_search *t, const struct build_jump *jump)
{
	return cfg_function_block_at(t->f, t->b->list[jump->instruction].in.address);
}

int build_resolve_jumps(struct cfg_builder *b, const struct cfg_function *f, bool *ret_more)
{
	struct table_search t = {.b = b, .f = f};
	int r = table_search_start(&t);

	*ret_more = false;
	for (size_t i = 0; i < b->jump_count && !r; i++)
		r = resolve_jump(&t, &b->jumps[i], block_of(&t, &b->jumps[i]), ret_more);
	table_search_end(&t);
	return r;
}

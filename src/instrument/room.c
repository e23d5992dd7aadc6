/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Where the jumps from the original into the copy go. Nothing may lead inside of one, so that even
 * a jump that nobody knew of, to a block that others jump to, finds it as it was, or a jump to its
 * copy. What is executed in the original, calls, stays as it is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "instrument/plan_state.h"
#include "util/search.h"

#define LONG_JUMP  5
#define SHORT_JUMP 2
#define ENDBR	   4
#define ALIGNMENT  16 /* of functions and loops: padding ends at a multiple at the latest */

#define ROUNDS 8 /* each time more is run through */

enum room_byte {
	ROOM_ENTERED = 1, /* something leads here */
	ROOM_LIVE = 2,	  /* executed in the original */
	ROOM_TAKEN = 4,	  /* by a patch */
	ROOM_IDLE = 8,	  /* nothing comes here any more, or ever did: padding */
};

/* A range of the function, and the padding behind it. */
struct room {
	uint64_t start, end;
	uint8_t *bytes; /* enum room_byte, or'ed */
};

struct rooms {
	struct planning *p;
	struct room *list;
	uint32_t count;
	uint8_t *memory;
};

static bool is_endbr(const uint8_t *code, size_t size)
{
	return size >= ENDBR && memcmp(code, "\xf3\x0f\x1e\xfa", ENDBR) == 0;
}

/* Where the padding that begins at start ends. */
static uint64_t padding_end(const struct planning *p, uint64_t start)
{
	const struct instrument_request *q = p->q;
	const size_t next = SEARCH_FIRST(q->entered_count, i, q->entered[i] >= start);
	const size_t range = SEARCH_FIRST(p->f->range_count, i, p->f->ranges[i].start >= start);
	uint64_t limit = (start + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1), at = start;

	if (next < q->entered_count && q->entered[next] < limit)
		limit = q->entered[next];
	if (range < p->f->range_count && p->f->ranges[range].start < limit)
		limit = p->f->ranges[range].start;
	while (at < limit) {
		size_t size = 0;
		const uint8_t *code = cfg_code_at(p->f->image, at, &size);
		struct isa_instruction in;
		struct isa_operands o;

		if (!code || !size || !isa_decode_operands(p->decoder, code, size, at, &in, &o))
			break;
		if (*code != 0xcc && (!(o.attributes & ISA_NOP) || is_endbr(code, size)))
			break;
		if (in.size > limit - at)
			break;
		at += in.size;
	}
	return at;
}

static struct room *room_at(const struct rooms *rooms, uint64_t address)
{
	const size_t i = SEARCH_FIRST(rooms->count, n, rooms->list[n].end > address);

	return i < rooms->count && address >= rooms->list[i].start ? &rooms->list[i] : NULL;
}

/* All rooms are as they were found: ranges and calls of the function. */
static void mark(struct rooms *rooms, uint64_t address, uint64_t size, uint8_t mark)
{
	struct room *room = room_at(rooms, address);

	for (uint64_t i = 0; i < size; i++)
		room->bytes[address - room->start + i] |= mark;
}

static int open_rooms(struct rooms *rooms)
{
	const struct cfg_function *f = rooms->p->f;
	size_t total = 0;

	rooms->list = calloc(f->range_count, sizeof(*rooms->list));
	if (!rooms->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->range_count; i++) {
		rooms->list[i] = (struct room){.start = f->ranges[i].start,
					       .end = padding_end(rooms->p, f->ranges[i].end)};
		total += rooms->list[i].end - rooms->list[i].start;
	}
	rooms->count = f->range_count;
	rooms->memory = calloc(total, 1);
	if (!rooms->memory)
		return -ENOMEM;
	uint8_t *next = rooms->memory;
	for (uint32_t i = 0; i < f->range_count; i++) {
		rooms->list[i].bytes = next;
		next += rooms->list[i].end - rooms->list[i].start;
		for (uint64_t at = f->ranges[i].end; at < rooms->list[i].end; at++)
			mark(rooms, at, 1, ROOM_IDLE);
	}
	for (uint32_t i = 0; i < f->block_count; i++) {
		const struct cfg_block *b = &f->blocks[i];
		const struct isa_instruction *last = cfg_block_last(f, b);

		if (rooms->p->blocks[i].jumped || rooms->p->blocks[i].causes)
			mark(rooms, b->start, 1, ROOM_ENTERED);
		if (last->branch == ISA_BRANCH_CALL)
			mark(rooms, last->address, last->size, ROOM_LIVE);
		if (rooms->p->plan->through[i])
			mark(rooms, b->start, b->end - b->start, ROOM_LIVE);
	}
	return 0;
}

static bool is_free(const struct rooms *rooms, uint64_t address, unsigned size, uint8_t wanted)
{
	const struct room *room = room_at(rooms, address);

	if (!room || room->end - address < size)
		return false;
	for (unsigned i = 0; i < size; i++) {
		const uint8_t byte = room->bytes[address - room->start + i];

		if ((byte & (ROOM_LIVE | ROOM_TAKEN)) || (byte & wanted) != wanted ||
		    ((byte & ROOM_ENTERED) && (i || wanted)))
			return false;
	}
	return true;
}

/* Behind a jump that nothing passes, until something leads there. */
static void mark_idle(struct rooms *rooms, uint64_t address)
{
	struct room *room = room_at(rooms, address);

	for (; room && address < room->end; address++) {
		uint8_t *byte = &room->bytes[address - room->start];

		if (*byte & (ROOM_ENTERED | ROOM_LIVE | ROOM_TAKEN))
			break;
		*byte |= ROOM_IDLE;
	}
}

/* A place for a long jump that a short one at address reaches. */
static uint64_t find_relay(const struct rooms *rooms, uint64_t address)
{
	const uint64_t from = address + SHORT_JUMP;

	for (int distance = 0; distance < 128; distance++) {
		if (is_free(rooms, from + (unsigned)distance, LONG_JUMP, ROOM_IDLE))
			return from + (unsigned)distance;
		if (is_free(rooms, from - (unsigned)distance, LONG_JUMP, ROOM_IDLE))
			return from - (unsigned)distance;
	}
	return ISA_NO_ADDRESS;
}

/*
 * Without room behind a call the original may run on, to the next call, or to the one block that
 * follows, where the copy is entered instead. Of other code none comes by there.
 */
static int run_on(struct planning *p, uint32_t block)
{
	const struct cfg_block *b = &p->f->blocks[block];
	const enum isa_branch branch = cfg_block_last(p->f, b)->branch;
	const struct cfg_edge *e = &p->f->edges[b->first_succ];

	if (p->blocks[block].causes != PLANNING_RETURN)
		return planning_refuse(p, INSTRUMENT_WHY_ROOM);
	if (branch != ISA_BRANCH_CALL) {
		if (b->succ_count != 1 || e->to == CFG_OUTSIDE || e->to == block ||
		    (e->kind != CFG_JUMP && e->kind != CFG_FALL_THROUGH) || p->plan->through[e->to])
			return planning_refuse(p, INSTRUMENT_WHY_ROOM);
		p->blocks[e->to].causes |= PLANNING_RUN;
		p->blocks[e->to].runs++;
	}
	p->plan->through[block] = true;
	return 0;
}

static bool settle(struct rooms *rooms, struct instrument_entrance *e)
{
	if (!is_free(rooms, e->patch, SHORT_JUMP, 0))
		return false;
	e->relay = find_relay(rooms, e->patch);
	if (e->relay == ISA_NO_ADDRESS)
		return false;
	mark(rooms, e->patch, SHORT_JUMP, ROOM_TAKEN);
	mark(rooms, e->relay, LONG_JUMP, ROOM_TAKEN);
	return true;
}

/* -EAGAIN: some blocks are run through, and others entered for that. */
static int fill_entrances(struct rooms *rooms)
{
	struct planning *p = rooms->p;
	struct instrument_plan *plan = p->plan;
	bool *has_room = calloc(plan->entrance_count, sizeof(*has_room)), again = false;
	int r = has_room ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < plan->entrance_count && !r; i++) {
		struct instrument_entrance *e = &plan->entrances[i];

		has_room[i] = is_free(rooms, e->patch, LONG_JUMP, 0);
		if (has_room[i])
			mark(rooms, e->patch, LONG_JUMP, ROOM_TAKEN);
	}
	for (uint32_t i = 0; i < plan->entrance_count && !r; i++)
		if (has_room[i])
			mark_idle(rooms, plan->entrances[i].patch + LONG_JUMP);
	for (uint32_t i = 0; i < plan->entrance_count && !r; i++)
		if (!has_room[i] && !settle(rooms, &plan->entrances[i])) {
			again = true;
			r = run_on(p, plan->entrances[i].block);
		}
	free(has_room);
	return r ? r : again ? -EAGAIN : 0;
}

static int list_entrances(struct planning *p)
{
	struct instrument_plan *plan = p->plan;

	plan->entrance_count = 0;
	for (uint32_t i = 0; i < p->f->block_count; i++)
		plan->entrance_count += p->blocks[i].causes && !plan->through[i];
	free(plan->entrances);
	plan->entrances = calloc(plan->entrance_count, sizeof(*plan->entrances));
	if (!plan->entrances)
		return -ENOMEM;
	for (uint32_t i = 0, n = 0; i < p->f->block_count; i++) {
		if (!p->blocks[i].causes || plan->through[i])
			continue;
		const uint64_t start = p->f->blocks[i].start;
		size_t size = 0;
		const uint8_t *code = cfg_code_at(p->f->image, start, &size);

		plan->entrances[n++] = (struct instrument_entrance){
			.block = i,
			.patch = start + (is_endbr(code, size) ? ENDBR : 0),
			.relay = ISA_NO_ADDRESS};
	}
	return 0;
}

int planning_find_rooms(struct planning *p)
{
	int r = -EAGAIN;

	p->plan->through = calloc(p->f->block_count, sizeof(*p->plan->through));
	if (!p->plan->through)
		return -ENOMEM;
	for (int round = 0; r == -EAGAIN && round < ROUNDS; round++) {
		struct rooms rooms = {.p = p};

		r = list_entrances(p);
		if (!r)
			r = open_rooms(&rooms);
		if (!r)
			r = fill_entrances(&rooms);
		free(rooms.list);
		free(rooms.memory);
	}
	return r == -EAGAIN ? planning_refuse(p, INSTRUMENT_WHY_ROOM) : r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include "cfg/image.h"
#include "util/array.h"
#include "util/search.h"

/*
 * Does a function return? This searches for one path from its entry to a return, and avoids calls
 * as long as there is another path: most functions are then decided without a look at their
 * callees. If all remaining paths go through some callees, these are decided first, by recursion; a
 * callee that is being decided already, or is too deep, counts as returning. So "never" is proven
 * and "may" is not, which is what the graphs need: an edge too many does little harm, a missing one
 * does much.
 */
enum cfg_returning { RETURNS = 1, NEVER = 2, BUSY = 3 };

#define DEPTH_MAX	 200
#define INSTRUCTIONS_MAX 30000 /* of one search */

struct pending {
	uint64_t after; /* where the callee returns to; ISA_NO_ADDRESS: it returns for us */
	uint64_t callee;
};

struct search {
	struct cfg_image *image;
	uint64_t *work;
	struct pending *calls;
	size_t work_count, work_room, call_count, call_room;
	struct map64 *seen;
	size_t instructions;
	unsigned depth;
	const struct cfg_place *place;
	bool landings_done;
};

static bool settle(struct cfg_image *image, uint64_t entry, unsigned depth);

static bool push_work(struct search *s, uint64_t address)
{
	if (array_grow(&s->work, s->work_count, &s->work_room, sizeof(*s->work), 32))
		return false;
	s->work[s->work_count++] = address;
	return true;
}

static bool push_call(struct search *s, uint64_t after, uint64_t callee)
{
	if (array_grow(&s->calls, s->call_count, &s->call_room, sizeof(*s->calls), 32))
		return false;
	s->calls[s->call_count++] = (struct pending){after, callee};
	return true;
}

/* What is known of a callee without a search: 0 when nothing. */
static enum cfg_returning known(struct search *s, uint64_t callee)
{
	uint64_t state;

	if (map64_get(s->image->returns, callee, &state) == 0)
		return state == BUSY ? RETURNS : (enum cfg_returning)state;
	return 0;
}

/* Where a run goes on: ISA_NO_ADDRESS when it ends. Sets *found at a return. */
static uint64_t after_call(struct search *s, const struct isa_instruction *in, bool *found)
{
	const uint64_t next = in->address + in->size;

	if (in->target == ISA_NO_ADDRESS) {
		const char *name =
			in->data != ISA_NO_ADDRESS ? cfg_external_word(s->image, in->data) : NULL;

		return cfg_name_never_returns(name) ? ISA_NO_ADDRESS : next;
	}
	/* Into the middle of its own function: a jump that leaves a return address behind. */
	if (s->place && in->target > s->place->start && in->target < s->place->end &&
	    !push_work(s, in->target))
		*found = true;
	switch (known(s, in->target)) {
	case RETURNS:
		return next;
	case NEVER:
		return ISA_NO_ADDRESS;
	default:
		if (!push_call(s, next, in->target))
			*found = true; /* out of memory: claim nothing */
		return ISA_NO_ADDRESS;
	}
}

/* A jump or a fall through to target: within the function, or to another. */
static uint64_t go_to(struct search *s, uint64_t target, bool *found)
{
	const struct cfg_place *to = cfg_place_at(s->image, target);

	if (to == s->place)
		return target;
	if (to && target == to->start &&
	    (to->part || (s->place && cfg_name_is_part_of(to->name, s->place->name))))
		return target;
	/* Another function, or code that it shares with this one: settled once for all. */
	if (known(s, target) == RETURNS ||
	    (to && target == to->start && cfg_name_is_return(to->name)))
		*found = true;
	else if (known(s, target) != NEVER && !push_call(s, ISA_NO_ADDRESS, target))
		*found = true;
	return ISA_NO_ADDRESS;
}

/* One instruction; gives where the run goes on. */
static uint64_t step(struct search *s, const struct isa_instruction *in, bool *found)
{
	const uint64_t next = in->address + in->size;

	switch (in->branch) {
	case ISA_BRANCH_RETURN:
		*found = true;
		return ISA_NO_ADDRESS;
	case ISA_BRANCH_STOP:
		return s->image->source->kernel ? next : ISA_NO_ADDRESS;
	case ISA_BRANCH_CALL:
		return after_call(s, in, found);
	case ISA_BRANCH_JUMP:
		if (in->target != ISA_NO_ADDRESS)
			return go_to(s, in->target, found);
		/* Through a table, or to who knows where. */
		*found = in->data == ISA_NO_ADDRESS ||
			 !cfg_name_never_returns(cfg_external_word(s->image, in->data));
		return ISA_NO_ADDRESS;
	case ISA_BRANCH_CONDITIONAL: {
		uint64_t to = go_to(s, in->target, found);

		if (to != ISA_NO_ADDRESS && !push_work(s, to))
			*found = true;
		break;
	}
	default:
		break;
	}
	/* Only another function begins after this. */
	return s->place && next == s->place->end ? go_to(s, next, found) : next;
}

/* Follows control from address until the run ends. True: a return was found. */
static bool follow(struct search *s, uint64_t address)
{
	const uint8_t *code = NULL;
	size_t size = 0;
	uint64_t at = ISA_NO_ADDRESS; /* of code */

	while (address != ISA_NO_ADDRESS) {
		struct isa_instruction in;
		uint64_t ignored;
		bool found = false;

		if (at == ISA_NO_ADDRESS || address < at || address - at >= size) {
			code = cfg_code_at(s->image, address, &size);
			at = address;
			if (!code)
				return true; /* who knows */
		}
		if (map64_get(s->seen, address, &ignored) == 0)
			return false;
		if (++s->instructions > INSTRUCTIONS_MAX || map64_put(s->seen, address, 1) < 0)
			return true;
		isa_decode(s->image->decoder, code + (address - at), size - (address - at), address,
			   &in);
		if (!in.valid)
			return true;
		if (code[address - at] == 0xcc)
			return false;
		address = step(s, &in, &found);
		if (found)
			return true;
		/* A call at the very end of a function that would fall out of it. */
		if (in.branch == ISA_BRANCH_CALL && s->place && s->place->exact &&
		    address == s->place->end)
			return false;
	}
	return false;
}

static bool add_landings(struct search *s)
{
	const struct cfg_source *source = s->image->source;

	s->landings_done = true;
	if (!s->place)
		return true;
	size_t low = SEARCH_FIRST(source->landing_count, i,
				  source->landings[i].function >= s->place->start);

	for (; low < source->landing_count && source->landings[low].function == s->place->start;
	     low++)
		if (!push_work(s, source->landings[low].address))
			return false;
	return true;
}

static bool search_return(struct search *s, uint64_t entry)
{
	if (!push_work(s, entry))
		return true;
	for (;;) {
		while (s->work_count)
			if (follow(s, s->work[--s->work_count]))
				return true;
		if (s->call_count) {
			struct pending p = s->calls[--s->call_count];

			if (!settle(s->image, p.callee, s->depth + 1))
				continue;
			if (p.after == ISA_NO_ADDRESS)
				return true;
			if (s->place && s->place->exact && p.after == s->place->end)
				continue;
			if (!push_work(s, p.after))
				return true;
		} else if (s->landings_done) {
			return false;
		} else if (!add_landings(s)) {
			return true;
		}
	}
}

static bool settle(struct cfg_image *image, uint64_t entry, unsigned depth)
{
	uint64_t state;

	if (map64_get(image->returns, entry, &state) == 0)
		return state != NEVER;
	const struct cfg_place *place = cfg_place_at(image, entry);
	const char *name = place && place->start == entry ? place->name : NULL;
	if (cfg_name_never_returns(name)) {
		map64_put(image->returns, entry, NEVER);
		return false;
	}
	if (cfg_name_is_indirect(name)) { /* returns through what its code does not show */
		map64_put(image->returns, entry, RETURNS);
		return true;
	}
	struct search s = {.image = image, .depth = depth, .place = place};
	bool returns = true;
	if (depth < DEPTH_MAX && map64_put(image->returns, entry, BUSY) == 0) {
		s.seen = map64_new(INSTRUCTIONS_MAX);
		returns = !s.seen || search_return(&s, entry);
		map64_put(image->returns, entry, returns ? RETURNS : NEVER);
	}
	map64_free(s.seen);
	free(s.work);
	free(s.calls);
	return returns;
}

bool cfg_may_return(struct cfg_image *image, uint64_t entry)
{
	return settle(image, entry, 0);
}

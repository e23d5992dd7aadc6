/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/code.h"
#include <errno.h>
#include <stdlib.h>
#include "util/hash.h"
#include "util/num.h"
#include "util/search.h"

#define INSTRUCTION_MAX_BYTES 15
#define RUN_BYTES	      4096 /* of code that is hashed at a time */

void instrument_code_free(struct instrument_code *code)
{
	free(code->bytes);
	free(code->places);
	free(code->pieces);
	free(code->patches);
	*code = (struct instrument_code){0};
}

const struct instrument_place *instrument_code_at_original(const struct instrument_code *code,
							   uint64_t address)
{
	const struct instrument_place *p = code->places;
	const size_t at = SEARCH_FIRST(code->place_count, i, p[i].original >= address);

	return at < code->place_count && p[at].original == address ? &p[at] : NULL;
}

const struct instrument_place *instrument_code_at_copy(const struct instrument_code *code,
						       uint64_t address)
{
	const struct instrument_place *p = code->places;

	if (address < code->address || address - code->address >= code->size)
		return NULL;
	const uint64_t offset = address - code->address;
	const size_t at = SEARCH_FIRST(code->place_count, i, p[i].copy >= offset);
	return at < code->place_count && p[at].copy == offset ? &p[at] : NULL;
}

static bool are_places_right(const struct instrument_code *code)
{
	for (uint32_t i = 0; i < code->place_count; i++) {
		const struct instrument_place *p = &code->places[i];

		if (p->copy >= code->size ||
		    (i && (p->original <= p[-1].original || p->copy <= p[-1].copy)))
			return false;
	}
	return true;
}

/* Whether it is in the function, or where it is left at its end. */
static bool is_reached(const struct instrument_code *code, uint64_t original)
{
	const struct instrument_place *p = code->places;

	return code->place_count && original >= p->original &&
	       original <= num_add_sat(p[code->place_count - 1].original, INSTRUCTION_MAX_BYTES);
}

/* Of places that are right. */
static bool are_pieces_right(const struct instrument_code *code)
{
	for (uint32_t i = 0; i < code->piece_count; i++) {
		const struct instrument_piece *p = &code->pieces[i];

		if (p->copy >= code->size || (i && p->copy <= p[-1].copy) ||
		    instrument_code_at_copy(code, code->address + p->copy) ||
		    !instrument_code_at_original(code, p->charged) ||
		    (p->stands_for != INSTRUMENT_NOWHERE && !is_reached(code, p->stands_for)))
			return false;
	}
	return true;
}

int instrument_code_check(const struct instrument_code *code)
{
	if (code->address + code->size < code->address ||
	    (code->entrance && code->entrance >= code->size) ||
	    code->slot_count > UINT32_MAX - code->first_slot || !are_places_right(code) ||
	    !are_pieces_right(code))
		return -EBADMSG;
	for (uint32_t i = 0; i < code->patch_count; i++) {
		const struct instrument_patch *p = &code->patches[i];

		if (p->size == 0 || p->size > INSTRUMENT_PATCH_BYTES ||
		    p->address > UINT64_MAX - p->size ||
		    (i && p->address < p[-1].address + p[-1].size))
			return -EBADMSG;
	}
	return 0;
}

/* How many bytes of instructions that follow one another begin at a place. ret: the place behind
 * them. */
static size_t measure_run(const struct instrument_code *code, uint32_t first, uint32_t *ret)
{
	const struct instrument_place *p = code->places;
	size_t size = p[first].size;
	uint32_t i = first + 1;

	while (i < code->place_count && p[i].original == p[first].original + size &&
	       size + p[i].size <= RUN_BYTES)
		size += p[i++].size;
	*ret = i;
	return size;
}

int instrument_code_hash_original(const struct instrument_code *code,
				  int (*read)(void *arg, uint64_t address, void *data, size_t size),
				  void *arg, uint64_t *ret)
{
	uint8_t bytes[RUN_BYTES];
	uint64_t hash = 0;
	int r = 0;

	for (uint32_t i = 0, next; !r && i < code->place_count; i = next) {
		const size_t size = measure_run(code, i, &next);

		r = size ? read(arg, code->places[i].original, bytes, size) : 0;
		if (!r && size)
			hash = hash_u64(hash ^ hash_bytes(bytes, size));
	}
	if (!r)
		*ret = hash;
	return r;
}

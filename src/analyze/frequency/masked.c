/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/frequency/masked.h"

#define FURTHEST 2 /* instructions, of struct isa_instruction.unmasks */

/* distance: instructions back that at is looked from, 1 to FURTHEST; so it calls itself once. */
static uint32_t look_back(const struct cfg_function *f, uint32_t block, uint32_t at,
			  unsigned distance)
{
	const struct cfg_block *b = &f->blocks[block];

	if (at > b->first_instruction) {
		at--;
		if (f->instructions[at].unmasks == distance)
			return at;
		return distance < FURTHEST ? look_back(f, block, at, distance + 1) : CFG_OUTSIDE;
	}
	for (uint32_t i = 0; i < b->pred_count; i++) {
		const struct cfg_edge *e = &f->edges[f->preds[b->first_pred + i]];

		if (e->from == CFG_OUTSIDE || e->kind == CFG_AFTER_CALL ||
		    f->blocks[e->from].instruction_count == 0)
			continue;
		const struct cfg_block *from = &f->blocks[e->from];
		uint32_t found = look_back(
			f, e->from, from->first_instruction + from->instruction_count, distance);
		if (found != CFG_OUTSIDE)
			return found;
	}
	return CFG_OUTSIDE;
}

uint32_t masked_until(const struct cfg_function *f, uint32_t block, uint32_t at)
{
	return look_back(f, block, at, 1);
}

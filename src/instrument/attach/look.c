/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/attach/attach_state.h"

void attach_begin_look(struct attach *a)
{
	const bool ends = a->ops->is_ending && a->ops->is_ending(a->ops->arg);

	if (ends && !a->is_ending)
		a->end_left = ATTACH_END_MAX_BYTES;
	else if (ends)
		a->end_left -= a->look_given - a->look_left;
	a->is_ending = ends;
	a->look_given =
		ends && a->end_left < ATTACH_LOOK_MAX_BYTES ? a->end_left : ATTACH_LOOK_MAX_BYTES;
	a->look_left = a->look_given;
}

bool attach_is_deep(const struct attach *a)
{
	return a->look_given - a->look_left >= ATTACH_STIR_MAX_BYTES ||
	       a->look_left < TARGET_STACKS_MAX_BYTES;
}

void attach_charge_look(struct attach *a, uint64_t bytes)
{
	a->look_left -= bytes < a->look_left ? bytes : a->look_left;
}

bool attach_may_stir(const struct attach *a, unsigned try)
{
	return !try || (try < ATTACH_STIRS && !attach_is_deep(a));
}

int attach_find_frames(struct attach *a, const struct attach_space *s,
		       const struct target_maps *maps, uint64_t stack,
		       struct target_frame frames[TARGET_FRAMES_MAX])
{
	return target_frames_find(s->mem, maps, stack, &a->look_left, frames);
}

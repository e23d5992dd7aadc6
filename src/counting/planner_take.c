/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "counting/planner_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "instrument/attach/implant.h"

int planner_take_facts(const void *data, size_t size, struct plans_facts *ret)
{
	struct plans_facts f;

	if (size != sizeof(f))
		return -EBADMSG;
	memcpy(&f, data, sizeof(f));
	if ((f.image.id.kind != IMAGE_BUILD_ID && f.image.id.kind != IMAGE_CONTENT) ||
	    f.image.id.size > IMAGE_ID_MAX || f.image.segment_count > IMAGE_SEGMENTS_MAX ||
	    f.slots > INSTRUMENT_SLOTS_MAX || f.functions > PLANNER_FUNCTIONS_MAX ||
	    f.planned > f.functions || f.cut > f.planned || f.bytes > IMPLANT_MAX_BYTES)
		return -EBADMSG;
	for (int i = 0; i < INSTRUMENT_REASONS; i++)
		if (f.left[i] > f.functions)
			return -EBADMSG;
	*ret = f;
	return 0;
}

static void *take(struct cursor *c, uint64_t size)
{
	const void *from = cursor_bytes(c, size);
	void *data = from ? malloc(size + 1) : NULL;

	if (data)
		memcpy(data, from, size);
	return data;
}

/* Within what the image was given: of the copies' room, and of the slots. */
static bool is_within(const struct planner_code *w, const struct plans_facts *f,
		      const struct instrument_destination *at)
{
	const uint64_t offset = w->address - at->address, slot = w->first_slot - at->first_slot;

	return w->address >= at->address && offset <= f->bytes && w->size <= f->bytes - offset &&
	       w->first_slot >= at->first_slot && slot <= f->slots &&
	       w->slot_count <= f->slots - slot;
}

static int take_code(struct cursor *c, const struct plans_facts *facts,
		     const struct instrument_destination *at, struct instrument_code *ret)
{
	const void *from = cursor_bytes(c, sizeof(struct planner_code));
	struct planner_code w;

	if (!from)
		return -EBADMSG;
	memcpy(&w, from, sizeof(w));
	if (!w.size)
		return w.place_count || w.piece_count || w.patch_count ? -EBADMSG : 0;
	if (!is_within(&w, facts, at))
		return -EBADMSG;
	*ret = (struct instrument_code){.entry = w.entry,
					.address = w.address,
					.original_hash = w.original_hash,
					.size = w.size,
					.entrance = w.entrance,
					.place_count = w.place_count,
					.piece_count = w.piece_count,
					.patch_count = w.patch_count,
					.first_slot = w.first_slot,
					.slot_count = w.slot_count};
	ret->bytes = take(c, w.size);
	ret->places = take(c, w.place_count * sizeof(*ret->places));
	ret->pieces = take(c, w.piece_count * sizeof(*ret->pieces));
	ret->patches = take(c, w.patch_count * sizeof(*ret->patches));
	if (!ret->bytes || !ret->places || !ret->pieces || !ret->patches)
		return -EBADMSG;
	return instrument_code_check(ret);
}

int planner_take_codes(const void *data, size_t size, const struct plans_facts *facts,
		       const struct instrument_destination *at, struct instrument_code *codes)
{
	struct cursor c = cursor_over(data, size);
	uint64_t end = at->address;
	int r = 0;

	for (uint32_t i = 0; !r && i < facts->planned; i++) {
		r = take_code(&c, facts, at, &codes[i]);
		if (r || !codes[i].size)
			continue;
		r = codes[i].address < end ? -EBADMSG : 0;
		end = codes[i].address + codes[i].size;
	}
	return !r && cursor_left(&c) ? -EBADMSG : r;
}

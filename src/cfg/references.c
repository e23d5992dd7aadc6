/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include "cfg/build.h"
#include "util/array.h"
#include "util/num.h"
#include "util/search.h"

/*
 * Finds all "lea disp32(%rip), %reg" in the code by their bytes, at any alignment. Instructions are
 * not decoded, so that this takes a fraction of a second for the largest images. Bytes that only
 * look like one are rare (3 bytes are fixed), and point anywhere.
 */
static bool add_references(struct cfg_image *image, const struct cfg_bytes *code, size_t *room)
{
	for (size_t i = 1; i + 6 <= code->size; i++) {
		const uint8_t *p = code->data + i;
		int32_t displacement;

		if (p[0] != 0x8d || (p[1] & 0xc7) != 0x05 || (p[-1] & 0xfb) != 0x48)
			continue;
		memcpy(&displacement, p + 2, sizeof(displacement));
		if (array_grow(&image->references, image->reference_count, room,
			       sizeof(*image->references), 64))
			return false;
		image->references[image->reference_count++] =
			code->address + i + 6 + (uint64_t)(int64_t)displacement;
	}
	return true;
}

static void make_references(struct cfg_image *image)
{
	size_t room = 0;

	image->references_made = true;
	if (image->source->bits == 64)
		for (size_t i = 0; i < image->source->code_count; i++)
			if (!add_references(image, &image->source->code[i], &room))
				break; /* fewer ends are known */
	array_sort(image->references, image->reference_count, sizeof(*image->references),
		   num_compare_u64);
}

uint64_t cfg_next_reference(struct cfg_image *image, uint64_t address)
{
	if (!image->references_made)
		make_references(image);
	size_t low = SEARCH_FIRST(image->reference_count, i, image->references[i] > address);

	return low < image->reference_count ? image->references[low] : UINT64_MAX;
}

bool cfg_place_is_part(const struct cfg_place *place)
{
	return place->part || (place->name && strstr(place->name, ".cold"));
}

/* A jump from one place to the start of a part: that is its function, or one more part of it. */
static void note_jump(struct cfg_image *image, uint64_t from, uint64_t target)
{
	const struct cfg_place *to = cfg_place_at(image, target);

	if (!to || to->start != target || to->owner != UINT32_MAX || !cfg_place_is_part(to))
		return;
	const struct cfg_place *by = cfg_place_at(image, from);
	if (by && by != to && !cfg_place_is_part(by) &&
	    (to->part || cfg_name_is_part_of(to->name, by->name)))
		image->places[to - image->places].owner = (uint32_t)(by - image->places);
}

/* As with the references: jmp and jcc with 32-bit displacements, by their bytes. */
void cfg_find_owners(struct cfg_image *image)
{
	struct map64 *starts = map64_new(CFG_FUNCTIONS_MAX);
	uint64_t known;

	image->owners_made = true;
	for (size_t i = 0; starts && i < image->place_count; i++)
		if (cfg_place_is_part(&image->places[i]) &&
		    map64_put(starts, image->places[i].start, i) < 0)
			break;
	for (size_t i = 0; starts && map64_count(starts) && i < image->source->code_count; i++) {
		const struct cfg_bytes *code = &image->source->code[i];

		for (size_t at = 1; at + 5 <= code->size; at++) {
			const uint8_t *p = code->data + at;
			int32_t displacement;

			if (p[0] != 0xe9 && !((p[0] & 0xf0) == 0x80 && p[-1] == 0x0f))
				continue;
			memcpy(&displacement, p + 1, sizeof(displacement));
			uint64_t to = code->address + at + 5 + (uint64_t)(int64_t)displacement;
			if (map64_get(starts, to, &known) == 0)
				note_jump(image, code->address + at, to);
		}
	}
	map64_free(starts);
}

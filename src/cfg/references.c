/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include "cfg/build.h"

/*
 * All "lea disp32(%rip), %reg" of the code by their bytes, at any alignment: instructions are not
 * decoded, which makes this a fraction of a second for the largest images. What only looks like one
 * is rare (3 fixed bytes) and points anywhere.
 */
static bool add_references(struct cfg_image *image, const struct cfg_bytes *code, size_t *room)
{
	for (size_t i = 1; i + 6 <= code->size; i++) {
		const uint8_t *p = code->data + i;
		int32_t displacement;
		if (p[0] != 0x8d || (p[1] & 0xc7) != 0x05 || (p[-1] & 0xfb) != 0x48)
			continue;
		memcpy(&displacement, p + 2, sizeof(displacement));
		if (!build_grow(&image->references, image->reference_count, room,
				sizeof(*image->references)))
			return false;
		image->references[image->reference_count++] =
			code->address + i + 6 + (uint64_t)(int64_t)displacement;
	}
	return true;
}

static int compare_u64(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;
	return *a < *b ? -1 : *a > *b;
}

static void make_references(struct cfg_image *image)
{
	size_t room = 0;
	image->references_made = true;
	if (image->source->bits == 64)
		for (size_t i = 0; i < image->source->code_count; i++)
			if (!add_references(image, &image->source->code[i], &room))
				break; /* fewer ends are known */
	if (image->reference_count)
		qsort(image->references, image->reference_count, sizeof(*image->references),
		      compare_u64);
}

uint64_t cfg_next_reference(struct cfg_image *image, uint64_t address)
{
	if (!image->references_made)
		make_references(image);
	size_t low = 0, high = image->reference_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (image->references[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < image->reference_count ? image->references[low] : UINT64_MAX;
}

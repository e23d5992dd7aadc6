/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/image.h"
#include "util/array.h"
#include "util/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct cfg_place *cfg_place_at(const struct cfg_image *image, uint64_t address)
{
	size_t i = SEARCH_FIRST(image->place_count, n, image->places[n].start > address);

	return i && address < image->places[i - 1].end ? &image->places[i - 1] : NULL;
}

static const uint8_t *bytes_at(const struct cfg_bytes *list, size_t count, uint64_t address,
			       size_t *ret_size)
{
	size_t i = SEARCH_FIRST(count, n, list[n].address > address);

	if (!i || address - list[i - 1].address >= list[i - 1].size)
		return NULL;
	const struct cfg_bytes *b = &list[i - 1];
	*ret_size = b->size - (size_t)(address - b->address);
	return b->data + (address - b->address);
}

const uint8_t *cfg_code_at(const struct cfg_image *image, uint64_t address, size_t *ret_size)
{
	return bytes_at(image->source->code, image->source->code_count, address, ret_size);
}

const uint8_t *cfg_data_at(const struct cfg_image *image, uint64_t address, size_t size)
{
	size_t have = 0;
	const uint8_t *data =
		bytes_at(image->source->data, image->source->data_count, address, &have);

	return data && have >= size ? data : NULL;
}

const char *cfg_external_word(const struct cfg_image *image, uint64_t address)
{
	const struct cfg_source *s = image->source;
	size_t i = SEARCH_FIRST(s->external_count, n, s->externals[n].address > address);

	return i && s->externals[i - 1].address == address ? s->externals[i - 1].name : NULL;
}

/* A PLT entry is a jump through a word of the GOT, possibly after an endbr64 and with a bnd
 * prefix. */
const char *cfg_external_entry(const struct cfg_image *image, uint64_t address)
{
	size_t size = 0, at = 0;
	const uint8_t *code = cfg_code_at(image, address, &size);

	if (code && size >= 4 && memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0)
		at = 4;
	if (code && size > at && code[at] == 0xf2)
		at++;
	if (!code || size < at + 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return NULL;
	int32_t displacement;
	memcpy(&displacement, code + at + 2, sizeof(displacement));
	return cfg_external_word(image, address + at + 6 + (uint64_t)(int64_t)displacement);
}

int cfg_image_add_entry(struct cfg_image *image, uint64_t entry)
{
	uint64_t known;

	if (map64_get(image->extra_known, entry, &known) == 0)
		return 0;
	if (array_grow(&image->extra, image->extra_count, &image->extra_room, sizeof(*image->extra),
		       64))
		return -ENOMEM;
	int r = map64_put(image->extra_known, entry, 1);
	if (r == -ENOSPC)
		return 0;
	if (!r)
		image->extra[image->extra_count++] = entry;
	return r;
}

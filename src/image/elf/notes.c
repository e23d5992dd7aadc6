/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/elf/notes.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

/* Of the bytes left after a note's part of size bytes: where the next part starts. */
static size_t note_skip(size_t size, size_t align, size_t left)
{
	if (size > left)
		return left;
	size_t padded = (size + align - 1) & ~(align - 1);
	return padded < left ? padded : left;
}

static int note_take(const uint8_t *bytes, size_t size, struct image_id *ret)
{
	if (size > IMAGE_ID_MAX)
		size = IMAGE_ID_MAX;
	uint8_t any = 0;
	for (size_t i = 0; i < size; i++)
		any |= bytes[i];
	if (!any)
		return -ENOENT;
	memset(ret->bytes, 0, sizeof(ret->bytes));
	memcpy(ret->bytes, bytes, size);
	ret->size = (uint8_t)size;
	return 0;
}

int image_notes_build_id(const void *data, size_t size, size_t align, struct image_id *ret)
{
	const uint8_t *at = data;
	Elf64_Nhdr note; /* the 32-bit one is the same */

	if (align != 8)
		align = 4;
	while (size >= sizeof(note)) {
		memcpy(&note, at, sizeof(note));
		at += sizeof(note);
		size -= sizeof(note);
		/* What is padded to 8 is the end of each part, counted from the note's start. */
		size_t name_part = note_skip(sizeof(note) + (size_t)note.n_namesz, align,
					     sizeof(note) + size) -
				   sizeof(note);
		const uint8_t *name = at;
		if (note.n_namesz > size || note.n_descsz > size - name_part)
			return -ENOENT;
		at += name_part;
		size -= name_part;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(name, "GNU", 4) && !note_take(at, note.n_descsz, ret))
			return 0;
		size_t desc_part = note_skip(note.n_descsz, align, size);
		at += desc_part;
		size -= desc_part;
	}
	return -ENOENT;
}

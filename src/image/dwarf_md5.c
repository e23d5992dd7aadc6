/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/dwarf_md5.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "image/elf/elf_code.h"
#include "util/buf.h"

#define FORMATS_MAX 16

struct header {
	struct cursor c;
	bool is_64; /* offsets of 8 bytes */
};

/* How each entry of a list is written: pairs of what it is and in which form. */
struct formats {
	uint64_t content[FORMATS_MAX], form[FORMATS_MAX];
	size_t count;
};

static void skip_string(struct cursor *c)
{
	const uint8_t *end = memchr(c->at, 0, cursor_left(c));

	if (end)
		c->at = end + 1;
	else
		c->error = -EBADMSG;
}

static void skip_form(struct header *h, uint64_t form)
{
	static const uint8_t sizes[] = {[DW_FORM_data1] = 1,
					[DW_FORM_data2] = 2,
					[DW_FORM_data4] = 4,
					[DW_FORM_data8] = 8,
					[DW_FORM_data16] = 16};
	struct cursor *c = &h->c;

	switch (form) {
	case DW_FORM_string:
		skip_string(c);
		break;
	case DW_FORM_line_strp:
	case DW_FORM_strp:
	case DW_FORM_sec_offset:
		cursor_bytes(c, h->is_64 ? 8 : 4);
		break;
	case DW_FORM_udata:
	case DW_FORM_strx:
		cursor_varint(c);
		break;
	case DW_FORM_block:
		cursor_bytes(c, cursor_varint(c));
		break;
	default:
		if (form < sizeof(sizes) && sizes[form])
			cursor_bytes(c, sizes[form]);
		else
			c->error = -EBADMSG;
	}
}

static void read_formats(struct header *h, struct formats *ret)
{
	ret->count = cursor_u8(&h->c);
	if (ret->count > FORMATS_MAX)
		h->c.error = -EBADMSG;
	for (size_t i = 0; i < ret->count && !h->c.error; i++) {
		ret->content[i] = cursor_varint(&h->c);
		ret->form[i] = cursor_varint(&h->c);
	}
}

static bool has_md5(const struct formats *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->content[i] == DW_LNCT_MD5 && f->form[i] == DW_FORM_data16)
			return true;
	return false;
}

/* The MD5 of the next entry of a list, NULL when it has none. */
static const uint8_t *read_entry(struct header *h, const struct formats *f)
{
	const uint8_t *md5 = NULL;

	for (size_t i = 0; i < f->count; i++) {
		if (f->content[i] == DW_LNCT_MD5 && f->form[i] == DW_FORM_data16)
			md5 = cursor_bytes(&h->c, 16);
		else
			skip_form(h, f->form[i]);
	}
	return h->c.error ? NULL : md5;
}

/* Up to the list of directories. False for anything but DWARF 5. */
static bool read_start(struct header *h)
{
	uint64_t size = cursor_u32(&h->c);

	h->is_64 = size == UINT32_MAX;
	if (h->is_64)
		size = cursor_u64(&h->c);
	if (h->c.error || size > cursor_left(&h->c))
		return false;
	h->c.end = h->c.at + size;
	const uint8_t *version = cursor_bytes(&h->c, 2);
	if (!version || version[0] != 5 || version[1])
		return false;
	/* Sizes of addresses and of selectors, the header's own, and what the program needs. */
	cursor_bytes(&h->c, 2 + (h->is_64 ? 8 : 4) + 5);
	uint8_t opcode_base = cursor_u8(&h->c);
	cursor_bytes(&h->c, opcode_base ? opcode_base - 1u : 0);
	return !h->c.error;
}

static size_t read_md5s(struct header *h, uint8_t (**ret)[16])
{
	struct formats formats;

	if (!read_start(h))
		return 0;
	read_formats(h, &formats);
	for (uint64_t n = cursor_varint(&h->c); n && !h->c.error && formats.count; n--)
		read_entry(h, &formats);
	read_formats(h, &formats);
	uint64_t count = cursor_varint(&h->c);
	if (h->c.error || !has_md5(&formats) || count > cursor_left(&h->c) / 16)
		return 0;
	uint8_t(*list)[16] = calloc(count + 1, sizeof(*list));
	for (uint64_t i = 0; list && i < count; i++) {
		const uint8_t *md5 = read_entry(h, &formats);

		if (md5)
			memcpy(list[i], md5, sizeof(*list));
	}
	if (!list || h->c.error) {
		free(list);
		return 0;
	}
	*ret = list;
	return count;
}

size_t dwarf_read_md5s(Dwarf *dwarf, Dwarf_Die *unit, uint8_t (**ret)[16])
{
	Dwarf_Attribute attribute;
	Dwarf_Word offset = 0;
	GElf_Shdr sh;

	*ret = NULL;
	Elf_Scn *section = elf_find_section(dwarf_getelf(dwarf), ".debug_line", &sh);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	if (!data || !data->d_buf ||
	    dwarf_formudata(dwarf_attr(unit, DW_AT_stmt_list, &attribute), &offset) != 0 ||
	    offset > data->d_size)
		return 0;
	struct header h = {
		.c = cursor_over((const uint8_t *)data->d_buf + offset, data->d_size - offset)};
	return read_md5s(&h, ret);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/python.h"

#include <errno.h>
#include <string.h>

/* Offsets in the structures of a minor version, which keeps them once it is released. */
static const struct {
	uint32_t version; /* the upper half of PY_VERSION_HEX */
	struct wire_python offsets;
} versions[] = {
	{0x030b,
	 {
		 .runtime_current = 576,
		 .runtime_key = 592,
		 .thread_cframe = 56,
		 .thread_id = 152,
		 .cframe_frame = 8,
		 .cframe_previous = 16,
		 .frame_code = 32,
		 .frame_previous = 48,
		 .frame_instruction = 56,
		 .frame_is_entry = 68,
		 .code_line = 72,
		 .code_file = 112,
		 .code_name = 120,
		 .code_full_name = 128,
		 .code_lines = 136,
		 .code_bytecode = 184,
		 .text_length = 16,
		 .text_hash = 24,
		 .text_state = 32,
		 .text_ascii = 48,
		 .text_compact = 72,
		 .bytes_size = 16,
		 .bytes_data = 32,
	 }},
};

#define FINAL 0xf0 /* of PY_VERSION_HEX: no alpha, beta or candidate, which may differ */

int python_describe(const struct image_python *python, const struct image_segment *segments,
		    uint32_t segment_count, struct wire_python *ret)
{
	if (!segment_count || (python->version & 0xf0) != FINAL)
		return -ENOENT;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		if (versions[i].version != python->version >> 16)
			continue;
		*ret = versions[i].offsets;
		ret->runtime = python->runtime - (segments->address - segments->file_offset);
		return 0;
	}
	return -ENOENT;
}

#define REPLACEMENT 0xfffd

static int append_character(uint32_t c, struct buf *out)
{
	uint8_t utf8[4];
	size_t size;

	if (!c || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		c = REPLACEMENT;
	if (c < 0x80) {
		utf8[0] = (uint8_t)c;
		size = 1;
	} else if (c < 0x800) {
		utf8[0] = (uint8_t)(0xc0 | c >> 6);
		size = 2;
	} else if (c < 0x10000) {
		utf8[0] = (uint8_t)(0xe0 | c >> 12);
		size = 3;
	} else {
		utf8[0] = (uint8_t)(0xf0 | c >> 18);
		size = 4;
	}
	for (size_t i = 1; i < size; i++)
		utf8[i] = (uint8_t)(0x80 | (c >> (6 * (size - 1 - i)) & 0x3f));
	return buf_append(out, utf8, size);
}

int python_decode_text(const struct wire_python_text *text, const void *data, struct buf *out)
{
	const uint8_t *at = data;
	int r = 0;

	if (text->unit != 1 && text->unit != 2 && text->unit != 4)
		return append_character(REPLACEMENT, out);
	for (uint32_t i = 0; i + text->unit <= text->bytes && !r; i += text->unit) {
		uint32_t c = 0;

		memcpy(&c, at + i, text->unit); /* of this machine's byte order */
		r = append_character(c, out);
	}
	return r || !text->is_cut ? r : buf_append(out, "...", 3);
}

/* Kinds of entries; those below PYTHON_ONE_LINE and the last say no line. */
enum { PYTHON_ONE_LINE = 10, PYTHON_NO_COLUMNS = 13, PYTHON_LONG, PYTHON_NONE };

/* A signed number: 6 bits a byte, the lowest first, 0x40: more follow; its lowest bit is the sign.
 */
static int64_t take_signed(const uint8_t *lines, size_t size, size_t *at)
{
	uint64_t value = 0;
	uint8_t byte = 0x40;

	for (unsigned shift = 0; *at < size && byte & 0x40 && shift < 60; shift += 6) {
		byte = lines[*at];
		if (byte & 0x80) /* the next entry */
			break;
		value |= (uint64_t)(byte & 0x3f) << shift;
		++*at;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

uint32_t python_decode_line(const uint8_t *lines, size_t size, uint32_t first_line,
			    uint32_t instruction)
{
	int64_t line = first_line;
	uint64_t covered = 0;

	for (size_t at = 0; at < size && covered <= instruction;) {
		uint8_t head = lines[at++], kind = head >> 3 & 15;

		covered += (head & 7) + 1u;
		if (kind == PYTHON_NO_COLUMNS || kind == PYTHON_LONG)
			line += take_signed(lines, size, &at);
		else if (kind >= PYTHON_ONE_LINE && kind < PYTHON_NO_COLUMNS)
			line += kind - PYTHON_ONE_LINE;
		while (at < size && !(lines[at] & 0x80)) /* columns */
			at++;
	}
	return line > 0 && line <= UINT32_MAX ? (uint32_t)line : first_line;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/stacks/python.h"

#include <string.h>

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

/* Pairs of bytes: instructions, and lines from the ones before to these. */
static uint32_t decode_lnotab(const uint8_t *lines, size_t size, uint32_t first_line,
			      uint64_t instruction)
{
	int64_t line = first_line;
	uint64_t at = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		at += lines[i];
		if (at > 2 * instruction)
			break;
		line += (int8_t)lines[i + 1];
	}
	return line > 0 && line <= UINT32_MAX ? (uint32_t)line : first_line;
}

#define RANGE_NO_LINE (-128)

/* Pairs of bytes: instructions, and from the line of those before to theirs. */
static uint32_t decode_ranges(const uint8_t *lines, size_t size, uint32_t first_line,
			      uint64_t instruction)
{
	int64_t line = first_line;
	uint64_t end = 0;

	for (size_t i = 0; i + 1 < size && end <= 2 * instruction; i += 2) {
		int8_t step = (int8_t)lines[i + 1];

		end += lines[i];
		line += step == RANGE_NO_LINE ? 0 : step;
	}
	return line > 0 && line <= UINT32_MAX ? (uint32_t)line : first_line;
}

/* Kinds of entries; those below PYTHON_ONE_LINE and the last say no line. */
enum { PYTHON_ONE_LINE = 10, PYTHON_NO_COLUMNS = 13, PYTHON_LONG, PYTHON_NONE };

/* A signed number: 6 bits a byte, lowest first, 0x40: more follow; its lowest bit is the sign. */
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

static uint32_t decode_locations(const uint8_t *lines, size_t size, uint32_t first_line,
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

uint32_t python_decode_line(uint32_t form, const uint8_t *lines, size_t size, uint32_t first_line,
			    uint32_t instruction)
{
	switch (form) {
	case WIRE_PYTHON_LNOTAB:
		return decode_lnotab(lines, size, first_line, instruction);
	case WIRE_PYTHON_RANGES:
		return decode_ranges(lines, size, first_line, instruction);
	default:
		return decode_locations(lines, size, first_line, instruction);
	}
}

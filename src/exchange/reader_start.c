/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/reader_start.h"

#include <stdbool.h>
#include <string.h>
#include "exchange/gzip.h"
#include "exchange/script.h"
#include "util/buf.h"

#define WIRE_VARINT	0
#define WIRE_BYTES	2
#define FIELD_BYTES_MAX ((uint64_t)1 << 30)
#define GMON_HEADER	20
#define GMON_TAG_MAX	2

static bool starts_with(const uint8_t *start, size_t size, const char *magic, size_t length)
{
	return size >= length && !memcmp(start, magic, length);
}

static bool is_text(const uint8_t *start, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (start[i] < ' ' && !memchr("\t\n\r\f\x1b", start[i], 5))
			return false;
	return true;
}

/* Whether a Profile (pprof.proto) has such a field: messages and strings are 1 to 6 and 11, numbers
 * the others, of which those of 13 may be packed; 15 is a newer one. */
static bool is_field(uint64_t key)
{
	uint64_t number = key >> 3, type = key & 7;

	if (number < 1 || number > 15)
		return false;
	if (number <= 6 || number == 11)
		return type == WIRE_BYTES;
	return type == WIRE_VARINT || (number == 13 && type == WIRE_BYTES);
}

/* A message of protobuf: fields, each one that a Profile has, up to where the start ends. */
static bool is_profile(const uint8_t *start, size_t size)
{
	struct cursor c = cursor_over(start, size);
	bool named = false; /* the table of strings has begun, with "" */
	size_t fields = 0;

	while (cursor_left(&c)) {
		uint64_t key = cursor_varint(&c), value = cursor_varint(&c);

		if (c.error)
			return fields > 0; /* cut off */
		if (!is_field(key))
			return false;
		fields++;
		if ((key & 7) != WIRE_BYTES)
			continue;
		if (value > FIELD_BYTES_MAX || (key >> 3 == 6 && !named && value))
			return false;
		named |= key >> 3 == 6;
		if (value > cursor_left(&c))
			return true;
		c.at += value;
	}
	return fields > 0;
}

static bool is_packed_profile(const uint8_t *start, size_t size)
{
	uint8_t inner[4096];

	return is_profile(inner, gzip_peek(start, size, inner, sizeof(inner)));
}

/* Magic, version 1, spare bytes, and the tag of a record; or it is cut off. */
static bool is_gmon(const uint8_t *start, size_t size)
{
	static const uint8_t head[] = {'g', 'm', 'o', 'n', 1, 0, 0, 0};

	return !memcmp(start, head, size < sizeof(head) ? size : sizeof(head)) &&
	       (size <= GMON_HEADER || start[GMON_HEADER] <= GMON_TAG_MAX);
}

const char *reader_name_by_start(const uint8_t *start, size_t size)
{
	if (starts_with(start, size, "PERFILE2", 8) || starts_with(start, size, "2ELIFREP", 8))
		return "perf";
	if (starts_with(start, size, "gmon", 4))
		return is_gmon(start, size) ? "gmon" : NULL;
	if (starts_with(start, size, "\x1f\x8b", 2))
		return is_packed_profile(start, size) ? "pprof" : NULL;
	if (is_text(start, size))
		return script_text_kind((const char *)start, size);
	return is_profile(start, size) ? "pprof" : NULL;
}

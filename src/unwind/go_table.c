/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/go_table.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define GO_1_18 0xfffffff0u
#define GO_1_20 0xfffffff1u

/* Of the header, in words of 8 bytes. */
enum { WORD_MAGIC, WORD_COUNT, WORD_FILES, WORD_TEXT, WORD_NAMES, WORD_UNITS, WORD_FILE_NAMES };
enum { WORD_PC_TABLES = WORD_FILE_NAMES + 1, WORD_LIST, WORDS };

uint32_t go_table_read(const struct go_table *t, uint64_t offset)
{
	uint32_t value;

	if (offset > t->size || t->size - offset < sizeof(value))
		return 0;
	memcpy(&value, t->bytes + offset, sizeof(value));
	return le32toh(value);
}

static uint64_t read_word(const struct go_table *t, unsigned number)
{
	uint64_t value;

	memcpy(&value, t->bytes + number * sizeof(value), sizeof(value));
	return le64toh(value);
}

int go_table_open(const void *bytes, size_t size, struct go_table *ret)
{
	struct go_table t = {.bytes = bytes, .size = size};
	uint32_t magic = go_table_read(&t, 0);

	if (size < WORDS * sizeof(uint64_t) || (magic != GO_1_18 && magic != GO_1_20) ||
	    t.bytes[4] || t.bytes[5] || t.bytes[7] != sizeof(uint64_t))
		return -EBADMSG;
	t.quantum = t.bytes[6];
	t.is_1_20 = magic == GO_1_20;
	t.count = read_word(&t, WORD_COUNT);
	t.text = read_word(&t, WORD_TEXT);
	t.names = read_word(&t, WORD_NAMES);
	t.pc_tables = read_word(&t, WORD_PC_TABLES);
	t.list = read_word(&t, WORD_LIST);
	/* Each has its pair, and behind the last comes where it ends. */
	if (!t.text || t.names > size || t.pc_tables > size || t.list > size - sizeof(uint32_t) ||
	    t.count > (size - sizeof(uint32_t) - t.list) / 8)
		return -EBADMSG;
	*ret = t;
	return 0;
}

bool go_table_function(const struct go_table *t, uint64_t i, struct go_function *ret)
{
	uint64_t pair = t->list + 8 * i, start, end;

	if (__builtin_add_overflow(t->text, go_table_read(t, pair), &start) ||
	    __builtin_add_overflow(t->text, go_table_read(t, pair + 8), &end) || start >= end)
		return false;
	*ret = (struct go_function){start, end, t->list + go_table_read(t, pair + 4)};
	return true;
}

const char *go_table_name(const struct go_table *t, const struct go_function *f, size_t bytes_max)
{
	uint64_t at = t->names + go_table_read(t, f->record + 4);
	size_t room;

	/* A record begins with its function's place. */
	if (at >= t->size || go_table_read(t, f->record) != f->start - t->text)
		return NULL;
	room = t->size - at < bytes_max ? t->size - at : bytes_max;
	return memchr(t->bytes + at, 0, room) ? (const char *)t->bytes + at : NULL;
}

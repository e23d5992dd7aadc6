/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/ehframe.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "util/buf.h"

/* Pointer encodings: the format in the low half, what it is relative to in the high half. */
enum {
	ENCODE_ABSOLUTE = 0x00,
	ENCODE_ULEB = 0x01,
	ENCODE_U16 = 0x02,
	ENCODE_U32 = 0x03,
	ENCODE_U64 = 0x04,
	ENCODE_SLEB = 0x09,
	ENCODE_S16 = 0x0a,
	ENCODE_S32 = 0x0b,
	ENCODE_S64 = 0x0c,
	ENCODE_FORMAT = 0x0f,
	ENCODE_PC_RELATIVE = 0x10,
	ENCODE_RELATIVE = 0xf0,
	ENCODE_OMIT = 0xff,
};

struct frame_walk {
	const uint8_t *data;
	size_t size;
	uint64_t address;
	unsigned pointer_bytes;
	size_t cie; /* the last one seen, and its encoding; SIZE_MAX: none */
	uint8_t encoding;
};

static int64_t cursor_sleb(struct cursor *c)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t byte;
	do {
		byte = cursor_u8(c);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && !c->error);
	if ((byte & 0x40) && shift < 64)
		v |= UINT64_MAX << shift;
	return (int64_t)v;
}

static uint16_t cursor_u16(struct cursor *c)
{
	unsigned low = cursor_u8(c);
	return (uint16_t)(low | (unsigned)cursor_u8(c) << 8);
}

/* Reads the number itself, not what it is relative to. */
static uint64_t read_format(struct cursor *c, uint8_t encoding, unsigned pointer_bytes)
{
	switch (encoding & ENCODE_FORMAT) {
	case ENCODE_ABSOLUTE:
		return pointer_bytes == 8 ? cursor_u64(c) : cursor_u32(c);
	case ENCODE_ULEB:
		return cursor_varint(c);
	case ENCODE_SLEB:
		return (uint64_t)cursor_sleb(c);
	case ENCODE_U16:
		return cursor_u16(c);
	case ENCODE_S16:
		return (uint64_t)(int16_t)cursor_u16(c);
	case ENCODE_U32:
		return cursor_u32(c);
	case ENCODE_S32:
		return (uint64_t)(int32_t)cursor_u32(c);
	case ENCODE_U64:
	case ENCODE_S64:
		return cursor_u64(c);
	}
	c->error = -EBADMSG;
	return 0;
}

/* The augmentation string says what the augmentation data holds; R is the FDEs' encoding. */
static void read_augmentation(struct cursor *c, const char *string, unsigned pointer_bytes,
			      uint8_t *encoding)
{
	for (const char *p = string; *p && !c->error; p++) {
		uint8_t e;
		switch (*p) {
		case 'R':
			*encoding = cursor_u8(c);
			break;
		case 'L':
			cursor_u8(c);
			break;
		case 'P':
			e = cursor_u8(c);
			read_format(c, e, pointer_bytes);
			break;
		case 'S':
		case 'B':
			break;
		default: /* unknown, and so is what comes after */
			return;
		}
	}
}

static int read_cie(struct frame_walk *w, struct cursor c, size_t at)
{
	uint8_t encoding = ENCODE_ABSOLUTE;
	uint8_t version = cursor_u8(&c);
	const char *augmentation = (const char *)c.at;
	const void *end = memchr(c.at, 0, cursor_left(&c));
	if (!end || (version != 1 && version != 3 && version != 4))
		return -EBADMSG;
	cursor_bytes(&c, (size_t)((const char *)end - augmentation) + 1);
	if (version == 4)
		cursor_u16(&c); /* sizes of an address and of a segment selector */
	cursor_varint(&c);
	cursor_sleb(&c);
	if (version == 1)
		cursor_u8(&c);
	else
		cursor_varint(&c);
	if (augmentation[0] == 'z') {
		cursor_varint(&c);
		read_augmentation(&c, augmentation + 1, w->pointer_bytes, &encoding);
	}
	w->cie = at;
	w->encoding = encoding;
	return c.error;
}

/* Splits off the entry at offset *at; sets *at to the one after. 1: the end. */
static int next_entry(const struct frame_walk *w, size_t *at, struct cursor *entry, bool *is_64)
{
	struct cursor c = cursor_over(w->data + *at, w->size - *at);
	if (cursor_left(&c) == 0)
		return 1;
	uint64_t length = cursor_u32(&c);
	*is_64 = length == UINT32_MAX;
	if (*is_64)
		length = cursor_u64(&c);
	if (c.error)
		return -EBADMSG;
	if (length == 0)
		return 1;
	if (length > cursor_left(&c))
		return -EBADMSG;
	*entry = cursor_over(c.at, length);
	*at = (size_t)(entry->end - w->data);
	return 0;
}

static uint64_t entry_id(struct cursor *entry, bool is_64)
{
	return is_64 ? cursor_u64(entry) : cursor_u32(entry);
}

/* Makes the CIE at offset at the current one. */
static int find_cie(struct frame_walk *w, size_t at)
{
	struct cursor entry;
	bool is_64;
	size_t next = at;
	if (w->cie == at)
		return 0;
	if (at >= w->size || next_entry(w, &next, &entry, &is_64) != 0 ||
	    entry_id(&entry, is_64) != 0 || entry.error)
		return -EBADMSG;
	return read_cie(w, entry, at);
}

static int show_fde(struct frame_walk *w, struct cursor *c,
		    int (*f)(void *arg, uint64_t start, uint64_t size), void *arg)
{
	uint8_t relative = w->encoding & ENCODE_RELATIVE;
	uint64_t base = 0;
	if (w->encoding == ENCODE_OMIT || (relative && relative != ENCODE_PC_RELATIVE))
		return 0;
	if (relative)
		base = w->address + (uint64_t)(c->at - w->data);
	uint64_t start = base + read_format(c, w->encoding, w->pointer_bytes);
	uint64_t size = read_format(c, w->encoding & ENCODE_FORMAT, w->pointer_bytes);
	if (c->error)
		return -EBADMSG;
	/* Functions that the linker threw away leave FDEs of nothing, or at 0. */
	if (size == 0 || start == base || start == 0)
		return 0;
	return f(arg, start, size);
}

int ehframe_each(const uint8_t *data, size_t size, uint64_t address, unsigned pointer_bytes,
		 int (*f)(void *arg, uint64_t start, uint64_t size), void *arg)
{
	struct frame_walk w = {data, size, address, pointer_bytes, SIZE_MAX, 0};
	size_t at = 0;
	for (;;) {
		struct cursor entry;
		bool is_64;
		size_t entry_at = at;
		int err = next_entry(&w, &at, &entry, &is_64);
		if (err)
			return err < 0 ? err : 0;
		size_t id_at = (size_t)(entry.at - data);
		uint64_t id = entry_id(&entry, is_64);
		if (entry.error)
			return -EBADMSG;
		if (id == 0)
			err = read_cie(&w, entry, entry_at);
		else if (id > id_at)
			err = -EBADMSG;
		else
			err = find_cie(&w, id_at - id);
		if (!err && id != 0)
			err = show_fde(&w, &entry, f, arg);
		if (err)
			return err;
	}
}

int ehframe_header(const uint8_t *data, size_t size, uint64_t address, unsigned pointer_bytes,
		   uint64_t *ret)
{
	struct cursor c = cursor_over(data, size);
	uint8_t version = cursor_u8(&c), encoding = cursor_u8(&c);
	cursor_u16(&c); /* encodings of the search table, which is not needed */
	uint64_t base = 0;
	uint8_t relative = encoding & ENCODE_RELATIVE;
	if (relative == ENCODE_PC_RELATIVE)
		base = address + (uint64_t)(c.at - data);
	else if (relative)
		return -EBADMSG;
	uint64_t at = base + read_format(&c, encoding, pointer_bytes);
	if (c.error || version != 1)
		return -EBADMSG;
	*ret = at;
	return 0;
}

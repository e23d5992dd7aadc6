/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/ehframe.h"

#include <errno.h>
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
	size_t cie; /* the last one seen, and what it says of its FDEs; SIZE_MAX: none */
	uint8_t encoding, lsda_encoding;
	bool debug;	/* .debug_frame: other ids of CIEs, absolute pointers to them */
	bool augmented; /* FDEs have augmentation data */
	bool signal;
	struct cfi_program program; /* as far as the CIE has it */
};

/* Operations of call frame programs (DWARF 5, 6.4.2). */
enum {
	CFA_DEFINE = 0x0c,
	CFA_DEFINE_REGISTER = 0x0d,
	CFA_DEFINE_OFFSET = 0x0e,
	CFA_DEFINE_EXPRESSION = 0x0f,
};

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
		return (uint64_t)cursor_signed(c);
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
static void read_augmentation(struct frame_walk *w, struct cursor *c, const char *string)
{
	for (const char *p = string; *p && !c->error; p++) {
		uint8_t e;

		switch (*p) {
		case 'R':
			w->encoding = cursor_u8(c);
			break;
		case 'L':
			w->lsda_encoding = cursor_u8(c);
			break;
		case 'P':
			e = cursor_u8(c);
			read_format(c, e, w->pointer_bytes);
			break;
		case 'S':
			w->signal = true;
			break;
		case 'B':
			break;
		default: /* unknown, and so is what comes after */
			return;
		}
	}
}

static int read_cie(struct frame_walk *w, struct cursor c, size_t at)
{
	uint8_t version = cursor_u8(&c);
	const char *augmentation = (const char *)c.at;
	const void *end = memchr(c.at, 0, cursor_left(&c));

	if (!end || (version != 1 && version != 3 && version != 4))
		return -EBADMSG;
	cursor_bytes(&c, (size_t)((const char *)end - augmentation) + 1);
	if (version == 4)
		cursor_u16(&c); /* sizes of an address and of a segment selector */
	w->program.code_align = cursor_varint(&c);
	w->program.data_align = cursor_signed(&c);
	w->program.ra_reg = version == 1 ? cursor_u8(&c) : cursor_varint(&c);
	w->program.fp_reg = w->pointer_bytes == 8 ? 6 : 5; /* rbp, ebp */
	w->program.base_reg = 3;			   /* rbx, ebx */
	w->encoding = ENCODE_ABSOLUTE;
	w->lsda_encoding = ENCODE_OMIT;
	w->signal = false;
	w->augmented = augmentation[0] == 'z';
	if (w->augmented) {
		uint64_t size = cursor_varint(&c);
		struct cursor data = c;

		cursor_bytes(&c, size);
		if (c.error)
			return c.error;
		read_augmentation(w, &data, augmentation + 1);
		if (data.error)
			return data.error;
	}
	w->program.initial = c.at;
	w->program.initial_size = cursor_left(&c);
	w->cie = at;
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

/* Of a CIE 0, of an FDE what leads to its CIE. */
static uint64_t entry_id(const struct frame_walk *w, struct cursor *entry, bool is_64)
{
	uint64_t id = is_64 ? cursor_u64(entry) : cursor_u32(entry);

	if (!w->debug)
		return id;
	/* There it is an offset in the section, and a CIE is at 0, too. */
	return id == (is_64 ? UINT64_MAX : UINT32_MAX) ? 0 : id + 1;
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
	    entry_id(w, &entry, is_64) != 0 || entry.error)
		return -EBADMSG;
	return read_cie(w, entry, at);
}

/* A pointer that is absolute or relative to where it is. False: none, or of another encoding. */
static bool read_pointer(const struct frame_walk *w, struct cursor *c, uint8_t encoding,
			 uint64_t *ret)
{
	const uint8_t relative = encoding & ENCODE_RELATIVE;
	const uint64_t here = w->address + (uint64_t)(c->at - w->data);

	if (encoding == ENCODE_OMIT || (relative && relative != ENCODE_PC_RELATIVE))
		return false;
	uint64_t value = read_format(c, encoding, w->pointer_bytes);
	if (c->error || value == 0)
		return false;
	*ret = relative ? here + value : value;
	return true;
}

/*
 * Compilers begin the call frame program of a part that was split off with the frame that it finds;
 * a function begins with that of its CIE: the stack pointer, and the return address below.
 */
static bool begins_within(const struct frame_walk *w, struct cursor c)
{
	const uint64_t stack_register = w->pointer_bytes == 8 ? 7 : 4;

	switch (cursor_u8(&c)) {
	case CFA_DEFINE:
		return cursor_varint(&c) != stack_register || cursor_varint(&c) != w->pointer_bytes;
	case CFA_DEFINE_OFFSET:
		return cursor_varint(&c) != w->pointer_bytes;
	case CFA_DEFINE_REGISTER:
	case CFA_DEFINE_EXPRESSION:
		return true;
	default:
		return false;
	}
}

static int show_fde(struct frame_walk *w, struct cursor *c,
		    int (*f)(void *arg, const struct ehframe_entry *entry), void *arg)
{
	const uint8_t relative = w->encoding & ENCODE_RELATIVE;
	struct ehframe_entry e = {0};

	if (w->encoding == ENCODE_OMIT || (relative && relative != ENCODE_PC_RELATIVE))
		return 0;
	/* Functions that the linker threw away leave FDEs of nothing, or at 0. */
	bool known = read_pointer(w, c, w->encoding, &e.start);
	e.size = read_format(c, w->encoding & ENCODE_FORMAT, w->pointer_bytes);
	if (w->augmented) {
		uint64_t size = cursor_varint(c);

		if (size > cursor_left(c))
			return -EBADMSG;
		struct cursor data = cursor_over(c->at, size);
		/* Relative to its place in the section: the cursor's own end does not matter. */
		read_pointer(w, &data, w->lsda_encoding, &e.lsda);
		cursor_bytes(c, size);
	}
	if (c->error)
		return -EBADMSG;
	if (!known || e.size == 0 || e.start == 0)
		return 0;
	e.part = cursor_left(c) && begins_within(w, *c);
	e.signal = w->signal;
	e.program = w->program;
	e.program.body = c->at;
	e.program.body_size = cursor_left(c);
	e.program.start = e.start;
	e.program.size = e.size;
	return f(arg, &e);
}

/* Where the CIE of an FDE is, by the FDE's id, which is at id_at. */
static int locate_cie(const struct frame_walk *w, uint64_t id, size_t id_at, size_t *ret)
{
	if (w->debug ? id > w->size : id > id_at)
		return -EBADMSG;
	*ret = w->debug ? (size_t)id - 1 : id_at - (size_t)id;
	return 0;
}

static int walk_entries(struct frame_walk *w,
			int (*f)(void *arg, const struct ehframe_entry *entry), void *arg)
{
	size_t at = 0, cie_at = 0;

	for (;;) {
		struct cursor entry;
		bool is_64;
		size_t entry_at = at;
		int r = next_entry(w, &at, &entry, &is_64);

		if (r)
			return r < 0 ? r : 0;
		size_t id_at = (size_t)(entry.at - w->data);
		uint64_t id = entry_id(w, &entry, is_64);
		if (entry.error)
			return -EBADMSG;
		r = id ? locate_cie(w, id, id_at, &cie_at) : read_cie(w, entry, entry_at);
		if (!r && id)
			r = find_cie(w, cie_at);
		if (!r && id)
			r = show_fde(w, &entry, f, arg);
		if (r)
			return r;
	}
}

int ehframe_each(const uint8_t *data, size_t size, uint64_t address, unsigned pointer_bytes,
		 int (*f)(void *arg, const struct ehframe_entry *entry), void *arg)
{
	struct frame_walk w = {.data = data,
			       .size = size,
			       .address = address,
			       .pointer_bytes = pointer_bytes,
			       .cie = SIZE_MAX};

	return walk_entries(&w, f, arg);
}

int debugframe_each(const uint8_t *data, size_t size, unsigned pointer_bytes,
		    int (*f)(void *arg, const struct ehframe_entry *entry), void *arg)
{
	struct frame_walk w = {.data = data,
			       .size = size,
			       .pointer_bytes = pointer_bytes,
			       .cie = SIZE_MAX,
			       .debug = true};

	return walk_entries(&w, f, arg);
}

int ehframe_each_landing(const uint8_t *data, size_t size, uint64_t address, uint64_t function,
			 unsigned pointer_bytes, int (*f)(void *arg, uint64_t landing), void *arg)
{
	const struct frame_walk w = {
		.data = data, .size = size, .address = address, .pointer_bytes = pointer_bytes};
	struct cursor c = cursor_over(data, size);
	uint64_t base = function;
	uint8_t encoding = cursor_u8(&c);

	if (encoding != ENCODE_OMIT && !read_pointer(&w, &c, encoding, &base))
		base = 0; /* of functions in several parts: landing pads are absolute, from 0 */
	encoding = cursor_u8(&c); /* of the types */
	if (encoding != ENCODE_OMIT)
		cursor_varint(&c);
	encoding = cursor_u8(&c); /* of the call sites */
	uint64_t table_size = cursor_varint(&c);
	if (c.error || table_size > cursor_left(&c))
		return -EBADMSG;
	for (struct cursor t = cursor_over(c.at, table_size); cursor_left(&t);) {
		read_format(&t, encoding, pointer_bytes); /* where the call site starts */
		read_format(&t, encoding, pointer_bytes); /* its size */
		uint64_t landing = read_format(&t, encoding, pointer_bytes);
		cursor_varint(&t);
		if (t.error)
			return -EBADMSG;
		int r = landing ? f(arg, base + landing) : 0;
		if (r)
			return r;
	}
	return 0;
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

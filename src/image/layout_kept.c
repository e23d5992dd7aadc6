/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A layout as a database keeps it: doc/FORMAT.md, blobs of the kind "code". */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "image/layout.h"
#include "util/array.h"
#include "util/search.h"

#define KEPT_MAGIC    0x32444343u /* "CCD2" */
#define NAME_MAX_SIZE 16384	  /* of a word's name; a longer one is left out with its word */

/* The index of the first part that ends after address. */
static size_t first_after(const struct image_layout *l, uint64_t address)
{
	return SEARCH_FIRST(l->part_count, i, l->parts[i].address + l->parts[i].size > address);
}

static int insert(struct image_layout *l, size_t at, uint64_t address, const uint8_t *data,
		  size_t size)
{
	if (l->part_bytes + size > IMAGE_LAYOUT_KEPT_MAX_BYTES ||
	    l->part_count == IMAGE_LAYOUT_KEPT_MAX_PARTS)
		return -ENOSPC;
	if (array_grow(&l->parts, l->part_count, &l->part_room, sizeof(*l->parts), 64))
		return -ENOMEM;
	uint8_t *copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, size);
	memmove(l->parts + at + 1, l->parts + at, (l->part_count - at) * sizeof(*l->parts));
	l->parts[at] = (struct image_layout_part){address, size, copy};
	l->part_count++;
	l->part_bytes += size;
	return 0;
}

int image_layout_add(struct image_layout *l, uint64_t address, const uint8_t *data, size_t size)
{
	if (size == 0 || size > UINT64_MAX - address)
		return -EINVAL;
	/* The gaps between the parts that are there. */
	for (uint64_t at = address, end = address + size; at < end;) {
		size_t i = first_after(l, at);
		uint64_t next = i < l->part_count ? l->parts[i].address : UINT64_MAX;

		if (next > at) {
			uint64_t stop = next < end ? next : end;
			int r = insert(l, i, at, data + (at - address), stop - at);

			if (r < 0)
				return r;
			at = stop;
		} else {
			at = l->parts[i].address + l->parts[i].size;
		}
	}
	return 0;
}

const uint8_t *image_layout_code(const struct image_layout *l, uint64_t address, size_t *ret_size)
{
	size_t i = first_after(l, address), k = 0;
	const struct image_layout_part *p = &l->parts[i];

	if (i == l->part_count || address < p->address)
		return NULL;
	while (k < l->code_count && (address < l->code[k].start || address >= l->code[k].end))
		k++;
	if (k == l->code_count)
		return NULL;
	*ret_size = p->size - (address - p->address);
	return p->data + (address - p->address);
}

/* Parts of a file may overlap; here they rise. */
static void save_parts(const struct image_layout *l, struct buf *out)
{
	uint64_t end = 0;
	size_t count = 0;

	for (size_t i = 0; i < l->part_count; i++)
		if (l->parts[i].address + l->parts[i].size > end) {
			end = l->parts[i].address + l->parts[i].size;
			count++;
		}
	buf_append_varint(out, count);
	end = 0;
	for (size_t i = 0; i < l->part_count; i++) {
		const struct image_layout_part *p = &l->parts[i];
		uint64_t start = p->address > end ? p->address : end;

		if (p->address + p->size <= end)
			continue;
		buf_append_varint(out, start - end);
		end = p->address + p->size;
		buf_append_varint(out, end - start);
		buf_append(out, p->data + (start - p->address), end - start);
	}
}

static void save_externals(const struct image_layout *l, struct buf *out)
{
	uint64_t before = 0;
	size_t count = 0;

	for (size_t i = 0; i < l->external_count; i++)
		count += strlen(l->externals[i].name) <= NAME_MAX_SIZE;
	buf_append_varint(out, count);
	for (size_t i = 0; i < l->external_count; i++) {
		const struct image_layout_external *e = &l->externals[i];
		size_t size = strlen(e->name);

		if (size > NAME_MAX_SIZE)
			continue;
		buf_append_varint(out, e->address - before);
		buf_append_string(out, e->name, size);
		before = e->address;
	}
}

int image_layout_save(const struct image_layout *l, struct buf *out)
{
	uint64_t before = 0;

	buf_append_u32(out, KEPT_MAGIC);
	buf_append_varint(out, l->machine);
	buf_append_varint(out, l->bits);
	buf_append_varint(out, l->whole);
	save_parts(l, out);
	buf_append_varint(out, l->code_count);
	for (size_t i = 0; i < l->code_count; before = l->code[i++].start) {
		buf_append_varint(out, l->code[i].start - before);
		buf_append_varint(out, l->code[i].end - l->code[i].start);
	}
	before = 0;
	buf_append_varint(out, l->frame_count);
	for (size_t i = 0; i < l->frame_count; before = l->frames[i++].start) {
		buf_append_varint(out, l->frames[i].start - before);
		buf_append_varint(out, l->frames[i].size);
		buf_append_varint(out, l->frames[i].part != 0);
	}
	before = 0;
	buf_append_varint(out, l->landing_count);
	for (size_t i = 0; i < l->landing_count; before = l->landings[i++].function) {
		buf_append_varint(out, l->landings[i].function - before);
		buf_append_varint(out, l->landings[i].address - l->landings[i].function);
	}
	save_externals(l, out);
	return out->error;
}

/* The number of entries of a list, and room for them: each takes at least one byte of what is left
 * for each of its numbers. */
static int open_list(struct cursor *c, size_t numbers, size_t each, void *ret_list,
		     size_t *ret_count)
{
	uint64_t count = cursor_varint(c);

	if (c->error || count > cursor_left(c) / numbers)
		return -EBADMSG;
	void *list = calloc(count + 1, each);
	if (!list)
		return -ENOMEM;
	memcpy(ret_list, &list, sizeof(list));
	*ret_count = count;
	return 0;
}

/* A number that rises from the one before by what is written. */
static uint64_t rise(struct cursor *c, uint64_t before)
{
	uint64_t gap = cursor_varint(c);

	if (gap > UINT64_MAX - before)
		c->error = -EBADMSG;
	return before + gap;
}

static int open_parts(struct image_layout *l, struct cursor *c)
{
	uint64_t count = cursor_varint(c), end = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t start = rise(c, end), size = cursor_varint(c);
		const void *bytes = c->error ? NULL : cursor_bytes(c, size);
		int r = bytes ? image_layout_add(l, start, bytes, size) : -EBADMSG;

		if (r < 0)
			return r == -ENOMEM ? r : -EBADMSG;
		end = start + size;
	}
	return c->error;
}

static int open_numbers(struct image_layout *l, struct cursor *c)
{
	uint64_t before = 0;
	int r = open_list(c, 2, sizeof(*l->code), &l->code, &l->code_count);

	for (size_t i = 0; !r && i < l->code_count; i++) {
		l->code[i].start = before = rise(c, before);
		l->code[i].end = rise(c, before);
	}
	before = 0;
	if (!r)
		r = open_list(c, 3, sizeof(*l->frames), &l->frames, &l->frame_count);
	for (size_t i = 0; !r && i < l->frame_count; i++) {
		l->frames[i].start = before = rise(c, before);
		l->frames[i].size = cursor_varint(c);
		l->frames[i].part = cursor_varint(c);
	}
	before = 0;
	if (!r)
		r = open_list(c, 2, sizeof(*l->landings), &l->landings, &l->landing_count);
	for (size_t i = 0; !r && i < l->landing_count; i++) {
		l->landings[i].function = before = rise(c, before);
		l->landings[i].address = before + cursor_varint(c);
	}
	return r ? r : c->error;
}

static int open_externals(struct image_layout *l, struct cursor *c)
{
	uint64_t before = 0;
	size_t used = 0;
	int r = open_list(c, 2, sizeof(*l->externals), &l->externals, &l->external_count);

	if (r < 0)
		return r;
	/* Each name's size is written in a byte or more: room for its terminator. */
	l->names = malloc(cursor_left(c) + 1);
	if (!l->names)
		return -ENOMEM;
	for (size_t i = 0; i < l->external_count; i++) {
		size_t size;

		l->externals[i].address = before = rise(c, before);
		const char *name = cursor_string(c, NAME_MAX_SIZE, &size);
		if (!name || memchr(name, 0, size))
			return -EBADMSG;
		l->externals[i].name = memcpy(l->names + used, name, size);
		l->names[used + size] = 0;
		used += size + 1;
	}
	return cursor_left(c) ? -EBADMSG : c->error;
}

static int open_head(struct cursor *c, uint16_t *ret_machine, unsigned *ret_bits, bool *ret_whole)
{
	uint32_t magic = cursor_u32(c);
	uint64_t machine = cursor_varint(c), bits = cursor_varint(c), whole = cursor_varint(c);

	if (c->error || magic != KEPT_MAGIC || machine > UINT16_MAX || (bits != 32 && bits != 64) ||
	    whole > 1)
		return -EBADMSG;
	*ret_machine = (uint16_t)machine;
	*ret_bits = (unsigned)bits;
	*ret_whole = whole;
	return 0;
}

int image_layout_peek(const void *data, size_t size, uint16_t *ret_machine, unsigned *ret_bits,
		      bool *ret_whole)
{
	struct cursor c = cursor_over(data, size);

	return open_head(&c, ret_machine, ret_bits, ret_whole);
}

int image_layout_open(const void *data, size_t size, struct image_layout **ret)
{
	struct cursor c = cursor_over(data, size);
	struct image_layout *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	int r = open_head(&c, &l->machine, &l->bits, &l->whole);
	if (!r)
		r = open_parts(l, &c);
	if (!r)
		r = open_numbers(l, &c);
	if (!r)
		r = open_externals(l, &c);
	if (r < 0) {
		image_layout_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

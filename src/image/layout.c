/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "image/layout_wire.h"
#include "util/io.h"
#include "util/search.h"

void image_layout_free(struct image_layout *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->part_count; i++)
		free(l->parts[i].data);
	free(l->parts);
	free(l->code);
	free(l->frames);
	free(l->landings);
	free(l->externals);
	free(l->names);
	free(l);
}

/* A list of the description, copied; NULL and 0 when it is empty. Ascending by its first field. */
static int take_list(struct cursor *c, uint64_t count, size_t each, void **ret_list)
{
	void *list = NULL;

	if (count > cursor_left(c) / each)
		return -EBADMSG;
	const uint8_t *from = cursor_bytes(c, count * each);
	if (count && !(list = malloc(count * each)))
		return -ENOMEM;
	if (count)
		memcpy(list, from, count * each);
	*ret_list = list;
	uint64_t before = 0;
	for (uint64_t i = 0; i < count && each > 1; i++) {
		uint64_t now;

		memcpy(&now, from + i * each, sizeof(now));
		if (now < before)
			return -EBADMSG;
		before = now;
	}
	return 0;
}

/* No more than the file has, whatever its headers say. */
static uint64_t size_there(const struct wire_part *p, uint64_t file_bytes)
{
	uint64_t left = file_bytes > p->offset ? file_bytes - p->offset : 0;

	return p->size < left ? p->size : left;
}

/* The sum of what the file has of each, at most a little over max_bytes. */
static int check_parts(const struct wire_part *parts, size_t count, uint64_t file_bytes,
		       uint64_t max_bytes, uint64_t *ret_total)
{
	*ret_total = 0;
	for (size_t i = 0; i < count; i++) {
		const struct wire_part *p = &parts[i];

		if (!p->size || p->size > UINT64_MAX - p->address ||
		    p->offset > (uint64_t)INT64_MAX || p->size > (uint64_t)INT64_MAX - p->offset)
			return -EBADMSG;
		if (*ret_total <= max_bytes)
			*ret_total += size_there(p, file_bytes);
	}
	return 0;
}

static int load_parts(struct image_layout *l, const struct wire_part *parts, size_t count, int fd,
		      uint64_t max_bytes)
{
	uint64_t total;
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	int r = check_parts(parts, count, (uint64_t)st.st_size, max_bytes, &total);
	l->whole = !r && total <= max_bytes;
	if (!l->whole)
		return r;
	if (count && !(l->parts = calloc(count, sizeof(*l->parts))))
		return -ENOMEM;
	l->part_room = count;
	for (size_t i = 0; i < count; i++) {
		const struct wire_part *p = &parts[i];
		const uint64_t size = size_there(p, (uint64_t)st.st_size);

		if (!size)
			continue;
		struct image_layout_part *to = &l->parts[l->part_count];
		/* Zeroed by the system for free when it is large. */
		to->data = calloc(1, size);
		if (!to->data)
			return -ENOMEM;
		l->part_count++;
		l->part_bytes += size;
		to->address = p->address;
		to->size = size;
		/* Of a truncated file the rest reads as zeroes. */
		ssize_t n = io_pread(fd, to->data, size, p->offset);
		if (n < 0)
			return (int)n;
	}
	return 0;
}

/* Both lists rise, so one walk over both. */
static void apply_words(struct image_layout *l, const struct wire_word *words, size_t count)
{
	for (size_t p = 0; p < l->part_count; p++) {
		struct image_layout_part *part = &l->parts[p];
		size_t low = SEARCH_FIRST(count, i, words[i].address >= part->address);

		for (; low < count; low++) {
			uint64_t at = words[low].address - part->address;

			if (at >= part->size || part->size - at < sizeof(uint64_t))
				break;
			memcpy(part->data + at, &words[low].value, sizeof(uint64_t));
		}
	}
}

static int load_externals(struct image_layout *l, const struct wire_external *from, size_t count,
			  size_t names_size)
{
	if (names_size && l->names[names_size - 1])
		return -EBADMSG;
	if (count && !(l->externals = calloc(count, sizeof(*l->externals))))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (from[i].name >= names_size)
			return -EBADMSG;
		l->externals[i].address = from[i].address;
		l->externals[i].name = l->names + from[i].name;
	}
	l->external_count = count;
	return 0;
}

static int load_lists(struct image_layout *l, struct cursor *c, const struct wire_layout *head,
		      int fd, uint64_t max_bytes)
{
	const uint64_t *n = head->counts;
	void *lists[WIRE_LISTS] = {0};
	int r = 0;

	for (unsigned i = 0; i < WIRE_LISTS && !r; i++)
		r = take_list(c, n[i], wire_sizes[i], &lists[i]);
	l->code = lists[WIRE_RANGES];
	l->code_count = n[WIRE_RANGES];
	l->frames = lists[WIRE_FRAMES];
	l->frame_count = n[WIRE_FRAMES];
	l->landings = lists[WIRE_LANDINGS];
	l->landing_count = n[WIRE_LANDINGS];
	l->names = lists[WIRE_NAMES];
	if (!r)
		r = load_externals(l, lists[WIRE_EXTERNALS], n[WIRE_EXTERNALS], n[WIRE_NAMES]);
	if (!r)
		r = load_parts(l, lists[WIRE_PARTS], n[WIRE_PARTS], fd, max_bytes);
	if (!r)
		apply_words(l, lists[WIRE_WORDS], n[WIRE_WORDS]);
	free(lists[WIRE_PARTS]);
	free(lists[WIRE_WORDS]);
	free(lists[WIRE_EXTERNALS]);
	return r;
}

int image_layout_load(const void *description, size_t size, int fd, uint64_t max_bytes,
		      struct image_layout **ret, struct diag *diag)
{
	struct cursor c = cursor_over(description, size);
	struct wire_layout head;
	const void *from = cursor_bytes(&c, sizeof(head));
	struct image_layout *l = calloc(1, sizeof(*l));
	int r = !l ? -ENOMEM : !from ? -EBADMSG : 0;

	if (!r) {
		memcpy(&head, from, sizeof(head));
		l->machine = (uint16_t)head.machine;
		l->bits = head.bits;
		r = head.bits == 32 || head.bits == 64 ? load_lists(l, &c, &head, fd, max_bytes)
						       : -EBADMSG;
	}
	if (r < 0) {
		image_layout_free(l);
		return diag_fail(diag, -r, "the layout of an ELF file: %s", strerror(-r));
	}
	*ret = l;
	return 0;
}

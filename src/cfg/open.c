/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cfg/image.h"

/* The maximum that is read: the kernel's text with that of the nearest modules. */
#define KERNEL_TEXT_MAX_BYTES (256u << 20)

/* The pieces of the layout's parts that are code. Both lists rise; what overlaps counts once, as
 * what came first. */
static int take_code(struct cfg_owned *o)
{
	const struct image_layout *l = o->layout;
	uint64_t done = 0;
	size_t p = 0, i = 0;

	o->code = calloc(l->code_count + l->part_count + 1, sizeof(*o->code));
	if (!o->code)
		return -ENOMEM;
	while (i < l->code_count && p < l->part_count) {
		const struct image_layout_part *part = &l->parts[p];
		const uint64_t part_end = part->address + part->size;
		uint64_t start = l->code[i].start, end = l->code[i].end;

		if (start < part->address)
			start = part->address;
		if (start < done)
			start = done;
		if (end > part_end)
			end = part_end;
		if (start < end) {
			o->code[o->source.code_count++] = (struct cfg_bytes){
				start, part->data + (start - part->address), (size_t)(end - start)};
			done = end;
		}
		if (l->code[i].end <= part_end)
			i++;
		else
			p++;
	}
	o->source.code = o->code;
	return 0;
}

static int take_data(struct cfg_owned *o)
{
	const struct image_layout *l = o->layout;

	o->data = calloc(l->part_count + 1, sizeof(*o->data));
	if (!o->data)
		return -ENOMEM;
	for (size_t i = 0; i < l->part_count; i++)
		o->data[i] =
			(struct cfg_bytes){l->parts[i].address, l->parts[i].data, l->parts[i].size};
	o->source.data = o->data;
	o->source.data_count = l->part_count;
	return 0;
}

/* Names are copied: the finder's symbols may go before the graphs do. */
static size_t names_size(const struct image_symbols *symbols)
{
	size_t size = 1;

	for (size_t i = 0; symbols && i < image_symbols_count(symbols); i++) {
		const struct image_function *f = image_symbols_at(symbols, i);

		size += f->named ? strlen(f->name) + 1 : 0;
	}
	return size;
}

static int take_extents(struct cfg_owned *o, const struct image_symbols *symbols)
{
	const size_t frames = o->layout ? o->layout->frame_count : 0;
	const size_t named = symbols ? image_symbols_count(symbols) : 0;
	size_t n = 0, at = 0;

	o->extents = calloc(frames + named + 1, sizeof(*o->extents));
	o->names = malloc(names_size(symbols));
	if (!o->extents || !o->names)
		return -ENOMEM;
	for (size_t i = 0; i < frames; i++) {
		const struct image_layout_frame *f = &o->layout->frames[i];

		o->extents[n++] = (struct cfg_extent){
			.start = f->start, .size = f->size, .frame = true, .part = f->part != 0};
	}
	for (size_t i = 0; i < named; i++) {
		const struct image_function *f = image_symbols_at(symbols, i);
		struct cfg_extent *e = &o->extents[n++];

		*e = (struct cfg_extent){.start = f->start, .size = f->size};
		if (!f->named) /* from a frame, which comes first, or seen in the code */
			continue;
		size_t size = strlen(f->name) + 1;
		memcpy(o->names + at, f->name, size);
		e->name = o->names + at;
		at += size;
	}
	o->source.extents = o->extents;
	o->source.extent_count = n;
	return 0;
}

static int new_image(struct cfg_owned *o, struct cfg_image **ret, struct diag *diag)
{
	struct cfg_image *image;
	int r = cfg_image_new(&o->source, &image, diag);

	if (r < 0)
		return r;
	image->owned = *o;
	image->source = &image->owned.source;
	*ret = image;
	return 0;
}

static int fill_from_layout(struct cfg_owned *o, const struct image_symbols *symbols)
{
	o->source.machine = o->layout->machine;
	o->source.bits = o->layout->bits;
	o->source.landings = o->layout->landings;
	o->source.landing_count = o->layout->landing_count;
	o->source.externals = o->layout->externals;
	o->source.external_count = o->layout->external_count;
	int r = take_code(o);
	if (!r)
		r = take_data(o);
	return r ? r : take_extents(o, symbols);
}

static int image_from(struct cfg_owned *o, const struct image_symbols *symbols,
		      struct cfg_image **ret, struct diag *diag)
{
	int r = fill_from_layout(o, symbols);

	if (r < 0)
		diag_fail(diag, -r, "out of memory for control-flow graphs");
	else
		r = new_image(o, ret, diag);
	if (r < 0)
		cfg_owned_free(o);
	return r;
}

/* Reads [start, end) of code piece by piece into memory, as much as there is. */
static int read_kernel(struct image_finder *finder, const struct image_id *id, const char *path,
		       struct cfg_owned *o, uint64_t start, uint64_t end, struct diag *diag)
{
	size_t size = (size_t)(end - start), done = 0;

	o->memory = calloc(1, size);
	o->code = calloc(1, sizeof(*o->code));
	if (!o->memory || !o->code)
		return diag_fail(diag, ENOMEM, "out of memory for the kernel's code");
	while (done < size) {
		uint8_t *data;
		size_t got;
		int r = image_find_code(finder, id, path, start + done, size - done, &data, &got,
					done ? NULL : diag);

		if (r < 0 && done == 0)
			return r;
		if (r < 0)
			break;
		if (got > size - done)
			got = size - done;
		memcpy(o->memory + done, data, got);
		free(data);
		done += got;
	}
	o->code[0] = (struct cfg_bytes){start, o->memory, done};
	o->source.code = o->code;
	o->source.code_count = 1;
	return 0;
}

/* Code without a file: the kernel and its modules. By symbols alone. */
static int open_memory(struct image_finder *finder, const struct image_id *id, const char *path,
		       const struct image_symbols *symbols, struct cfg_image **ret,
		       struct diag *diag)
{
	struct cfg_owned o = {0};
	size_t count = image_symbols_count(symbols);

	if (count == 0)
		return diag_fail(diag, ENOENT, "no symbols of %s", path);
	const uint64_t start = image_symbols_at(symbols, 0)->start;
	const struct image_function *last = image_symbols_at(symbols, count - 1);
	uint64_t end = last->start + last->size;
	if (end - start > KERNEL_TEXT_MAX_BYTES)
		end = start + KERNEL_TEXT_MAX_BYTES;
	image_find_machine(finder, id, path, &o.source.machine, &o.source.bits);
	o.source.kernel = true;
	int r = read_kernel(finder, id, path, &o, start, end, diag);
	if (!r && (r = take_extents(&o, symbols)) < 0)
		diag_fail(diag, -r, "out of memory for control-flow graphs");
	if (!r)
		r = new_image(&o, ret, diag);
	if (r < 0)
		cfg_owned_free(&o);
	return r;
}

int cfg_image_open(struct image_finder *finder, const struct image_id *id, const char *path,
		   struct cfg_image **ret, struct diag *diag)
{
	const struct image_symbols *symbols = NULL;
	struct cfg_owned o = {0};
	bool in_memory = image_id_is_kernel(id);
	int symbols_err = image_find_symbols(finder, id, path, &symbols, in_memory ? diag : NULL);

	if (in_memory)
		return symbols_err ? symbols_err
				   : open_memory(finder, id, path, symbols, ret, diag);
	int r = image_find_layout(finder, id, path, &o.layout, diag);
	return r ? r : image_from(&o, symbols_err ? NULL : symbols, ret, diag);
}

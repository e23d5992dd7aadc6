/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cfg/open.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cfg/image.h"

/* The kernel's text, with its modules' nearest: no more is read. */
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

static int take_lists(struct cfg_owned *o)
{
	const struct image_layout *l = o->layout;
	o->landings = calloc(l->landing_count + 1, sizeof(*o->landings));
	o->externals = calloc(l->external_count + 1, sizeof(*o->externals));
	if (!o->landings || !o->externals)
		return -ENOMEM;
	for (size_t i = 0; i < l->landing_count; i++)
		o->landings[i] =
			(struct cfg_landing){l->landings[i].function, l->landings[i].address};
	for (size_t i = 0; i < l->external_count; i++)
		o->externals[i] =
			(struct cfg_external){l->externals[i].address, l->externals[i].name};
	o->source.landings = o->landings;
	o->source.landing_count = l->landing_count;
	o->source.externals = o->externals;
	o->source.external_count = l->external_count;
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
	int err = cfg_image_new(&o->source, &image, diag);
	if (err < 0)
		return err;
	image->owned = *o;
	image->source = &image->owned.source;
	*ret = image;
	return 0;
}

static int fill_from_layout(struct cfg_owned *o, const struct image_symbols *symbols)
{
	o->source.machine = o->layout->machine;
	o->source.bits = o->layout->bits;
	int err = take_code(o);
	if (!err)
		err = take_data(o);
	if (!err)
		err = take_lists(o);
	return err ? err : take_extents(o, symbols);
}

static int image_from(struct cfg_owned *o, const struct image_symbols *symbols,
		      struct cfg_image **ret, struct diag *diag)
{
	int err = fill_from_layout(o, symbols);
	if (err < 0)
		diag_fail(diag, -err, "out of memory for control-flow graphs");
	else
		err = new_image(o, ret, diag);
	if (err < 0)
		cfg_owned_free(o);
	return err;
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
		int err = image_find_code(finder, id, path, start + done, size - done, &data, &got,
					  done ? NULL : diag);
		if (err < 0 && done == 0)
			return err;
		if (err < 0)
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
	int err = read_kernel(finder, id, path, &o, start, end, diag);
	if (!err && (err = take_extents(&o, symbols)) < 0)
		diag_fail(diag, -err, "out of memory for control-flow graphs");
	if (!err)
		err = new_image(&o, ret, diag);
	if (err < 0)
		cfg_owned_free(&o);
	return err;
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
	int err = image_find_layout(finder, id, path, &o.layout, diag);
	return err ? err : image_from(&o, symbols_err ? NULL : symbols, ret, diag);
}

static int open_fd(struct image_worker *worker, int fd, struct cfg_image **ret, struct diag *diag)
{
	struct image_symbols *symbols = NULL;
	struct cfg_owned o = {0};
	int err = image_worker_layout(worker, fd, IMAGE_LAYOUT_MAX_BYTES, &o.layout, diag);
	if (err < 0)
		return err;
	if (image_worker_symbols(worker, fd, -1, 256u << 20, &symbols, NULL) < 0)
		symbols = NULL;
	err = image_from(&o, symbols, ret, diag);
	image_symbols_free(symbols);
	return err;
}

int cfg_image_open_file(const char *path, struct cfg_image **ret, struct diag *diag)
{
	struct image_worker *worker = image_worker_new(NULL);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err = fd < 0 ? -errno : worker ? 0 : -ENOMEM;
	if (err < 0)
		diag_fail(diag, -err, "%s: %s", path, strerror(-err));
	else
		err = open_fd(worker, fd, ret, diag);
	if (fd >= 0)
		close(fd);
	image_worker_free(worker);
	return err;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/script.h"

#include <errno.h>
#include <stdlib.h>
#include "util/id_hash.h"
#include "image/lines_new.h"

#define LINE_BITS  20
#define NAME_BITS  20
#define FIRST_BITS (LINE_BITS + NAME_BITS)

void image_script_id(const char *path, size_t path_size, struct image_id *ret)
{
	*ret = image_id_hash(IMAGE_SCRIPT, path, path_size);
}

uint64_t image_script_function(uint32_t first_line, const char *name, size_t name_size)
{
	/* Kept in databases: it may never change. */
	uint64_t hash = XXH3_64bits(name, name_size) >> (64 - NAME_BITS);

	if (first_line > IMAGE_SCRIPT_FIRST_LINE)
		first_line = IMAGE_SCRIPT_FIRST_LINE;
	return (uint64_t)first_line << FIRST_BITS | hash << LINE_BITS;
}

uint64_t image_script_offset(uint64_t function, uint32_t line)
{
	uint32_t first_line = (uint32_t)(function >> FIRST_BITS);

	if (line < first_line)
		return function;
	line -= first_line;
	return function + (line < IMAGE_SCRIPT_LINES ? line : IMAGE_SCRIPT_LINES - 1);
}

uint32_t image_script_line(uint64_t offset)
{
	return (uint32_t)(offset >> FIRST_BITS) + (uint32_t)(offset & (IMAGE_SCRIPT_LINES - 1));
}

int image_script_merge(const struct image_symbols *a, const struct image_symbols *b,
		       struct image_symbols **ret)
{
	const struct image_symbols *from[] = {a, b};
	size_t count = 0, room = image_symbols_count(a) + image_symbols_count(b);
	struct image_symbol *list = calloc(room + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 0; i < image_symbols_count(from[k]); i++) {
			const struct image_function *f = image_symbols_at(from[k], i);

			list[count++] = (struct image_symbol){f->start, f->size, f->name};
		}
	int r = image_symbols_build(list, count, "script", ret);
	free(list);
	return r;
}

static int set_line(struct image_lines *lines, size_t i, uint32_t file,
		    const struct image_symbols *symbols, uint64_t offset)
{
	const struct image_function *f = symbols ? image_symbols_find(symbols, offset) : NULL;
	struct lines_frame frame = {
		.file = file,
		.function = f ? image_lines_string(lines, f->name) : 0,
		.line = image_script_line(offset),
		.start_line = (uint32_t)(offset >> FIRST_BITS),
	};

	return image_lines_set(lines, i, &frame, 1);
}

int image_script_lines(const char *path, const struct image_symbols *symbols,
		       const uint64_t *offsets, size_t count, struct image_lines **ret)
{
	struct image_lines *lines;
	uint32_t file;
	int r = image_lines_new(count, &lines);

	if (r)
		return r;
	file = image_lines_string(lines, path);
	for (size_t i = 0; i < count && !r; i++)
		r = set_line(lines, i, file, symbols, offsets[i]);
	if (!r)
		r = image_lines_finish(lines);
	if (r)
		image_lines_free(lines);
	else
		*ret = lines;
	return r;
}

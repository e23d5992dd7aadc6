/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/kernel/kernel.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "image/kernel/kallsyms.h"
#include "image/kernel/kernel_scan.h"
#include "image/kernel/kernel_state.h"
#include "util/arena.h"
#include "util/array.h"

#define SYMBOLS_MAX	(4u << 20)
#define NAMES_BYTES_MAX (256u << 20)

/* The code symbols of one region, collected from kallsyms. */
struct collector {
	const struct image_kernel_region *region; /* NULL: not known yet */
	struct arena *names;
	struct image_symbol *list;
	size_t count, room;
};

static bool name_has_end(const struct kallsyms_line *line, const char *end)
{
	size_t size = strlen(end);

	return line->name_size >= size && !memcmp(line->name + line->name_size - size, end, size);
}

/* The linker script's marks of where a part of the text starts or ends are no functions. */
static bool line_is_mark(const struct kallsyms_line *line)
{
	static const char *const marks[] = {"_text", "_stext", "_etext", "_sinittext",
					    "_einittext"};

	if (line->name[0] != '_')
		return false;
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (line->name_size == strlen(marks[i]) &&
		    !memcmp(line->name, marks[i], line->name_size))
			return true;
	return name_has_end(line, "_text_start") || name_has_end(line, "_text_end");
}

static int collect_line(void *arg, const struct kallsyms_line *line)
{
	struct collector *c = arg;
	const struct image_kernel_region *region = c->region;

	if ((region && (line->address < region->start || line->address >= region->end)) ||
	    !strchr("tTwW", line->type) || line_is_mark(line))
		return 0;
	if (c->count == SYMBOLS_MAX ||
	    array_grow(&c->list, c->count, &c->room, sizeof(*c->list), 1024))
		return -ENOMEM;
	char *name = arena_strndup(c->names, line->name, line->name_size);
	if (!name)
		return -ENOMEM;
	c->list[c->count++] = (struct image_symbol){line->address, 0, name};
	return 0;
}

/*
 * kallsyms has no sizes: each function reaches to the next, which needs no saying, the last to the
 * end of the region.
 */
static void collector_finish(struct collector *c)
{
	uint64_t last = 0;

	for (size_t i = 0; i < c->count; i++)
		if (c->list[i].start > last)
			last = c->list[i].start;
	for (size_t i = 0; i < c->count; i++) {
		if (c->list[i].start == last)
			c->list[i].size = c->region->end - last;
		c->list[i].start -= c->region->bias;
	}
}

const struct image_kernel_region *image_kernel_by_id(const struct image_kernel *k,
						     const struct image_id *id)
{
	for (size_t i = 0; i < k->regions.count; i++)
		if (!memcmp(&k->regions.list[i].region.id, id, sizeof(*id)))
			return &k->regions.list[i].region;
	return NULL;
}

static int collector_read(struct collector *c, const char *root, struct diag *diag)
{
	char path[PATH_MAX];
	uint64_t refused;

	if (c->region->id.kind == IMAGE_BPF) { /* one function, whose name the region has */
		struct kallsyms_line line = {.address = c->region->start,
					     .type = 't',
					     .name = c->region->path,
					     .name_size = strlen(c->region->path)};

		return collect_line(c, &line);
	}
	snprintf(path, sizeof(path), "%s/proc/kallsyms", root);
	return kallsyms_each(path, collect_line, c, &refused, diag);
}

/* Those that were collected before the region was known. */
static void keep_within(struct collector *c, const struct image_kernel_region *region)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->count; i++)
		if (c->list[i].start >= region->start && c->list[i].start < region->end)
			c->list[kept++] = c->list[i];
	c->count = kept;
	c->region = region;
}

static int build(struct collector *c, struct image_symbols **ret)
{
	collector_finish(c);
	return image_symbols_build(c->list, c->count, "kallsyms", ret);
}

static void collector_free(struct collector *c)
{
	arena_free(c->names);
	free(c->list);
}

int image_kernel_core_symbols(const char *root, const struct image_id *id,
			      struct image_symbols **ret, struct diag *diag)
{
	struct collector c = {.names = arena_new(NAMES_BYTES_MAX)};
	struct kernel_region core;
	int r = c.names ? kernel_scan_core(root, id, collect_line, &c, &core, diag) : -ENOMEM;

	if (!r) {
		keep_within(&c, &core.region);
		r = build(&c, ret);
	}
	collector_free(&c);
	return r;
}

int image_kernel_symbols(struct image_kernel *k, const struct image_id *id,
			 struct image_symbols **ret, struct diag *diag)
{
	struct collector c = {.region = image_kernel_by_id(k, id)};
	char text[IMAGE_ID_TEXT_MAX];

	if (!c.region) {
		image_id_format(id, text);
		return diag_fail(diag, ENOENT, "the running kernel has no part %s", text);
	}
	c.names = arena_new(NAMES_BYTES_MAX);
	int r = c.names ? collector_read(&c, k->root, diag) : -ENOMEM;
	if (!r)
		r = build(&c, ret);
	collector_free(&c);
	return r;
}

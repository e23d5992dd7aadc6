/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include "image/demangle.h"
#include "image/dwarf_md5.h"
#include "image/lines_new.h"
#include "image/lines_reader.h"
#include "util/array.h"
#include "util/num.h"

#define DW_AT_GNU_discriminator 0x2136 /* elfutils has no name for it */

struct lines_request {
	uint64_t address;
	size_t index; /* the caller's */
	uint32_t unit;
};

static int add_unit(struct lines_reader *r, Dwarf_Die *die)
{
	if (array_grow(&r->units, r->unit_count, &r->unit_room, sizeof(*r->units), 64))
		return -ENOMEM;
	r->units[r->unit_count] = *die;
	return dwarf_tree_add_ranges(&r->unit_ranges, die, (uint32_t)r->unit_count++);
}

/* A skeleton's split file is not looked for: the reader may open no files. Its lines are here. */
static int read_units(struct lines_reader *r)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;
	int err = 0;

	while (!err && dwarf_get_units(r->dwarf, cu, &cu, NULL, &type, &die, NULL) == 0)
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			err = add_unit(r, &die);
	dwarf_tree_sort(&r->unit_ranges);
	return err;
}

static int compare_requests(const void *pa, const void *pb)
{
	const struct lines_request *a = pa, *b = pb;
	int order = NUM_ORDER(a->unit, b->unit) ?: NUM_ORDER(a->address, b->address);

	return order ?: NUM_ORDER(a->index, b->index);
}

static void name_node(struct lines_reader *r, struct dwarf_node *n)
{
	static const unsigned linkage[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name};
	char plain[DEMANGLE_MAX_RESULT];
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < 2 && !n->linkage; i++) {
		const char *mangled =
			dwarf_formstring(dwarf_attr_integrate(&n->die, linkage[i], &attribute));

		if (!mangled)
			continue;
		n->linkage = image_lines_string(r->lines, mangled);
		if (image_demangle(mangled, plain))
			n->name = image_lines_string(r->lines, plain);
	}
	if (!n->name)
		n->name = image_lines_string(r->lines, dwarf_diename(&n->die));
	if (!n->linkage)
		n->linkage = n->name;
}

/* An attribute of the node's own, or of what it is an instance of; 0 when there is none. */
static uint32_t number_of(struct dwarf_node *n, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	if (dwarf_formudata(dwarf_attr_integrate(&n->die, name, &attribute), &value) != 0 ||
	    value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

static uint32_t file_string(struct lines_reader *r, size_t file)
{
	return image_lines_file(r->lines, dwarf_filesrc(r->files, file, NULL, NULL),
				file < r->md5_count ? r->md5s[file] : NULL);
}

/* Name and call site of a node, looked up when it is first needed. */
static void describe(struct lines_reader *r, struct dwarf_node *n)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file = 0;

	if (n->described)
		return;
	n->described = 1;
	name_node(r, n);
	n->start_line = number_of(n, DW_AT_decl_line);
	if (n->parent == UINT32_MAX)
		return;
	n->call_line = number_of(n, DW_AT_call_line);
	n->call_discriminator = number_of(n, DW_AT_GNU_discriminator);
	if (r->files &&
	    dwarf_formudata(dwarf_attr(&n->die, DW_AT_call_file, &attribute), &file) == 0)
		n->call_file = file_string(r, file);
}

int lines_enter_unit(struct lines_reader *r, uint32_t unit)
{
	size_t count;

	if (r->unit == unit)
		return 0;
	r->unit = unit;
	r->function = UINT32_MAX;
	r->functions.count = r->functions.range_count = 0;
	if (dwarf_getsrcfiles(&r->units[unit], &r->files, &count) != 0)
		r->files = NULL;
	free(r->md5s);
	r->md5_count = dwarf_read_md5s(r->dwarf, &r->units[unit], &r->md5s);
	return dwarf_tree_functions(&r->units[unit], &r->functions);
}

/* The node of the innermost inlined function at address, UINT32_MAX when nothing is known. */
static int find_scope(struct lines_reader *r, uint64_t address, uint32_t *ret)
{
	uint32_t function = dwarf_tree_find_function(&r->functions, address);

	*ret = UINT32_MAX;
	if (function == UINT32_MAX)
		return 0;
	if (function != r->function) {
		r->function = function;
		int err = dwarf_tree_inlines(&r->functions.nodes[function].die, &r->inlines);
		if (err < 0)
			return err;
	}
	*ret = dwarf_tree_find(&r->inlines, address);
	return 0;
}

static uint32_t line_file(struct lines_reader *r, Dwarf_Line *line)
{
	Dwarf_Files *files;
	size_t file;

	if (dwarf_line_file(line, &files, &file) == 0 && files == r->files)
		return file_string(r, file);
	return image_lines_string(r->lines, dwarf_linesrc(line, NULL, NULL));
}

static int serve(struct lines_reader *r, const struct lines_request *q)
{
	struct lines_frame frames[LINES_FRAMES_MAX], here = {0};
	uint32_t node = UINT32_MAX;
	size_t n = 0;
	int line_number = 0;
	int err = lines_enter_unit(r, q->unit);

	if (!err)
		err = find_scope(r, q->address, &node);
	if (err < 0)
		return err;
	Dwarf_Line *line = dwarf_getsrc_die(&r->units[q->unit], q->address);
	if (line && dwarf_lineno(line, &line_number) == 0 && line_number > 0)
		here.line = (uint32_t)line_number;
	if (line)
		here.file = line_file(r, line);
	if (line)
		dwarf_linediscriminator(line, &here.discriminator);
	while (node != UINT32_MAX && n < LINES_FRAMES_MAX) {
		struct dwarf_node *at = &r->inlines.nodes[node];

		describe(r, at);
		here.function = at->name;
		here.linkage = at->linkage;
		here.start_line = at->start_line;
		frames[n++] = here;
		here = (struct lines_frame){.file = at->call_file,
					    .line = at->call_line,
					    .discriminator = at->call_discriminator};
		node = at->parent;
	}
	if (n == 0 && (here.file || here.line))
		frames[n++] = here;
	return image_lines_set(r->lines, q->index, frames, n);
}

int lines_serve(struct lines_reader *r, const uint64_t *addresses, size_t count)
{
	struct lines_request *list = calloc(count + 1, sizeof(*list));
	int err = list ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !err; i++)
		list[i] = (struct lines_request){
			addresses[i], i, dwarf_tree_find_function(&r->unit_ranges, addresses[i])};
	if (list)
		array_sort(list, count, sizeof(*list), compare_requests);
	for (size_t i = 0; i < count && !err && list[i].unit != UINT32_MAX; i++)
		err = serve(r, &list[i]);
	free(list);
	return err;
}

void lines_reader_close(struct lines_reader *r)
{
	dwarf_tree_free(&r->unit_ranges);
	dwarf_tree_free(&r->functions);
	dwarf_tree_free(&r->inlines);
	free(r->units);
	free(r->md5s);
	image_lines_free(r->lines);
	dwarf_end(r->dwarf);
}

/* The first of the two files that has DWARF with code in it. */
int lines_reader_open(struct lines_reader *r, const int fds[2], struct diag *diag)
{
	for (size_t i = 0; i < 2; i++) {
		if (fds[i] < 0)
			continue;
		r->dwarf = dwarf_begin(fds[i], DWARF_C_READ);
		if (!r->dwarf)
			continue;
		int err = read_units(r);
		if (err < 0)
			return diag_fail(diag, -err, "too much debug information");
		if (r->unit_ranges.range_count)
			return 0;
		lines_reader_close(r);
		*r = (struct lines_reader){.unit = UINT32_MAX};
	}
	return diag_fail(diag, ENOENT,
			 "no debug information (compile with -g, or install the "
			 "package's debug symbols)");
}

int image_lines_read(int fd, int debug_fd, const uint64_t *addresses, size_t count,
		     struct image_lines **ret, struct diag *diag)
{
	struct lines_reader r = {.unit = UINT32_MAX};
	int err = lines_reader_open(&r, (const int[]){debug_fd, fd}, diag);

	if (err < 0)
		goto out;
	err = image_lines_new(count, &r.lines);
	if (!err)
		err = lines_serve(&r, addresses, count);
	if (!err)
		err = image_lines_finish(r.lines);
	if (err < 0) {
		diag_fail(diag, -err, "cannot keep the line numbers");
		goto out;
	}
	*ret = r.lines;
	r.lines = NULL;
out:
	lines_reader_close(&r);
	return err;
}

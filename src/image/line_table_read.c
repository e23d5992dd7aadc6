/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include "image/elf_symbols.h"
#include "image/line_table.h"
#include "image/lines_new.h"
#include "image/lines_reader.h"
#include "util/array.h"
#include "util/num.h"
#include "util/search.h"

/*
 * Where the position of an address can differ from that of the address before: at rows of the line
 * table, at starts and ends of units, functions and inlined functions. What is known of these
 * addresses is known of all between them.
 */
struct borders {
	uint64_t *list;
	size_t count, room;
};

static int add_border(struct borders *b, const struct image_range *within, uint64_t address)
{
	if (address < within->start || address >= within->end)
		return 0;
	if (b->count == LINE_TABLE_MAX_RUNS)
		return -EFBIG;
	if (array_grow(&b->list, b->count, &b->room, sizeof(*b->list), 256))
		return -ENOMEM;
	b->list[b->count++] = address;
	return 0;
}

static int add_tree(struct borders *b, const struct image_range *within,
		    const struct dwarf_tree *tree)
{
	int r = 0;

	for (size_t i = 0; i < tree->range_count && !r; i++) {
		r = add_border(b, within, tree->ranges[i].start);
		if (!r)
			r = add_border(b, within, tree->ranges[i].end);
	}
	return r;
}

static Dwarf_Addr row_address(Dwarf_Lines *rows, size_t i)
{
	Dwarf_Addr address = 0;

	dwarf_lineaddr(dwarf_onesrcline(rows, i), &address);
	return address;
}

/* Rows are sorted by address. */
static int add_rows(struct lines_reader *r, uint32_t unit, struct borders *b,
		    const struct image_range *within)
{
	Dwarf_Lines *rows;
	size_t count;
	int err = 0;

	if (dwarf_getsrclines(&r->units[unit], &rows, &count) != 0)
		return 0;
	size_t i = SEARCH_FIRST(count, n, row_address(rows, n) >= within->start);
	for (; i < count && !err && row_address(rows, i) < within->end; i++)
		err = add_border(b, within, row_address(rows, i));
	return err;
}

/* The functions of a unit that have code in the range, and what is inlined in them. */
static int add_functions(struct lines_reader *r, uint32_t unit, struct borders *b,
			 const struct image_range *within)
{
	int err = lines_enter_unit(r, unit);
	const struct dwarf_tree *t = &r->functions;
	size_t i = err ? 0 : SEARCH_FIRST(t->range_count, n, t->ranges[n].end > within->start);

	for (; !err && i < t->range_count && t->ranges[i].start < within->end; i++) {
		err = add_border(b, within, t->ranges[i].start);
		if (!err)
			err = add_border(b, within, t->ranges[i].end);
		if (!err)
			err = dwarf_tree_inlines(&t->nodes[t->ranges[i].node].die, &r->inlines);
		r->function = UINT32_MAX; /* whose tree it was */
		if (!err)
			err = add_tree(b, within, &r->inlines);
	}
	return err;
}

static int add_borders(struct lines_reader *r, struct borders *b, const struct image_range *within)
{
	const struct dwarf_tree *units = &r->unit_ranges;
	int err = add_border(b, within, within->start);
	size_t i = SEARCH_FIRST(units->range_count, n, units->ranges[n].end > within->start);

	for (; !err && i < units->range_count && units->ranges[i].start < within->end; i++) {
		err = add_border(b, within, units->ranges[i].start);
		if (!err)
			err = add_border(b, within, units->ranges[i].end);
		if (!err)
			err = add_rows(r, units->ranges[i].node, b, within);
		if (!err)
			err = add_functions(r, units->ranges[i].node, b, within);
	}
	return err;
}

static bool knows_any(const struct image_lines *lines, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		if (image_lines_knows(lines, i))
			return true;
	return false;
}

static int make_table(const struct borders *b, const struct image_lines *lines,
		      const struct image_range *ranges, size_t count, struct image_line_table *ret)
{
	struct image_line_table t = {0};
	int r = image_lines_new(b->count, &t.lines);

	for (size_t i = 0, k = 0; i < count && !r; i++) {
		size_t end = k;

		while (end < b->count && b->list[end] < ranges[i].end)
			end++;
		bool known = knows_any(lines, k, end);
		if (known)
			r = image_line_table_add_range(&t, ranges[i]);
		for (; k < end; k++)
			if (known && !r)
				r = image_line_table_add_run(&t, b->list[k], lines, k);
	}
	if (r < 0) {
		image_line_table_free(&t);
		return r;
	}
	image_line_table_finish(&t);
	*ret = t;
	return 0;
}

static int read_table(struct lines_reader *r, struct borders *b, const struct image_range *ranges,
		      size_t count, struct image_line_table *ret)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = add_borders(r, b, &ranges[i]);
	b->count = num_sort_unique(b->list, b->count);
	if (!err)
		err = image_lines_new(b->count, &r->lines);
	if (!err)
		err = lines_serve(r, b->list, b->count);
	return err ? err : make_table(b, r->lines, ranges, count, ret);
}

/* By the section table alone: to open a file for its DWARF is to decompress all of it. */
static bool has_units(int fd)
{
	elf_version(EV_CURRENT);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	GElf_Shdr section;
	bool found = elf &&
		     (elf_find_section(elf, ".debug_info", &section) ||
		      elf_find_section(elf, ".zdebug_info", &section)) &&
		     section.sh_type != SHT_NOBITS && section.sh_size;
	elf_end(elf);
	return found;
}

/* That there is any is told sooner than what it is. */
static int probe(int fd, int debug_fd, struct image_line_table *ret, struct diag *diag)
{
	if (!has_units(debug_fd) && !has_units(fd))
		return diag_fail(diag, ENOENT, "no debug information");
	return make_table(&(struct borders){0}, NULL, NULL, 0, ret);
}

int image_line_table_read(int fd, int debug_fd, const struct image_range *ranges, size_t count,
			  struct image_line_table *ret, struct diag *diag)
{
	struct lines_reader r = {.unit = UINT32_MAX};
	struct borders b = {0};

	if (count == 0)
		return probe(fd, debug_fd, ret, diag);
	int err = lines_reader_open(&r, (const int[]){debug_fd, fd}, diag);
	if (err < 0)
		goto out;
	err = read_table(&r, &b, ranges, count, ret);
	if (err < 0)
		diag_fail(diag, -err, "cannot keep the line numbers of functions");
out:
	free(b.list);
	lines_reader_close(&r);
	return err;
}

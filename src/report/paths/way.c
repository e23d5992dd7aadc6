/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A path in words: its lines, how its branches went, its blocks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cfg/open.h"
#include "report/paths/paths_state.h"
#include "util/array.h"
#include "util/text.h"

#define TEXT_MAX      (64u << 10)
#define ADDRESSES_MAX (1u << 24)

void path_way_free(struct path_way *w)
{
	buf_free(&w->lines);
	buf_free(&w->branches);
	buf_free(&w->blocks);
}

/* Where the instructions of some paths are, one after the other. */
struct addresses {
	uint64_t *list;
	size_t count, room;
};

/* The block of the graph that a path's is; NULL: it has no such. */
static const struct cfg_block *block_of(const struct cfg_function *f, uint64_t start)
{
	const uint32_t block = cfg_function_block_at(f, start);

	return block == CFG_OUTSIDE || f->blocks[block].start != start ? NULL : &f->blocks[block];
}

static int add_addresses(struct addresses *a, const struct cfg_function *f,
			 const struct cfg_block *b)
{
	for (uint32_t i = 0; i < b->instruction_count; i++) {
		if (a->count == ADDRESSES_MAX ||
		    array_grow(&a->list, a->count, &a->room, sizeof(*a->list), 256))
			return -ENOMEM;
		a->list[a->count++] = f->instructions[b->first_instruction + i].address;
	}
	return 0;
}

/* How control left a block for another one of the path (next), or by the path's end. */
static void write_leaving(const struct cfg_function *f, const struct cfg_block *b,
			  const struct db_path_item *p, uint32_t at, struct buf *out)
{
	const struct isa_instruction *last = cfg_block_last(f, b);
	const bool is_last = at + 1 == p->block_count;
	const uint64_t next = is_last ? p->to : p->blocks[at + 1];

	if (last->branch == ISA_BRANCH_CONDITIONAL && (!is_last || p->to))
		buf_printf(out, "%s%llx %s", out->size ? ", " : "",
			   (unsigned long long)last->address,
			   next == last->target ? "taken" : "not");
	else if (last->branch == ISA_BRANCH_JUMP && last->target == ISA_NO_ADDRESS && next)
		buf_printf(out, "%s%llx to %llx", out->size ? ", " : "",
			   (unsigned long long)last->address, (unsigned long long)next);
}

static void write_end(const struct db_path_item *p, struct buf *out)
{
	static const char *const ends[] = {
		"", "returns", "back to ", "cut, on to ", "left", "a call without return"};

	buf_printf(out, "%s%s", out->size ? ", " : "", ends[p->end]);
	if (p->to)
		buf_printf(out, "%llx", (unsigned long long)p->to);
}

/* Source lines as they are run: those that ascend by one are a range. */
struct line_writer {
	struct buf *out;
	const char *file;
	uint32_t first, last;
};

static void end_range(struct line_writer *w)
{
	if (w->last > w->first)
		buf_printf(w->out, "-%u", w->last);
	w->first = w->last = 0;
}

static void write_line(struct line_writer *w, const char *file, uint32_t line)
{
	if (w->file && !strcmp(w->file, file)) {
		if (line == w->last)
			return;
		if (line == w->last + 1) {
			w->last = line;
			return;
		}
		end_range(w);
		buf_printf(w->out, " %u", line);
	} else {
		end_range(w);
		buf_printf(w->out, "%s%s:%u", w->file ? " " : "", text_base_name(file), line);
		w->file = file;
	}
	w->first = w->last = line;
}

static void write_lines(const struct image_lines *lines, size_t first, size_t count,
			struct buf *out)
{
	struct line_writer w = {.out = out};

	for (size_t i = first; lines && i < first + count; i++) {
		const struct image_frame *frames;

		if (image_lines_frames(lines, i, &frames) && frames->file && frames->line)
			write_line(&w, frames->file, frames->line);
	}
	end_range(&w);
}

static int describe_code(const struct cfg_function *f, const struct db_path_item *p,
			 struct addresses *a, struct path_way *w)
{
	int r = 0;

	for (uint32_t i = 0; i < p->block_count && !r; i++) {
		const struct cfg_block *b = block_of(f, p->blocks[i]);

		if (b) {
			r = add_addresses(a, f, b);
			write_leaving(f, b, p, i, &w->branches);
		}
	}
	return r;
}

static void write_blocks(const struct db_path_item *p, struct buf *out)
{
	for (uint32_t i = 0; i < p->block_count; i++)
		buf_printf(out, "%s0x%llx", i ? " " : "", (unsigned long long)p->blocks[i]);
}

/* Rows of one image. ends: of each, how many addresses there are up to it. */
static int describe_image(struct report_session *s, const struct path_tally *t,
			  const struct path_image *image, const size_t *rows, size_t count,
			  struct path_way *ways, struct addresses *a, size_t *ends)
{
	struct cfg_image *graphs = NULL;
	struct diag unused;
	int r = cfg_image_open(s->finder, &image->id, image->path, &graphs, &unused);

	if (r == -ENOMEM)
		return r;
	r = 0;
	for (size_t i = 0; i < count && !r; i++) {
		const struct db_path_item *p = &t->rows[rows[i]];
		const struct cfg_function *f;

		if (graphs && !memcmp(p->image, &image->id, sizeof(image->id)) &&
		    !cfg_image_function(graphs, p->function, &f))
			r = describe_code(f, p, a, &ways[i]);
		ends[i] = a->count;
	}
	cfg_image_free(graphs);
	return r;
}

static int find_ways_in(struct report_session *s, const struct path_tally *t,
			const struct path_image *image, const size_t *rows, size_t count,
			struct path_way *ways)
{
	size_t *ends = calloc(count + 1, sizeof(*ends));
	struct image_lines *lines = NULL;
	struct addresses a = {0};
	struct diag unused;
	int r = ends ? describe_image(s, t, image, rows, count, ways, &a, ends) : -ENOMEM;

	if (!r && a.count &&
	    image_find_lines(s->finder, &image->id, image->path, a.list, a.count, &lines, &unused))
		lines = NULL;
	for (size_t i = 0; i < count && !r; i++) {
		const size_t first = i ? ends[i - 1] : 0;

		write_lines(lines, first, ends[i] - first, &ways[i].lines);
	}
	image_lines_free(lines);
	free(a.list);
	free(ends);
	return r;
}

static bool has_row_of(const struct path_tally *t, const struct image_id *id, const size_t *rows,
		       size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!memcmp(t->rows[rows[i]].image, id, sizeof(*id)))
			return true;
	return false;
}

int paths_find_ways(struct report_session *s, const struct path_tally *t, const size_t *rows,
		    size_t count, struct path_way *ways)
{
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		buf_init(&ways[i].lines, TEXT_MAX);
		buf_init(&ways[i].branches, TEXT_MAX);
		buf_init(&ways[i].blocks, TEXT_MAX);
		write_blocks(&t->rows[rows[i]], &ways[i].blocks);
	}
	for (size_t k = 0; k < t->image_count && !r; k++)
		if (has_row_of(t, &t->images[k].id, rows, count))
			r = find_ways_in(s, t, &t->images[k], rows, count, ways);
	for (size_t i = 0; i < count; i++)
		write_end(&t->rows[rows[i]], &ways[i].branches);
	return r;
}

struct block_columns {
	int address, instructions, lines, leaves;
};

static void add_block(struct table *t, const struct block_columns *c, const struct cfg_function *f,
		      const struct db_path_item *p, uint32_t i, const struct image_lines *lines,
		      size_t *at)
{
	const struct cfg_block *b = f ? block_of(f, p->blocks[i]) : NULL;
	struct buf line, leaves;

	buf_init(&line, TEXT_MAX);
	buf_init(&leaves, TEXT_MAX);
	table_add_row(t);
	table_set_address(t, c->address, p->blocks[i]);
	if (b) {
		table_set_count(t, c->instructions, b->instruction_count);
		write_lines(lines, *at, b->instruction_count, &line);
		write_leaving(f, b, p, i, &leaves);
		*at += b->instruction_count;
	}
	if (i + 1 == p->block_count)
		write_end(p, &leaves);
	table_set_buf(t, c->lines, &line);
	table_set_buf(t, c->leaves, &leaves);
	buf_free(&line);
	buf_free(&leaves);
}

int paths_list_blocks(struct report_session *s, const struct path_tally *t, size_t row,
		      struct table **ret, struct diag *diag)
{
	const struct db_path_item *p = &t->rows[row];
	const struct path_image *image = &t->images[0];
	const struct cfg_function *f = NULL;
	struct cfg_image *graphs = NULL;
	struct image_lines *lines = NULL;
	struct addresses a = {0};
	struct block_columns c;
	struct diag unused;
	size_t at = 0;
	int r = 0;

	while (memcmp(&image->id, p->image, sizeof(image->id)) != 0)
		image++;
	if (!cfg_image_open(s->finder, &image->id, image->path, &graphs, &unused) &&
	    cfg_image_function(graphs, p->function, &f))
		f = NULL;
	for (uint32_t i = 0; f && i < p->block_count && !r; i++)
		if (block_of(f, p->blocks[i]))
			r = add_addresses(&a, f, block_of(f, p->blocks[i]));
	if (a.count &&
	    image_find_lines(s->finder, &image->id, image->path, a.list, a.count, &lines, &unused))
		lines = NULL;
	*ret = table_new("paths");
	c.address = table_add_column(*ret, TABLE_ADDRESS, "address", "block");
	c.instructions = table_add_column(*ret, TABLE_COUNT, "instructions", "instr.");
	c.lines = table_add_column(*ret, TABLE_NAME, "lines", "lines");
	c.leaves = table_add_column(*ret, TABLE_NAME, "branches", "goes on by");
	for (uint32_t i = 0; i < p->block_count && !r; i++)
		add_block(*ret, &c, f, p, i, lines, &at);
	image_lines_free(lines);
	cfg_image_free(graphs);
	free(a.list);
	return r ? diag_fail(diag, ENOMEM, "out of memory") : 0;
}

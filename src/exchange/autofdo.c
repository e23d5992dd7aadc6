/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/counted.h"
#include "util/array.h"
#include "util/hash.h"
#include "util/num.h"
#include "util/quote.h"

/*
 * A profile is a forest: a node is a function, or one that was inlined at a place of its parent. A
 * place is a line, counted from the function's first, and a discriminator. Of the instructions of
 * one place the one that ran most often gives its count, as in LLVM's own llvm-profgen.
 */
#define NODES_MAX (1u << 24)
#define NONE	  UINT32_MAX

struct place {
	uint32_t offset, discriminator;
};

struct node {
	uint32_t parent, name; /* name: number in names */
	struct place at;       /* in the parent */
	uint64_t total, head;
};

struct line {
	uint32_t node, callee; /* callee: number in names, or NONE: executions of the place */
	struct place at;
	uint64_t count;
};

struct profile {
	struct intern *names, *node_keys, *line_keys; /* numbers are indexes of the lists */
	struct node *nodes;
	struct line *lines;
	size_t node_count, line_count, node_room, line_room;
};

/*
 * A discriminator holds three numbers of up to 12 bits, each in 1, 7 or 14 bits: which block of the
 * line, how many copies of it the compiler made, and which copy (llvm, DebugInfoMetadata.h).
 */
static uint32_t discriminator_first(uint32_t d)
{
	if (d & 1)
		return 0;
	d >>= 1;
	return d & 0x20 ? (d >> 1 & 0xfe0) | (d & 0x1f) : d & 0x1f;
}

static uint32_t discriminator_copies(uint32_t d)
{
	uint32_t copies;

	d = d & 1 ? d >> 1 : d >> (d & 0x40 ? 14 : 7);
	copies = discriminator_first(d);
	return copies ? copies : 1;
}

static struct place place_of(const struct image_frame *f)
{
	/* A line before the function's first (a macro's, say) wraps around, as in LLVM. */
	return (struct place){(f->line - f->start_line) & 0xffff,
			      discriminator_first(f->discriminator)};
}

static int find_node(struct profile *p, uint32_t parent, struct place at, const char *name,
		     uint32_t *ret)
{
	struct {
		uint32_t parent, name;
		struct place at;
	} key = {.parent = parent, .at = at};
	int r = intern_add(p->names, name, strlen(name), &key.name);

	if (!r)
		r = intern_add(p->node_keys, &key, sizeof(key), ret);
	if (r || *ret < p->node_count)
		return r;
	if (array_grow(&p->nodes, p->node_count, &p->node_room, sizeof(*p->nodes), 256))
		return -ENOMEM;
	p->nodes[p->node_count++] = (struct node){.parent = parent, .name = key.name, .at = at};
	return 0;
}

static int find_line(struct profile *p, uint32_t node, struct place at, uint32_t callee,
		     struct line **ret)
{
	struct {
		uint32_t node, callee;
		struct place at;
	} key = {node, callee, at};
	uint32_t index;
	int r = intern_add(p->line_keys, &key, sizeof(key), &index);

	if (r)
		return r;
	if (index == p->line_count) {
		if (array_grow(&p->lines, p->line_count, &p->line_room, sizeof(*p->lines), 256))
			return -ENOMEM;
		p->lines[p->line_count++] = (struct line){.node = node, .callee = callee, .at = at};
	}
	*ret = &p->lines[index];
	return 0;
}

static const char *name_of_call(const struct counted_image *image, const struct cfg_call *call)
{
	const struct image_function *f = NULL;

	if (call->name)
		return call->name;
	if (call->target != ISA_NO_ADDRESS && image->symbols)
		f = image_symbols_find(image->symbols, call->target);
	return f && f->named && f->start == call->target ? f->name : NULL;
}

/* The node of the innermost of the frames: from the function down what is inlined. */
static int find_frames(struct profile *p, const struct image_frame *frames, size_t count,
		       uint32_t *ret)
{
	struct place at = {0, 0};
	uint32_t node = NONE;
	int r = 0;

	for (size_t i = count; i-- > 0 && !r;) {
		const char *name = frames[i].linkage;

		if (!name || (i + 1 < count && !frames[i + 1].line))
			return -ENOENT;
		r = find_node(p, node, at, name, &node);
		at = place_of(&frames[i]);
	}
	*ret = node;
	return r;
}

static int add_instruction(struct profile *p, const struct image_frame *frames, size_t count,
			   uint64_t executions, const char *callee)
{
	struct line *line;
	uint32_t node, name;
	uint64_t scaled;
	int r = count && frames[0].line ? find_frames(p, frames, count, &node) : -ENOENT;

	if (r)
		return r == -ENOENT ? 0 : r;
	if (__builtin_mul_overflow(executions, discriminator_copies(frames[0].discriminator),
				   &scaled))
		scaled = UINT64_MAX;
	r = find_line(p, node, place_of(&frames[0]), NONE, &line);
	if (!r && line->count < scaled)
		line->count = scaled;
	if (r || !callee || !executions)
		return r;
	r = intern_add(p->names, callee, strlen(callee), &name);
	if (!r)
		r = find_line(p, node, place_of(&frames[0]), name, &line);
	if (!r)
		line->count = num_add_sat(line->count, executions);
	return r;
}

static int add_head(struct profile *p, const struct counted_function *c,
		    const struct image_frame *frames, size_t count)
{
	const struct image_frame *outer = count ? &frames[count - 1] : NULL;
	uint32_t node;

	if (!outer || !outer->linkage)
		return 0;
	int r = find_node(p, NONE, (struct place){0, 0}, outer->linkage, &node);
	if (!r)
		p->nodes[node].head = num_add_sat(p->nodes[node].head, c->entries);
	return r;
}

/* *at: index among the addresses, which are those of all instructions of blocks, in order. */
static int add_function(struct profile *p, const struct counted_image *image,
			const struct counted_function *c, const struct image_lines *lines,
			size_t *at)
{
	const struct cfg_function *f = c->function;
	const struct image_frame *frames = NULL;
	uint32_t call = 0;
	int r = 0;

	for (uint32_t b = 0; b < f->block_count && !r; b++) {
		const struct cfg_block *block = &f->blocks[b];

		for (uint32_t i = 0; i < block->instruction_count && !r; i++) {
			uint32_t number = block->first_instruction + i;
			size_t count = image_lines_frames(lines, (*at)++, &frames);
			const char *callee = NULL;

			while (call < f->call_count && f->calls[call].instruction < number)
				call++;
			if (call < f->call_count && f->calls[call].instruction == number)
				callee = name_of_call(image, &f->calls[call]);
			r = add_instruction(p, frames, count, c->blocks[b], callee);
			if (!r && b == f->entry_block && i == 0)
				r = add_head(p, c, frames, count);
		}
	}
	return r;
}

int autofdo_addresses(const struct counted_image *image, uint64_t **ret, size_t *ret_count)
{
	uint64_t *list;
	size_t count = 0, n = 0;

	for (size_t i = 0; i < image->function_count; i++) {
		const struct cfg_function *f = image->functions[i].function;

		for (uint32_t b = 0; b < f->block_count; b++)
			count += f->blocks[b].instruction_count;
	}
	list = calloc(count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < image->function_count; i++) {
		const struct cfg_function *f = image->functions[i].function;

		for (uint32_t b = 0; b < f->block_count; b++) {
			const struct cfg_block *block = &f->blocks[b];

			for (uint32_t k = 0; k < block->instruction_count; k++)
				list[n++] = f->instructions[block->first_instruction + k].address;
		}
	}
	*ret = list;
	*ret_count = n;
	return 0;
}

static int compare_places(struct place a, struct place b)
{
	return NUM_ORDER(a.offset, b.offset) ?: NUM_ORDER(a.discriminator, b.discriminator);
}

static int compare_lines(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;
	int d = NUM_ORDER(a->node, b->node);

	d = d ? d : compare_places(a->at, b->at);
	/* The place itself before its callees: NONE is the greatest number. */
	return d ? d : NUM_ORDER(b->callee, a->callee);
}

/* How the nodes are written: each with its lines, then with its children. */
struct printer {
	const struct profile *p;
	struct buf *out;
	size_t *first_line;	/* of each node, and one past the last */
	uint32_t *child, *next; /* lists of the nodes inlined into each */
};

static void put_place(struct printer *w, struct place at, unsigned depth)
{
	for (unsigned i = 0; i < depth; i++)
		buf_append_u8(w->out, ' ');
	buf_printf(w->out, "%u", at.offset);
	if (at.discriminator)
		buf_printf(w->out, ".%u", at.discriminator);
	buf_printf(w->out, ": ");
}

/* A line break in a name would begin a line of its own. */
static void put_name(struct printer *w, uint32_t number)
{
	size_t size;
	const char *name = intern_get(w->p->names, number, &size);

	quote_plain(w->out, name, size);
}

static void put_lines(struct printer *w, uint32_t node, unsigned depth)
{
	const struct profile *p = w->p;

	for (size_t i = w->first_line[node]; i < w->first_line[node + 1]; i++) {
		const struct line *l = &p->lines[i];

		if (l->callee != NONE) {
			buf_append_u8(w->out, ' ');
			put_name(w, l->callee);
			buf_printf(w->out, ":%" PRIu64, l->count);
			continue;
		}
		if (i > w->first_line[node])
			buf_append_u8(w->out, '\n');
		put_place(w, l->at, depth);
		buf_printf(w->out, "%" PRIu64, l->count);
	}
	if (w->first_line[node] < w->first_line[node + 1])
		buf_append_u8(w->out, '\n');
}

/* As deep as functions are inlined into each other, which image/lines.h limits to 64. */
static void put_node(struct printer *w, uint32_t node, unsigned depth)
{
	const struct node *n = &w->p->nodes[node];

	if (depth)
		put_place(w, n->at, depth);
	put_name(w, n->name);
	buf_printf(w->out, ":%" PRIu64, n->total);
	if (!depth)
		buf_printf(w->out, ":%" PRIu64, n->head);
	buf_append_u8(w->out, '\n');
	put_lines(w, node, depth + 1);
	for (uint32_t c = w->child[node]; c != NONE; c = w->next[c])
		put_node(w, c, depth + 1);
}

static int print(struct profile *p, struct buf *out)
{
	struct printer w = {.p = p, .out = out};
	int r = -ENOMEM;

	w.first_line = calloc(p->node_count + 2, sizeof(*w.first_line));
	w.child = calloc(p->node_count + 1, sizeof(*w.child));
	w.next = calloc(p->node_count + 1, sizeof(*w.next));
	if (!w.first_line || !w.child || !w.next)
		goto out;
	array_sort(p->lines, p->line_count, sizeof(*p->lines), compare_lines);
	for (size_t i = 0; i < p->line_count; i++) {
		struct node *n = &p->nodes[p->lines[i].node];

		w.first_line[p->lines[i].node + 1]++;
		if (p->lines[i].callee == NONE)
			n->total = num_add_sat(n->total, p->lines[i].count);
	}
	for (size_t i = 0; i < p->node_count; i++) {
		w.first_line[i + 1] += w.first_line[i];
		w.child[i] = w.next[i] = NONE;
	}
	/* A node comes after its parent. */
	for (size_t i = p->node_count; i-- > 0;) {
		uint32_t parent = p->nodes[i].parent;

		if (parent == NONE)
			continue;
		p->nodes[parent].total = num_add_sat(p->nodes[parent].total, p->nodes[i].total);
		w.next[i] = w.child[parent];
		w.child[parent] = (uint32_t)i;
	}
	for (uint32_t i = 0; i < p->node_count; i++) {
		if (p->nodes[i].parent == NONE && p->nodes[i].total)
			put_node(&w, i, 0);
	}
	r = out->error;
out:
	free(w.first_line);
	free(w.child);
	free(w.next);
	return r;
}

int autofdo_write(const struct counted_image *image, const struct image_lines *lines,
		  struct buf *out)
{
	struct profile p = {.names = intern_new(NODES_MAX),
			    .node_keys = intern_new(NODES_MAX),
			    .line_keys = intern_new(NODES_MAX)};
	int r = p.names && p.node_keys && p.line_keys ? 0 : -ENOMEM;
	size_t at = 0;

	for (size_t i = 0; i < image->function_count && !r; i++)
		r = add_function(&p, image, &image->functions[i], lines, &at);
	if (!r)
		r = print(&p, out);
	intern_free(p.names);
	intern_free(p.node_keys);
	intern_free(p.line_keys);
	free(p.nodes);
	free(p.lines);
	return r;
}

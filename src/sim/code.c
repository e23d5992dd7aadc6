/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sim/code.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "isa/operands.h"
#include "machine/simulate.h"
#include "util/arena.h"
#include "util/array.h"
#include "util/hash.h"

#define MEMORY_MAX ((size_t)1 << 30)
#define WALK_MAX   48 /* instructions of a block that never ran */
#define NUMBERS	   (WIRE_CODE_BYTES / 8)
#define PATHS_MAX  (1u << 16)
#define NO_BLOCK   UINT32_MAX
#define BYTES_MOST 15
#define PATH_MOST  4096

struct path {
	const char *text;
	uint32_t size;
	bool writable;
};

struct sim_code {
	struct machine_model *model;
	struct sim_trace *trace;
	struct isa_decoder *decoder;
	struct arena *memory;
	uint32_t *of_number;	   /* block of a record's number, plus 1 */
	struct sim_block **blocks; /* in memory: they stay where they are */
	size_t block_count, block_room;
	struct map64 *by_address; /* number of a block */
	struct map64 *pages;	  /* of an address: position of its record */
	struct map64 *sites_by_place;
	struct sim_site *sites;
	size_t site_count, site_room;
	struct path *paths;
	size_t path_count, path_room;
	struct map64 *path_of; /* a mapping's record */
	uint64_t scanned;
	const struct wire_page *page; /* the last one found */
};

int sim_code_new(struct machine_model *model, struct sim_trace *trace, struct sim_code **ret,
		 struct diag *diag)
{
	struct sim_code *c = calloc(1, sizeof(*c));
	int r = c ? isa_decoder_new(EM_X86_64, 64, ISA_SYNTAX_ATT, &c->decoder, diag) : -ENOMEM;

	if (r)
		goto out;
	c->model = model;
	c->trace = trace;
	c->memory = arena_new(MEMORY_MAX);
	c->of_number = calloc(NUMBERS, sizeof(*c->of_number));
	c->by_address = map64_new(1u << 24);
	c->pages = map64_new(1u << 20);
	c->sites_by_place = map64_new(SIM_SITES_MAX);
	c->path_of = map64_new(PATHS_MAX);
	if (!c->memory || !c->of_number || !c->by_address || !c->pages || !c->sites_by_place ||
	    !c->path_of)
		r = -ENOMEM;
out:
	if (r == -ENOMEM)
		diag_fail(diag, ENOMEM, "out of memory");
	if (r)
		sim_code_free(c);
	else
		*ret = c;
	return r;
}

void sim_code_free(struct sim_code *c)
{
	if (!c)
		return;
	isa_decoder_free(c->decoder);
	arena_free(c->memory);
	map64_free(c->by_address);
	map64_free(c->pages);
	map64_free(c->sites_by_place);
	map64_free(c->path_of);
	free(c->of_number);
	free(c->blocks);
	free(c->sites);
	free(c->paths);
	free(c);
}

/* The number of a place: where it is in its file, or in memory. */
static int find_site(struct sim_code *c, const struct sim_site *site, uint32_t *ret)
{
	uint64_t key = hash_u64(site->address ^ hash_u64(site->mapping ^ hash_u64(site->offset)));
	uint64_t number;

	key = key == UINT64_MAX ? 0 : key;
	if (map64_get(c->sites_by_place, key, &number) == 0) {
		*ret = (uint32_t)number;
		return 0;
	}
	if (c->site_count >= SIM_SITES_MAX ||
	    array_grow(&c->sites, c->site_count, &c->site_room, sizeof(*c->sites), 4096) ||
	    map64_put(c->sites_by_place, key, c->site_count))
		return -ENOMEM;
	c->sites[c->site_count] = *site;
	*ret = (uint32_t)c->site_count++;
	return 0;
}

/* One instruction; what of a block is known of it: its address, its place. */
static int make_op(struct sim_code *c, const uint8_t *code, size_t size,
		   const struct sim_site *site, struct sim_op *ret)
{
	struct isa_instruction in;
	struct isa_operands o;

	machine_prepare(c->model, code, size, site->address, &ret->in);
	isa_decode_operands(c->decoder, code, size, site->address, &in, &o);
	ret->branch = (uint8_t)in.branch;
	ret->target = in.target;
	ret->repeats = o.attributes & ISA_REPEATED;
	ret->indirect = o.attributes & ISA_INDIRECT;
	return find_site(c, site, &ret->site);
}

/* Fusion is a pair's; what it costs is known then. */
static void fuse(struct sim_code *c, struct sim_op *ops, uint32_t count)
{
	for (uint32_t i = 0; i + 1 < count; i++) {
		struct machine_instruction pair[2] = {ops[i].in, ops[i + 1].in};

		if (ops[i].in.traits & MACHINE_FUSED)
			continue;
		machine_fuse(c->model, pair, 2);
		ops[i].in = pair[0];
		ops[i + 1].in = pair[1];
	}
	for (uint32_t i = 0; i < count; i++)
		ops[i].slots = ops[i].in.traits & MACHINE_FUSED
				       ? 0
				       : machine_cost_of(c->model, &ops[i].in)->slots;
}

static const struct sim_block *add_block(struct sim_code *c, const struct sim_block *b)
{
	struct sim_block *new = arena_alloc(c->memory, sizeof(*new));

	if (!new ||
	    array_grow(&c->blocks, c->block_count, &c->block_room, sizeof(*c->blocks), 1024))
		return NULL;
	*new = *b;
	c->blocks[c->block_count] = new;
	map64_put(c->by_address, b->address, c->block_count++);
	return new;
}

/* From a copy of the record's head, which cannot change: past a record there is more of the trace,
 * so that whatever it says stays in there. */
static const struct sim_block *make_block(struct sim_code *c, const struct wire_block *shared)
{
	const struct wire_block copy = *shared, *w = &copy;
	const uint8_t *sizes = (const uint8_t *)(shared + 1), *code = sizes + w->count;
	struct sim_block b = {.address = w->address, .count = w->count};
	size_t at = 0;

	if (!w->count || w->count > WIRE_BLOCK_MAX)
		return NULL;
	b.ops = arena_alloc(c->memory, w->count * sizeof(*b.ops));
	for (uint32_t i = 0; b.ops && i < w->count; i++) {
		struct sim_site site = {w->address + at, w->offset + at, w->mapping};

		if (!sizes[i] || sizes[i] > BYTES_MOST || sizes[i] > w->bytes - at)
			return NULL;
		if (make_op(c, code + at, sizes[i], &site, &b.ops[i]))
			return NULL;
		b.ops[i].in.size = sizes[i];
		at += sizes[i];
	}
	if (!b.ops)
		return NULL;
	b.end = b.address + at;
	fuse(c, b.ops, b.count);
	return add_block(c, &b);
}

const struct sim_block *sim_code_block(struct sim_code *c, uint32_t number)
{
	const struct wire_block *w;
	const struct sim_block *b;

	if (number < NUMBERS && c->of_number[number] && c->of_number[number] != NO_BLOCK)
		return c->blocks[c->of_number[number] - 1];
	if (number >= NUMBERS || c->of_number[number])
		return NULL;
	w = sim_trace_block(c->trace, number);
	b = w ? make_block(c, w) : NULL;
	c->of_number[number] = b ? (uint32_t)c->block_count : NO_BLOCK;
	return b;
}

static void add_path(struct sim_code *c, uint64_t record, const struct wire_mapping *m,
		     const char *text)
{
	const char *copy =
		m->path_bytes <= PATH_MOST ? arena_strndup(c->memory, text, m->path_bytes) : NULL;

	if (!copy || c->path_count >= PATHS_MAX ||
	    array_grow(&c->paths, c->path_count, &c->path_room, sizeof(*c->paths), 64))
		return;
	c->paths[c->path_count] = (struct path){copy, (uint32_t)strlen(copy), m->writable != 0};
	map64_put(c->path_of, record, c->path_count++);
}

/* Pages and mappings that were added meanwhile. */
static void scan(struct sim_code *c)
{
	uint64_t at = c->scanned;
	const struct wire_record_head *r;

	while ((r = sim_trace_record(c->trace, &c->scanned))) {
		const struct wire_mapping m = *(const struct wire_mapping *)(const void *)r;

		if (r->kind == WIRE_RECORD_PAGE)
			map64_put(c->pages, ((const struct wire_page *)r)->address,
				  (uint64_t)(uintptr_t)r);
		if (m.head.kind == WIRE_RECORD_MAPPING)
			add_path(c, at / 8, &m, (const char *)r + sizeof(m));
		at = c->scanned;
	}
}

static const struct wire_page *find_page(struct sim_code *c, uint64_t address)
{
	uint64_t page = address / WIRE_PAGE * WIRE_PAGE, at;

	if (c->page && c->page->address == page)
		return c->page;
	scan(c);
	if (map64_get(c->pages, page, &at))
		return NULL;
	c->page = (const void *)(uintptr_t)at;
	return c->page;
}

static const struct sim_block *walk(struct sim_code *c, uint64_t address)
{
	const struct wire_page *p = find_page(c, address);
	const uint8_t *code = (const uint8_t *)(p + 1);
	struct sim_op ops[WALK_MAX];
	struct sim_block b = {.address = address};
	size_t at = address % WIRE_PAGE;

	while (p && b.count < WALK_MAX && at + BYTES_MOST < WIRE_PAGE) {
		struct sim_site site = {p->address + at, p->offset + at, p->mapping};

		if (make_op(c, code + at, BYTES_MOST, &site, &ops[b.count]) ||
		    ops[b.count].in.traits & MACHINE_INVALID)
			break;
		at += ops[b.count].in.size;
		if (ops[b.count++].branch != ISA_BRANCH_NONE)
			break;
	}
	if (!b.count)
		return NULL;
	b.ops = arena_alloc(c->memory, b.count * sizeof(*b.ops));
	if (!b.ops)
		return NULL;
	memcpy(b.ops, ops, b.count * sizeof(*b.ops));
	b.end = p->address + at;
	fuse(c, b.ops, b.count);
	return add_block(c, &b);
}

const struct sim_block *sim_code_at(struct sim_code *c, uint64_t address)
{
	uint64_t number;

	if (address == UINT64_MAX)
		return NULL;
	if (map64_get(c->by_address, address, &number) == 0)
		return c->blocks[number];
	return walk(c, address);
}

const struct sim_site *sim_code_site(const struct sim_code *c, uint32_t site)
{
	return &c->sites[site];
}

const char *sim_code_path(const struct sim_code *c, uint32_t mapping, size_t *ret_size,
			  bool *ret_writable)
{
	uint64_t number;

	scan((struct sim_code *)c);
	if (map64_get(c->path_of, mapping, &number)) {
		*ret_size = 0;
		*ret_writable = false;
		return "";
	}
	*ret_size = c->paths[number].size;
	*ret_writable = c->paths[number].writable;
	return c->paths[number].text;
}

bool sim_code_is_wide(struct sim_code *c, uint64_t address)
{
	const struct wire_page *p = find_page(c, address);

	return p && ((const uint8_t *)(p + 1))[address % WIRE_PAGE] == 0x62;
}

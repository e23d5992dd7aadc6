/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/compare/diff_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/array.h"
#include "util/num.h"
#include "util/search.h"

/* One address of a function: an instruction's or a block's. */
struct place {
	uint64_t address, count;
};

struct places {
	struct place *list;
	size_t count;
};

/* The same place in both, in ascending order of the first's address. */
struct link {
	uint64_t a, b;
	size_t votes;
};

struct links {
	struct link *list;
	size_t count;
};

struct work {
	const struct diff_side *sides;
	bool blocks;
	struct diff_code *out;
	size_t room;
	const struct query_part **parts[2]; /* of each image */
	struct cfg_image **graphs[2];	    /* of each image; NULL: not asked for, or none */
	bool *asked[2];
};

static size_t image_number(const struct diff_side *side, const struct rank_row *row)
{
	return (size_t)(row->image - side->query->images);
}

static int work_start(struct work *w)
{
	for (int s = 0; s < 2; s++) {
		const struct query *q = w->sides[s].query;
		size_t images = intern_count(q->image_keys) + 1u;

		w->parts[s] = calloc(images, sizeof(*w->parts[s]));
		w->graphs[s] = calloc(images, sizeof(*w->graphs[s]));
		w->asked[s] = calloc(images, sizeof(*w->asked[s]));
		if (!w->parts[s] || !w->graphs[s] || !w->asked[s])
			return -ENOMEM;
		for (size_t i = 0; i < q->part_count; i++)
			if (q->parts[i].selected)
				w->parts[s][q->parts[i].image] = &q->parts[i];
	}
	return 0;
}

static void work_end(struct work *w)
{
	for (int s = 0; s < 2; s++) {
		const struct query *q = w->sides[s].query;

		for (size_t i = 0; w->graphs[s] && i < intern_count(q->image_keys); i++)
			cfg_image_free(w->graphs[s][i]);
		free(w->parts[s]);
		free(w->graphs[s]);
		free(w->asked[s]);
	}
}

/* The graph of a function; NULL when there is none. */
static const struct cfg_function *find_graph(struct work *w, int s, const struct rank_row *row)
{
	const struct rank_source *source = &w->sides[s].graphs;
	size_t image = image_number(&w->sides[s], row);
	const struct cfg_function *f = NULL;

	if (!w->asked[s][image] && source->graphs) {
		w->asked[s][image] = true;
		if (source->graphs(source->arg, &row->image->id, row->image->path,
				   &w->graphs[s][image], NULL))
			w->graphs[s][image] = NULL;
	}
	if (!w->graphs[s][image] || cfg_image_function(w->graphs[s][image], row->start, &f))
		return NULL;
	return f;
}

static uint64_t place_of(const struct cfg_function *f, uint64_t address)
{
	uint32_t block = f ? cfg_function_block_at(f, address) : CFG_OUTSIDE;

	return block == CFG_OUTSIDE ? address : f->blocks[block].start;
}

/* Behind the last byte that counts as the place. */
static uint64_t end_of_place(const struct cfg_function *f, uint64_t address)
{
	uint32_t block = f ? cfg_function_block_at(f, address) : CFG_OUTSIDE;

	return block == CFG_OUTSIDE ? address + (address < UINT64_MAX) : f->blocks[block].end;
}

static int compare_places(const void *x, const void *y)
{
	const struct place *a = x, *b = y;

	return NUM_ORDER(a->address, b->address);
}

static void add_place(struct places *p, uint64_t address, uint64_t count)
{
	struct place *last = p->count ? &p->list[p->count - 1] : NULL;

	if (last && last->address == address)
		last->count = num_add_sat(last->count, count);
	else
		p->list[p->count++] = (struct place){address, count};
}

/* The function's samples in ascending order of their places. */
static int collect_places(const struct work *w, int s, const struct rank_row *row,
			  const struct cfg_function *f, struct places *ret)
{
	const struct query_part *part = w->parts[s][image_number(&w->sides[s], row)];
	size_t low = query_part_seek(part, row->start), high, sorted;
	uint64_t size = row->size ? row->size : UINT64_MAX - row->start;
	struct places p = {0};

	for (high = low;
	     part && high < part->row_count && part->rows[high].offset - row->start < size;)
		high++;
	p.list = calloc(high - low + 1, sizeof(*p.list));
	if (!p.list)
		return -ENOMEM;
	for (size_t i = low; i < high; i++)
		if (part->rows[i].event == w->sides[s].event)
			add_place(&p, place_of(f, part->rows[i].offset), part->rows[i].count);
	/* Blocks need not lie in the order of their instructions. */
	array_sort(p.list, p.count, sizeof(*p.list), compare_places);
	sorted = p.count;
	p.count = 0;
	for (size_t i = 0; i < sorted; i++)
		add_place(&p, p.list[i].address, p.list[i].count);
	*ret = p;
	return 0;
}

static int compare_links(const void *x, const void *y)
{
	const struct link *a = x, *b = y;

	if (a->a != b->a)
		return NUM_ORDER(a->a, b->a);
	return NUM_ORDER(a->b, b->b);
}

static int compare_votes(const void *x, const void *y)
{
	const struct link *a = x, *b = y;

	return a->votes != b->votes ? NUM_ORDER(b->votes, a->votes) : compare_links(x, y);
}

/* Links of instructions to those of blocks: with most instructions in common first, each once. */
static void elect_blocks(struct links *l)
{
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < l->count; i++) {
		if (n && !compare_links(&l->list[n - 1], &l->list[i]))
			l->list[n - 1].votes++;
		else
			l->list[n++] = l->list[i];
	}
	array_sort(l->list, n, sizeof(*l->list), compare_votes);
	for (size_t i = 0; i < n; i++) {
		bool taken = false;

		for (size_t k = 0; k < kept && !taken; k++)
			taken = l->list[k].a == l->list[i].a || l->list[k].b == l->list[i].b;
		if (!taken)
			l->list[kept++] = l->list[i];
	}
	l->count = kept;
}

static int link_shapes(const struct code_shape *a, const struct code_shape *b,
		       const struct cfg_function *const graphs[2], struct work *w,
		       struct links *ret)
{
	uint32_t *to = reallocarray(NULL, a->count + 1, sizeof(*to));

	ret->list = calloc(a->count + 1, sizeof(*ret->list));
	ret->count = 0;
	int r = to && ret->list ? code_shape_align(a, b, to) : -ENOMEM;
	if (r == 1)
		w->out->partly_aligned++;
	for (size_t i = 0; i < a->count && r >= 0; i++)
		if (to[i] != CODE_SHAPE_NONE)
			ret->list[ret->count++] =
				(struct link){place_of(graphs[0], a->addresses[i]),
					      place_of(graphs[1], b->addresses[to[i]]), 1};
	free(to);
	if (r < 0)
		return r;
	array_sort(ret->list, ret->count, sizeof(*ret->list), compare_links);
	if (w->blocks) {
		elect_blocks(ret);
		array_sort(ret->list, ret->count, sizeof(*ret->list), compare_links);
	}
	return 0;
}

/* Which place of the one is which of the other, in functions of different builds. */
static int link_places(struct work *w, const struct match_pair *pair,
		       const struct cfg_function *const graphs[2], struct links *ret)
{
	struct code_shape *a = NULL, *b = NULL;
	int r = match_shape(&w->sides[0].match, pair->row[0], &a);

	if (!r)
		r = match_shape(&w->sides[1].match, pair->row[1], &b);
	if (!r && a && b)
		r = link_shapes(a, b, graphs, w, ret);
	else
		w->out->without_code++;
	code_shape_free(a);
	code_shape_free(b);
	return r;
}

static int add_unit(struct work *w, const struct diff_unit *unit)
{
	struct diff_code *d = w->out;

	if (array_grow(&d->units, d->count, &w->room, sizeof(*d->units), 256))
		return -ENOMEM;
	d->units[d->count++] = *unit;
	return 0;
}

/* Where the first side's place is in the second; links NULL: at the same address. */
static uint64_t follow(const struct links *links, uint64_t address)
{
	size_t low;

	if (!links)
		return address;
	low = SEARCH_FIRST(links->count, i, links->list[i].a >= address);
	return low < links->count && links->list[low].a == address ? links->list[low].b
								   : ISA_NO_ADDRESS;
}

static struct place *find_place(const struct places *p, uint64_t address)
{
	struct place key = {address, 0};

	return p->count ? bsearch(&key, p->list, p->count, sizeof(key), compare_places) : NULL;
}

static int join_place(struct work *w, const struct match_pair *pair,
		      const struct cfg_function *const graphs[2], const uint64_t address[2],
		      const uint64_t count[2])
{
	struct diff_unit unit = {pair,
				 {address[0], address[1]},
				 {ISA_NO_ADDRESS, ISA_NO_ADDRESS},
				 {count[0], count[1]}};

	for (int s = 0; s < 2; s++)
		if (address[s] != ISA_NO_ADDRESS)
			unit.end[s] = end_of_place(graphs[s], address[s]);
	return add_unit(w, &unit);
}

/* What both have, what the first has alone, then what is left of the second. */
static int join_places(struct work *w, const struct match_pair *pair, const struct places *places,
		       const struct cfg_function *const graphs[2], const struct links *links)
{
	int r = 0;

	for (size_t i = 0; i < places[0].count && !r; i++) {
		const struct place *a = &places[0].list[i];
		uint64_t there = pair->row[1] ? follow(links, a->address) : ISA_NO_ADDRESS;
		struct place *b = there != ISA_NO_ADDRESS ? find_place(&places[1], there) : NULL;

		r = join_place(w, pair, graphs, (uint64_t[]){a->address, there},
			       (uint64_t[]){a->count, b ? b->count : 0});
		if (b)
			b->count = 0;
	}
	for (size_t i = 0; i < places[1].count && !r; i++) {
		const struct place *b = &places[1].list[i];
		uint64_t there = pair->row[0] && !links ? b->address : ISA_NO_ADDRESS;

		for (size_t k = 0; links && k < links->count && there == ISA_NO_ADDRESS; k++)
			if (links->list[k].b == b->address)
				there = links->list[k].a;
		if (b->count)
			r = join_place(w, pair, graphs, (uint64_t[]){there, b->address},
				       (uint64_t[]){0, b->count});
	}
	return r;
}

static int diff_pair(struct work *w, const struct match_pair *pair)
{
	const struct cfg_function *graphs[2] = {NULL, NULL};
	struct places places[2] = {{0}};
	struct links links = {0};
	bool other = pair->row[0] && pair->row[1] && pair->how != MATCH_SAME;
	int r = 0;

	for (int s = 0; s < 2 && w->blocks; s++) {
		if (!pair->row[s] || !pair->row[s]->image || !pair->row[s]->size)
			continue;
		graphs[s] = find_graph(w, s, pair->row[s]);
		w->out->without_graphs += !graphs[s];
	}
	for (int s = 0; s < 2 && !r; s++)
		if (pair->row[s] && pair->row[s]->image && pair->row[s]->size)
			r = collect_places(w, s, pair->row[s], graphs[s], &places[s]);
	if (!r && other)
		r = link_places(w, pair, graphs, &links);
	/* What has no function is one place. */
	if (!r && !places[0].count && !places[1].count)
		r = add_unit(w,
			     &(struct diff_unit){
				     pair,
				     {ISA_NO_ADDRESS, ISA_NO_ADDRESS},
				     {ISA_NO_ADDRESS, ISA_NO_ADDRESS},
				     {pair->row[0] ? pair->row[0]->counts[w->sides[0].event] : 0,
				      pair->row[1] ? pair->row[1]->counts[w->sides[1].event] : 0}});
	else if (!r)
		r = join_places(w, pair, places, graphs, other ? &links : NULL);
	free(places[0].list);
	free(places[1].list);
	free(links.list);
	return r;
}

int diff_code_new(const struct diff_side sides[2], const struct match *match, bool blocks,
		  struct diff_code **ret)
{
	struct diff_code *d = calloc(1, sizeof(*d));
	struct work w = {.sides = sides, .blocks = blocks, .out = d};
	int r = d ? work_start(&w) : -ENOMEM;

	for (size_t i = 0; i < match->count && !r; i++)
		r = diff_pair(&w, &match->pairs[i]);
	work_end(&w);
	if (r) {
		diff_code_free(d);
		return r;
	}
	*ret = d;
	return 0;
}

void diff_code_free(struct diff_code *d)
{
	if (!d)
		return;
	free(d->units);
	free(d);
}

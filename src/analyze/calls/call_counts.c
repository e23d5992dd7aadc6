/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/calls/call_graph.h"
#include "util/array.h"
#include "util/num.h"

#define ARCS_MAX   (1u << 22)
#define IMAGES_MAX (1u << 20)

/* A function, on a stack or not. */
struct place_key {
	uint64_t start;
	uint32_t image, unused; /* number among the images met here */
};

struct counted_image {
	const struct image_symbols *symbols; /* NULL: none */
};

/* What is known of a place: its function of the set, and whether it is a stub. */
struct counted_place {
	uint32_t function; /* CALL_NOBODY: on no stack */
	bool stub;
	const char *name;  /* of a stub */
	uint32_t jumps_to; /* the place that a stub was seen to jump to most; UINT32_MAX: none */
	uint64_t jumps;
};

struct counted_arc {
	uint32_t from, to; /* places */
	uint64_t calls;
};

struct counting {
	const struct stack_set *set;
	const struct rank_source *source;
	struct intern *images, *places, *functions; /* functions: place_key of the set's */
	struct counted_image *image_list;
	struct counted_place *place_list;
	struct counted_arc *arcs;
	struct map64 *arc_keys;
	uint32_t *by_key; /* number in functions -> function of the set */
	size_t image_count, image_room, place_count, place_room, arc_count, arc_room;
};

static int find_image(struct counting *c, const struct image_id *id, const char *path,
		      size_t path_size, uint32_t *ret)
{
	struct counted_image *image;
	struct diag detail;
	char *name;
	int r = intern_add(c->images, id, sizeof(*id), ret);

	if (r || *ret < c->image_count)
		return r;
	if (array_grow(&c->image_list, c->image_count, &c->image_room, sizeof(*image), 64))
		return -ENOMEM;
	image = &c->image_list[c->image_count];
	*image = (struct counted_image){NULL};
	name = strndup(path ? path : "", path_size);
	if (!name)
		return -ENOMEM;
	r = c->source->symbols(c->source->arg, id, name, &image->symbols, &detail);
	free(name);
	if (r)
		image->symbols = NULL;
	c->image_count++;
	return r == -ENOMEM ? r : 0;
}

static bool is_stub(const char *name)
{
	size_t size = strlen(name);

	return size > 4 && !strcmp(name + size - 4, "@plt");
}

static int add_place(struct counting *c, uint32_t image, const struct image_function *fn,
		     uint32_t *ret)
{
	struct place_key key = {.start = fn->start, .image = image};
	struct counted_place *place;
	uint32_t number;
	int r = intern_add(c->places, &key, sizeof(key), ret);

	if (r || *ret < c->place_count)
		return r;
	if (array_grow(&c->place_list, c->place_count, &c->place_room, sizeof(*place), 64))
		return -ENOMEM;
	place = &c->place_list[c->place_count++];
	*place = (struct counted_place){
		.function = CALL_NOBODY,
		.stub = is_stub(fn->name),
		.name = fn->name,
		.jumps_to = UINT32_MAX,
	};
	if (!intern_find(c->functions, &key, sizeof(key), &number))
		place->function = c->by_key[number];
	return 0;
}

static int add_arc(struct counting *c, uint32_t from, uint32_t to, uint64_t calls)
{
	uint64_t key = (uint64_t)from << 32 | to, index;

	if (!map64_get(c->arc_keys, key, &index)) {
		c->arcs[index].calls = num_add_sat(c->arcs[index].calls, calls);
		return 0;
	}
	if (array_grow(&c->arcs, c->arc_count, &c->arc_room, sizeof(*c->arcs), 64))
		return -ENOMEM;
	c->arcs[c->arc_count] = (struct counted_arc){from, to, calls};
	return map64_put(c->arc_keys, key, c->arc_count++);
}

/* Only what goes to the beginning of a function is a call (or a jump in place of one). */
static int take_edge(void *arg, const char *epoch, const void *item)
{
	const struct db_edge_item *row = item;
	struct counting *c = arg;
	const struct image_function *from, *to;
	uint32_t image, to_image, a, b;

	(void)epoch;
	if (row->from == DB_EDGE_START || row->to == DB_EDGE_END ||
	    row->evidence == DB_EVIDENCE_COUNTS) /* ways within functions */
		return 0;
	int r = find_image(c, row->image, row->path.data, row->path.size, &image);
	to_image = image;
	if (!r && row->to_image != row->image)
		r = find_image(c, row->to_image, "", 0, &to_image);
	if (r || !c->image_list[image].symbols || !c->image_list[to_image].symbols)
		return r;
	to = image_symbols_find(c->image_list[to_image].symbols, row->to);
	if (!to || to->start != row->to)
		return 0;
	from = image_symbols_find(c->image_list[image].symbols, row->from);
	if (!from)
		return 0;
	r = add_place(c, image, from, &a);
	if (!r)
		r = add_place(c, to_image, to, &b);
	return r ? r : add_arc(c, a, b, row->count);
}

static bool want_no_rows(void *arg, const struct db_profile *p)
{
	(void)arg, (void)p;
	return false;
}

/* The images and functions of the set, so that what edges say of them is told by their numbers. */
static int know_functions(struct counting *c)
{
	const struct stack_set *s = c->set;
	uint32_t number;
	int r = 0;

	c->by_key = calloc(s->function_count + 1, sizeof(*c->by_key));
	if (!c->by_key)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->function_count && !r; i++) {
		const struct stack_function *f = &s->functions[i];
		const struct query_image *image = &s->images[f->image];
		struct place_key key = {.start = f->start};

		if (f->kind != STACK_CODE || f->inlined)
			continue;
		r = find_image(c, &image->id, image->path, image->path_size, &key.image);
		if (!r)
			r = intern_add(c->functions, &key, sizeof(key), &number);
		if (!r)
			c->by_key[number] = i;
	}
	return r;
}

/* A stub that was not seen to jump: to the function of its name, if it is on a stack. */
static uint32_t stub_function(const struct counting *c, const struct counted_place *stub)
{
	size_t size = strlen(stub->name) - 4;

	for (uint32_t i = 0; i < c->set->function_count; i++) {
		const struct stack_function *f = &c->set->functions[i];

		if (f->kind == STACK_CODE && !f->inlined && !strncmp(f->name, stub->name, size) &&
		    !f->name[size])
			return i;
	}
	return CALL_NOBODY;
}

static uint32_t find_callee(const struct counting *c, uint32_t place)
{
	const struct counted_place *p = &c->place_list[place];

	for (int steps = 0; p->stub && p->jumps_to != UINT32_MAX && steps < 4; steps++)
		p = &c->place_list[p->jumps_to];
	return p->stub ? stub_function(c, p) : p->function;
}

static int list_counts(struct counting *c, struct call_counts *ret)
{
	ret->list = calloc(c->arc_count + 1, sizeof(*ret->list));
	if (!ret->list)
		return -ENOMEM;
	for (size_t i = 0; i < c->arc_count; i++) {
		struct counted_place *from = &c->place_list[c->arcs[i].from];

		if (from->stub && c->arcs[i].calls > from->jumps) {
			from->jumps = c->arcs[i].calls;
			from->jumps_to = c->arcs[i].to;
		}
	}
	for (size_t i = 0; i < c->arc_count; i++) {
		const struct counted_arc *a = &c->arcs[i];
		uint32_t to = find_callee(c, a->to);

		if (!c->place_list[a->from].stub && to != CALL_NOBODY)
			ret->list[ret->count++] =
				(struct call_count){c->place_list[a->from].function, to, a->calls};
	}
	return 0;
}

static int count_calls(struct counting *c, struct db_reader *reader, struct call_counts *ret,
		       struct diag *diag)
{
	struct db_visitor v = {.want = want_no_rows, .item = {[CHUNK_EDGES] = take_edge}, .arg = c};

	c->images = intern_new(IMAGES_MAX);
	c->places = intern_new(ARCS_MAX);
	c->functions = intern_new(ARCS_MAX);
	c->arc_keys = map64_new(ARCS_MAX);
	if (!c->images || !c->places || !c->functions || !c->arc_keys)
		return -ENOMEM;
	int r = know_functions(c);
	if (!r)
		r = db_reader_query(reader, &v, diag);
	return r ? r : list_counts(c, ret);
}

void call_counts_free(struct call_counts *c)
{
	if (!c)
		return;
	free(c->list);
	free(c);
}

int call_counts_read(const struct stack_set *s, const struct rank_source *source,
		     struct db_reader *reader, struct call_counts **ret, struct diag *diag)
{
	struct counting c = {.set = s, .source = source};
	struct call_counts *counts = calloc(1, sizeof(*counts));
	struct diag detail = {""};
	int r = counts ? count_calls(&c, reader, counts, &detail) : -ENOMEM;

	intern_free(c.images);
	intern_free(c.places);
	intern_free(c.functions);
	map64_free(c.arc_keys);
	free(c.image_list);
	free(c.place_list);
	free(c.arcs);
	free(c.by_key);
	if (r) {
		call_counts_free(counts);
		return diag_fail(diag, -r, "%s",
				 *detail.text	? detail.text
				 : r == -ENOMEM ? "out of memory"
						: "there are too many calls for one report");
	}
	*ret = counts;
	return 0;
}

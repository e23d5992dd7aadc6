/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/calls/inclusive.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/query/query.h"
#include "util/num.h"

#define KEYS_MAX (1u << 23)
#define NO_ROW	 UINT32_MAX

/* What a row is of: equal keys are one row. A file is the number of its name, plus one. */
struct key {
	uint64_t start; /* NO_START: no function, or one without a symbol */
	uint32_t image; /* NO_IMAGE: what no image explains */
	uint32_t file, line, unused;
};

#define NO_START UINT64_MAX
#define NO_IMAGE UINT32_MAX

struct adding {
	struct rank *rank;
	const struct rank_options *options;
	const struct query *query;
	const struct stack_set *set;
	struct intern *images, *keys;
	struct map64 *rows; /* number of a key -> row */
	regex_t function;
	bool has_function;
	uint32_t *place_rows; /* of each place of the set; NO_ROW: none is wanted */

	/* Walking stacks: children of the set's nodes (0: none), how often each row is open. */
	uint32_t *first, *next, *active;
	/* Of the event at hand: samples of the stacks that end at each node and that go through it,
	 * and for each row those that it is on, and of these the ones that were taken in it; those
	 * that were taken in it and end in another, and the other way round. */
	uint64_t *ends, *through, *on, *own, *given, *gained;
	uint32_t *taken; /* row in which those that end at a node were taken */
};

static bool by_source(const struct adding *a)
{
	return a->options->by == RANK_FILE || a->options->by == RANK_LINE;
}

/* The part of a key that says where. line is 0 of functions without one. */
static int set_key(struct adding *a, const struct query_image *image, const char *file,
		   uint32_t line, struct key *key)
{
	uint32_t name;

	key->image = NO_IMAGE;
	if (image->id.kind == IMAGE_UNKNOWN) {
		key->start = NO_START;
		return 0;
	}
	int r = intern_add(a->images, &image->id, sizeof(image->id), &key->image);
	if (r || !by_source(a) || !file)
		return r;
	key->start = NO_START;
	key->line = a->options->by == RANK_LINE ? line : 0;
	r = intern_add(a->rank->names, file, strlen(file), &name);
	key->file = name + 1;
	return r;
}

/* By image and file the function does not matter. */
static uint64_t key_start(const struct adding *a, bool known, uint64_t start)
{
	bool matters = a->options->by == RANK_FUNCTION || a->options->by == RANK_LINE;

	return known && matters ? start : NO_START;
}

static int keep_rows(struct adding *a)
{
	struct rank *k = a->rank;
	uint32_t number;
	int r = 0;

	for (size_t i = 0; i < k->row_count && !r; i++) {
		const struct rank_row *row = &k->rows[i];
		struct key key = {.start = key_start(a, row->size, row->start)};

		r = set_key(a, row->image, row->file, row->line, &key);
		if (!r)
			r = intern_add(a->keys, &key, sizeof(key), &number);
		if (!r)
			r = map64_put(a->rows, number, i);
	}
	return r;
}

static int add_row(struct adding *a, const struct stack_place *place, const struct key *key,
		   uint32_t *ret)
{
	const struct stack_function *f = &a->set->functions[place->function];
	const struct query_image *image = &a->set->images[f->image];
	struct rank_row shown = {.image = image, .group = QUERY_NO_GROUP}, *row;
	uint64_t index;
	uint32_t number;
	int r = intern_add(a->keys, key, sizeof(*key), &number);

	if (r)
		return r;
	if (!map64_get(a->rows, number, &index)) {
		*ret = (uint32_t)index;
		return 0;
	}
	if (a->options->by == RANK_FUNCTION || a->options->by == RANK_LINE)
		shown.function = f->name;
	if (key->file)
		shown.file = intern_get(a->rank->names, key->file - 1, NULL);
	shown.line = key->line;
	*ret = (uint32_t)a->rank->row_count;
	r = rank_add_row(a->rank, a->query, &shown, &row);
	return r ? r : map64_put(a->rows, number, *ret);
}

/* The selection picks rows: a row's total is of all stacks, whatever else is on them. */
static bool is_wanted(const struct adding *a, const struct stack_frame *f)
{
	const struct stack_place *outer = &a->set->places[f->first_place];
	const struct stack_function *fn = &a->set->functions[outer->function];
	const struct query_image *image = &a->set->images[f->image];

	if (fn->kind == STACK_NOTE ||
	    !query_match_image(a->options->image, &image->id, image->path))
		return false;
	return !a->has_function ||
	       (fn->kind == STACK_CODE && !regexec(&a->function, fn->name, 0, NULL, 0));
}

static int place_frame(struct adding *a, const struct stack_frame *f)
{
	const struct stack_set *s = a->set;
	int r = 0;

	for (uint32_t i = f->first_place; i < f->first_place + f->place_count && !r; i++) {
		const struct stack_place *place = &s->places[i];
		const struct stack_function *fn = &s->functions[place->function];
		bool known = fn->kind == STACK_CODE && !fn->by_name;
		struct key key = {.start = key_start(a, known, fn->start)};

		r = set_key(a, &s->images[f->image], place->file, place->line, &key);
		if (!r)
			r = add_row(a, place, &key, &a->place_rows[i]);
	}
	return r;
}

/* Marks the frames of stacks that count: a set has others too, such as idle ones. */
static void find_counted(const struct stack_set *s, bool *nodes, bool *frames)
{
	for (size_t i = 0; i < s->count_count; i++)
		nodes[s->counts[i].node] = frames[s->counts[i].taken] = true;
	for (size_t i = s->node_count; i-- > 1;) {
		const struct stack_node *n = &s->nodes[i];

		if (!nodes[i])
			continue;
		nodes[n->parent] = true;
		if (n->frame != STACK_NO_FRAME)
			frames[n->frame] = true;
	}
}

/* The rows of all places; new ones for what has no samples. */
static int place_all(struct adding *a)
{
	const struct stack_set *s = a->set;
	bool *nodes = calloc(s->node_count, sizeof(*nodes));
	bool *frames = calloc(s->frame_count + 1, sizeof(*frames));
	int r = nodes && frames ? 0 : -ENOMEM;

	if (!r)
		find_counted(s, nodes, frames);
	for (size_t i = 0; i < s->place_count; i++)
		a->place_rows[i] = NO_ROW;
	for (size_t i = 0; i < s->frame_count && !r; i++)
		if (frames[i] && s->frames[i].place_count && is_wanted(a, &s->frames[i]))
			r = place_frame(a, &s->frames[i]);
	free(nodes);
	free(frames);
	return r;
}

/* A row that is under way already has the stacks of the outer one. */
static void enter(struct adding *a, uint32_t node, int step)
{
	const struct stack_set *s = a->set;
	const struct stack_frame *f;

	if (s->nodes[node].frame == STACK_NO_FRAME)
		return;
	f = &s->frames[s->nodes[node].frame];
	for (uint32_t i = f->first_place; i < f->first_place + f->place_count; i++) {
		uint32_t row = a->place_rows[i];

		if (row == NO_ROW)
			continue;
		if (step < 0)
			a->active[row]--;
		else if (!a->active[row]++)
			a->on[row] = num_add_sat(a->on[row], a->through[node]);
	}
	if (step < 0 || !a->ends[node] || a->taken[node] == NO_ROW || !a->active[a->taken[node]])
		return;
	a->own[a->taken[node]] = num_add_sat(a->own[a->taken[node]], a->ends[node]);
}

static void walk(struct adding *a)
{
	const struct stack_node *nodes = a->set->nodes;
	uint32_t at = a->first[0];

	while (at) {
		enter(a, at, 1);
		if (a->first[at]) {
			at = a->first[at];
			continue;
		}
		while (at && !a->next[at]) {
			enter(a, at, -1);
			at = nodes[at].parent;
		}
		if (at) {
			enter(a, at, -1);
			at = a->next[at];
		}
	}
}

static uint32_t innermost_row(const struct adding *a, uint32_t frame)
{
	const struct stack_frame *f;

	if (frame == STACK_NO_FRAME)
		return NO_ROW;
	f = &a->set->frames[frame];
	return a->place_rows[f->first_place + f->place_count - 1];
}

/* An interpreter's samples are its own, and on stacks those of what it ran. */
static void pass_on(struct adding *a, const struct stack_count *c)
{
	uint32_t from = innermost_row(a, c->taken);
	uint32_t to = innermost_row(a, a->set->nodes[c->node].frame);

	if (from == to)
		return;
	if (from != NO_ROW)
		a->given[from] = num_add_sat(a->given[from], c->count);
	if (to != NO_ROW)
		a->gained[to] = num_add_sat(a->gained[to], c->count);
}

static void count_stacks(struct adding *a, size_t event)
{
	const struct stack_set *s = a->set;

	memset(a->ends, 0, s->node_count * sizeof(*a->ends));
	memset(a->on, 0, a->rank->row_count * sizeof(*a->on));
	memset(a->own, 0, a->rank->row_count * sizeof(*a->own));
	memset(a->given, 0, a->rank->row_count * sizeof(*a->given));
	memset(a->gained, 0, a->rank->row_count * sizeof(*a->gained));
	for (size_t i = 0; i < s->count_count; i++) {
		const struct stack_count *c = &s->counts[i];

		if (c->event != event)
			continue;
		a->ends[c->node] = num_add_sat(a->ends[c->node], c->count);
		a->taken[c->node] = innermost_row(a, c->taken);
		pass_on(a, c);
	}
	memcpy(a->through, a->ends, s->node_count * sizeof(*a->through));
	for (size_t i = s->node_count; i-- > 1;) {
		uint64_t *parent = &a->through[s->nodes[i].parent];

		*parent = num_add_sat(*parent, a->through[i]);
	}
	walk(a);
}

/* By file and line, chance may make it more than everything: stacks have what functions have. */
static uint64_t total(uint64_t self, uint64_t called, uint64_t samples)
{
	return self >= samples || called < samples - self ? self + called : samples;
}

/* Rows that were made for stacks, of which no sample is left. */
static void drop_empty(struct rank *k, size_t events)
{
	size_t n = 0;

	for (size_t i = 0; i < k->row_count; i++) {
		bool empty = true;

		for (size_t e = 0; e < events; e++)
			empty &= !k->rows[i].inclusive[e];
		if (!empty)
			k->rows[n++] = k->rows[i];
	}
	k->row_count = n;
}

static int count_all(struct adding *a)
{
	const struct stack_set *s = a->set;
	struct rank *k = a->rank;

	for (size_t i = 0; i < k->row_count; i++) {
		k->rows[i].inclusive =
			arena_alloc(k->memory, 2 * a->query->event_count * sizeof(uint64_t));
		if (!k->rows[i].inclusive)
			return -ENOMEM;
		if (!by_source(a))
			k->rows[i].own = k->rows[i].inclusive + a->query->event_count;
	}
	for (size_t i = s->node_count; i-- > 1;) {
		a->next[i] = a->first[s->nodes[i].parent];
		a->first[s->nodes[i].parent] = (uint32_t)i;
	}
	for (size_t e = 0; e < a->query->event_count; e++) {
		count_stacks(a, e);
		for (size_t i = 0; i < k->row_count; i++) {
			struct rank_row *row = &k->rows[i];
			uint64_t given =
				a->given[i] < row->counts[e] ? a->given[i] : row->counts[e];

			row->inclusive[e] =
				total(row->counts[e], a->on[i] - a->own[i], k->totals[e]);
			if (row->own)
				row->own[e] = num_add_sat(row->counts[e] - given, a->gained[i]);
		}
	}
	drop_empty(k, a->query->event_count);
	return 0;
}

static int add_all(struct adding *a)
{
	size_t nodes = a->set->node_count, rows;

	a->images = intern_new(KEYS_MAX);
	a->keys = intern_new(KEYS_MAX);
	a->rows = map64_new(KEYS_MAX);
	a->place_rows = calloc(a->set->place_count + 1, sizeof(*a->place_rows));
	if (!a->images || !a->keys || !a->rows || !a->place_rows)
		return -ENOMEM;
	int r = keep_rows(a);
	if (!r)
		r = place_all(a);
	if (r)
		return r;
	rows = a->rank->row_count + 1;
	a->first = calloc(nodes, sizeof(*a->first));
	a->next = calloc(nodes, sizeof(*a->next));
	a->through = calloc(nodes, sizeof(*a->through));
	a->active = calloc(rows, sizeof(*a->active));
	a->on = calloc(rows, sizeof(*a->on));
	a->own = calloc(rows, sizeof(*a->own));
	a->given = calloc(rows, sizeof(*a->given));
	a->gained = calloc(rows, sizeof(*a->gained));
	a->ends = calloc(nodes, sizeof(*a->ends));
	a->taken = calloc(nodes, sizeof(*a->taken));
	if (!a->first || !a->next || !a->through || !a->active || !a->on || !a->own || !a->given ||
	    !a->gained || !a->ends || !a->taken)
		return -ENOMEM;
	return count_all(a);
}

static void release(struct adding *a)
{
	intern_free(a->images);
	intern_free(a->keys);
	map64_free(a->rows);
	free(a->place_rows);
	free(a->first);
	free(a->next);
	free(a->through);
	free(a->active);
	free(a->on);
	free(a->own);
	free(a->given);
	free(a->gained);
	free(a->ends);
	free(a->taken);
	if (a->has_function)
		regfree(&a->function);
}

bool inclusive_is_known(enum rank_by by)
{
	return by == RANK_FUNCTION || by == RANK_IMAGE || by == RANK_FILE || by == RANK_LINE;
}

int inclusive_add(struct rank *k, const struct rank_options *options, const struct stack_set *s,
		  struct diag *diag)
{
	struct adding a = {.rank = k, .options = options, .query = s->query, .set = s};
	int r;

	if (options->function) {
		r = pattern_compile(options->function, &a.function, diag);
		if (r)
			return r;
		a.has_function = true;
	}
	r = add_all(&a);
	release(&a);
	if (r)
		return diag_fail(diag, -r, "%s",
				 r == -ENOSPC ? "the report has too many rows; select less"
					      : "out of memory");
	return 0;
}

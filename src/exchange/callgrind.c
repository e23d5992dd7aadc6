/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "config.h"
#include "exchange/stacks.h"
#include "util/array.h"
#include "util/hash.h"
#include "util/num.h"
#include "util/quote.h"

/*
 * callgrind's profile format (valgrind's manual, "Callgrind Format Specification"): under each
 * function its own cost by line, and its calls by line and callee with what they cost inclusively.
 * A call that is on one stack several times, by recursion, counts once; and as readers add up the
 * calls of a function, what it does when it is under way already is, as valgrind has it, of a
 * function of its own, NAME'2.
 */

#define ENTRIES_MAX (64u << 20)
#define NO_FUNCTION UINT32_MAX
#define AGAIN	    (1u << 30) /* in the number of a function: it is under way already */

/* Of an entry: padding would be part of a key. */
struct entry_key {
	uint32_t function, callee; /* callee NO_FUNCTION: own cost */
	uint32_t file, line;	   /* of the cost; file: number in strings */
};

struct entries {
	const struct stack_set *set;
	struct intern *keys, *strings;
	uint64_t *costs;  /* for each entry, for each event */
	uint64_t *counts; /* samples of an entry */
	uint32_t *stamps; /* the last stack that has been counted in an entry */
	uint32_t *way;	  /* the last stack on which a function was met */
	size_t room;
};

static int make_room(struct entries *e, uint32_t number)
{
	size_t events = e->set->query->event_count, room = e->room, others = e->room;
	size_t needed = (size_t)number + 1;

	if (array_reserve_zeroed(&e->costs, needed, &room, events * sizeof(*e->costs), 1024) ||
	    array_reserve_zeroed(&e->counts, needed, &others, sizeof(*e->counts), 1024))
		return -ENOMEM;
	return array_reserve_zeroed(&e->stamps, needed, &e->room, sizeof(*e->stamps), 1024);
}

/* Adds a stack's cost to what a place costs by itself, or by calling; stamp: the stack's number. */
static int add_cost(struct entries *e, const struct stack_place *place, uint32_t function,
		    uint32_t callee, const struct stack_count *c, uint32_t stamp)
{
	struct entry_key key = {function, callee, 0, place->line};
	size_t events = e->set->query->event_count;
	const char *file = place->file ? place->file : "";
	uint32_t number;
	uint64_t *cost;
	int r = intern_add(e->strings, file, strlen(file), &key.file);

	if (!r)
		r = intern_add(e->keys, &key, sizeof(key), &number);
	if (!r)
		r = make_room(e, number);
	if (r)
		return r;
	if (e->stamps[number] == stamp)
		return 0;
	e->stamps[number] = stamp;
	cost = &e->costs[number * events + c->event];
	*cost = num_add_sat(*cost, c->count);
	e->counts[number] = num_add_sat(e->counts[number], c->count);
	return 0;
}

/* The function at a level of a stack, which are asked for one after the other. */
static uint32_t function_at(struct entries *e, const struct stack_levels *levels, size_t level,
			    uint32_t stamp)
{
	uint32_t function;

	if (level == levels->count)
		return NO_FUNCTION;
	function = e->set->places[levels->list[level].place].function;
	if (e->way[function] == stamp)
		return function | AGAIN;
	e->way[function] = stamp;
	return function;
}

static int add_stacks(struct entries *e)
{
	const struct stack_set *s = e->set;
	struct stack_levels levels = {0};

	e->way = calloc(s->function_count + 1, sizeof(*e->way));
	int r = e->way ? 0 : -ENOMEM;
	for (size_t i = 0; i < s->count_count && !r; i++) {
		uint32_t stamp = (uint32_t)i + 1, function, callee;

		r = stack_levels_read(&levels, s, s->counts[i].node);
		callee = r ? NO_FUNCTION : function_at(e, &levels, 0, stamp);
		for (size_t k = 0; k < levels.count && !r; k++) {
			function = callee;
			callee = function_at(e, &levels, k + 1, stamp);
			r = add_cost(e, &s->places[levels.list[k].place], function, callee,
				     &s->counts[i], stamp);
		}
	}
	free(levels.list);
	return r;
}

static const struct entry_key *key_at(const struct entries *e, uint32_t number)
{
	size_t size;

	return intern_get(e->keys, number, &size);
}

static int compare_entries(const void *a, const void *b, void *arg)
{
	const struct entry_key *x = key_at(arg, *(const uint32_t *)a);
	const struct entry_key *y = key_at(arg, *(const uint32_t *)b);

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->callee != y->callee) /* its own cost first */
		return x->callee + 1 < y->callee + 1 ? -1 : 1;
	return NUM_ORDER(x->file, y->file) ?: NUM_ORDER(x->line, y->line);
}

/* "(1)" at the beginning would stand for a name from before. */
static void put_name(struct buf *b, const char *what, const char *name, const char *suffix)
{
	bool compressed = name[0] == '(' && isdigit((unsigned char)name[1]);

	buf_printf(b, "%s=%s", what, !*name ? "???" : compressed ? "\\x28" : "");
	quote_plain(b, name + compressed, strlen(name) - compressed);
	buf_printf(b, "%s\n", suffix);
}

static void put_values(struct buf *b, const struct stack_set *s, size_t event, uint64_t samples)
{
	buf_printf(b, " %" PRIu64 " %.0f", samples, (double)samples * stacks_units(s, event));
}

static void put_costs(struct buf *b, const struct entries *e, uint32_t number)
{
	size_t events = e->set->query->event_count;

	buf_printf(b, "%u", key_at(e, number)->line);
	for (size_t i = 0; i < events; i++)
		put_values(b, e->set, i, e->costs[number * events + i]);
	buf_append_u8(b, '\n');
}

/* The file in which a function is: where most of its lines are is not known, so the first. */
static const char **find_files(const struct stack_set *s)
{
	const char **files = calloc(s->function_count + 1, sizeof(*files));

	for (size_t i = 0; i < s->place_count && files; i++)
		if (s->places[i].file && !files[s->places[i].function])
			files[s->places[i].function] = s->places[i].file;
	return files;
}

static void put_function(struct buf *b, const struct stack_set *s, const char *const *files,
			 uint32_t function, const char *const tags[3])
{
	uint32_t number = function & ~AGAIN;
	const struct stack_function *f = &s->functions[number];

	put_name(b, tags[0], s->images[f->image].path, "");
	put_name(b, tags[1], files[number] ? files[number] : "", "");
	put_name(b, tags[2], f->name, function & AGAIN ? "'2" : "");
}

static int put_entries(struct buf *b, const struct entries *e)
{
	static const char *const own[] = {"ob", "fl", "fn"}, *const called[] = {"cob", "cfi",
										"cfn"};
	uint32_t count = intern_count(e->keys), function = NO_FUNCTION;
	uint32_t *order = calloc(count + 1u, sizeof(*order));
	const char **files = find_files(e->set);

	for (uint32_t i = 0; i < count && order; i++)
		order[i] = i;
	if (!order || !files)
		b->error = -ENOMEM;
	else
		qsort_r(order, count, sizeof(*order), compare_entries, (void *)e);
	for (uint32_t i = 0; i < count && !b->error; i++) {
		const struct entry_key *key = key_at(e, order[i]);

		if (key->function != function) {
			buf_append_u8(b, '\n');
			put_function(b, e->set, files, key->function, own);
			function = key->function;
		}
		if (key->callee != NO_FUNCTION) {
			put_function(b, e->set, files, key->callee, called);
			buf_printf(b, "calls=%" PRIu64 " 0\n", e->counts[order[i]]);
		}
		put_costs(b, e, order[i]);
	}
	free(order);
	free(files);
	return b->error;
}

/* A name here is letters, digits and "_". */
static void put_event(struct buf *b, const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_";

	buf_append_u8(b, ' ');
	for (; *name; name++)
		buf_append_u8(b, strchr(allowed, *name) ? (uint8_t)*name : '_');
}

static void put_head(struct buf *b, const struct stack_set *s, const struct stacks_about *about)
{
	char samples[STACKS_NAME_MAX], units[STACKS_NAME_MAX], text[512];

	stacks_describe(s, text, sizeof(text));
	buf_printf(b, "# callgrind format\nversion: 1\ncreator: culprit " CULPRIT_VERSION "\n");
	put_name(b, "# profile", about->title, "");
	buf_printf(b, "desc: Samples: %s\npositions: line\nevents:", text);
	for (size_t i = 0; i < s->query->event_count; i++) {
		stacks_event_names(s, i, samples, units);
		put_event(b, samples);
		put_event(b, units);
	}
	buf_printf(b, "\nsummary:");
	for (size_t i = 0; i < s->query->event_count; i++) {
		uint64_t sum = 0;

		for (size_t k = 0; k < s->count_count; k++)
			sum += s->counts[k].event == i ? s->counts[k].count : 0;
		put_values(b, s, i, sum);
	}
	buf_append_u8(b, '\n');
}

int stacks_write_callgrind(const struct stack_set *s, const struct stacks_about *about,
			   struct buf *out)
{
	struct entries e = {
		.set = s, .keys = intern_new(ENTRIES_MAX), .strings = intern_new(ENTRIES_MAX)};
	int r = e.keys && e.strings ? add_stacks(&e) : -ENOMEM;

	put_head(out, s, about);
	if (!r)
		r = put_entries(out, &e);
	intern_free(e.keys);
	intern_free(e.strings);
	free(e.costs);
	free(e.counts);
	free(e.stamps);
	free(e.way);
	if (r && !out->error)
		out->error = r;
	return out->error;
}

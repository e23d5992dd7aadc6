/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/edges/edge_windows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "db/pairs.h"
#include "db/touches.h"
#include "util/hash.h"

#define LONGEST	   15 /* bytes of an instruction */
#define CODE_SHIFT 8  /* of EDGE_PAIRS_OF_CODE */

struct edge_windows {
	struct edge_windows_config config;
	uint32_t batch_number, event;
	uint32_t subject;
	struct map64 *pairs; /* of the batch: how many, by image and code */
	uint32_t pair_count;
	uint64_t key; /* of the hashes of addresses; never told */
	struct edge_windows_counters counters;
};

struct edge_windows *edge_windows_new(const struct edge_windows_config *config)
{
	struct edge_windows *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->config = *config;
	w->pairs = map64_new(EDGE_PAIRS_MAX);
	if (!w->pairs || getrandom(&w->key, sizeof(w->key), GRND_NONBLOCK) != sizeof(w->key) ||
	    edge_windows_begin_batch(w)) {
		edge_windows_free(w);
		return NULL;
	}
	return w;
}

void edge_windows_free(struct edge_windows *w)
{
	if (!w)
		return;
	map64_free(w->pairs);
	free(w);
}

int edge_windows_begin_batch(struct edge_windows *w)
{
	static const struct db_event event = {EDGE_EVENT, 0, DB_EVENT_USER};

	w->batch_number++;
	w->pair_count = 0;
	map64_clear(w->pairs);
	int r = db_batch_subject(w->config.batch, "", 0, &w->subject);
	if (r)
		return r;
	return db_batch_event(w->config.batch, &event, &w->event);
}

void edge_windows_read_counters(const struct edge_windows *w, struct edge_windows_counters *ret)
{
	*ret = w->counters;
}

/* What a place is in the database. */
struct spot {
	uint32_t image;
	uint64_t offset;
};

/* 0; -ENOENT: no file, or no code of it; or an error of the batch. */
static int find_spot(struct edge_windows *w, struct wire_place place, struct spot *ret)
{
	struct edge_file *f = edge_code_file(w->config.code, place.slot);
	int r;

	if (!f || !edge_file_offset(f, place.offset, &ret->offset))
		return -ENOENT;
	if (f->batch_number != w->batch_number) {
		r = db_batch_image(w->config.batch, &f->id, f->path, f->path_size, &f->image);
		if (r)
			return r;
		f->batch_number = w->batch_number;
	}
	ret->image = f->image;
	return 0;
}

int edge_windows_find(struct edge_windows *w, struct wire_place place, uint32_t *ret_image,
		      uint64_t *ret_offset, const char **ret_path)
{
	struct spot spot;
	int r = find_spot(w, place, &spot);

	if (r)
		return r;
	*ret_image = spot.image;
	*ret_offset = spot.offset;
	*ret_path = edge_code_file(w->config.code, place.slot)->path;
	return 0;
}

/* from NULL: to is a window's start; to NULL: from is its end. */
static int add_edge(struct edge_windows *w, const struct wire_place *from,
		    const struct wire_place *to, uint64_t count)
{
	struct db_edge e = {.event = w->event,
			    .evidence = DB_EVIDENCE_WINDOWS,
			    .from = DB_EDGE_START,
			    .to = DB_EDGE_END};
	struct spot source, target;
	int r = find_spot(w, from ? *from : *to, &source);

	if (!r)
		r = find_spot(w, to ? *to : *from, &target);
	if (r)
		return r;
	e.image = source.image;
	e.to_image = target.image;
	if (from)
		e.from = source.offset;
	if (to)
		e.to = target.offset;
	return db_batch_edge(w->config.batch, &e, count, 1);
}

static int add_touch(struct edge_windows *w, const struct wire_touch *touch, uint32_t process)
{
	uint64_t line = touch->line, page = line / DB_TOUCH_PAGE_LINES;
	uint64_t hash = hash_u64(hash_u64(page ^ w->key) ^ process);
	struct spot at;
	int r = find_spot(w, touch->at, &at);

	if (r)
		return r == -ENOENT ? 0 : r; /* in code that has no file: nobody could be told */
	return db_batch_touch(w->config.batch, at.image, at.offset, db_touch_place(hash, line), 1);
}

/* Whether what failed may be tried again: in a new batch, which has other numbers. */
static bool has_new_room(struct edge_windows *w, int error)
{
	return error == -ENOSPC && w->config.make_room(w->config.arg) == 0;
}

static int store_edge(struct edge_windows *w, const struct wire_place *from,
		      const struct wire_place *to, uint64_t count)
{
	int r = add_edge(w, from, to, count);

	return has_new_room(w, r) ? add_edge(w, from, to, count) : r;
}

static int store_touch(struct edge_windows *w, const struct wire_touch *touch, uint32_t process)
{
	int r = add_touch(w, touch, process);

	return has_new_room(w, r) ? add_touch(w, touch, process) : r;
}

static bool same_edge(const struct wire_edge *a, const struct wire_edge *b)
{
	return a->from == b->from && a->to == b->to && a->from_slot == b->from_slot &&
	       a->to_slot == b->to_slot;
}

/* The passes over edge i in the window; 0 when an earlier one is the same edge. */
static uint64_t count_passes(const struct wire_window *window, unsigned i)
{
	uint64_t count = 1;

	for (unsigned k = 0; k < i; k++)
		if (same_edge(&window->edge[k], &window->edge[i]))
			return 0;
	for (unsigned k = i + 1; k < window->edge_count; k++)
		count += same_edge(&window->edge[k], &window->edge[i]);
	return count;
}

static bool is_same_page(const struct wire_touch *a, const struct wire_touch *b)
{
	return a->at.slot == b->at.slot && a->at.offset == b->at.offset &&
	       a->line / DB_TOUCH_PAGE_LINES == b->line / DB_TOUCH_PAGE_LINES;
}

/* Each page of a load once: how often windows come to one again tells how many there are. */
static int store_touches(struct edge_windows *w, const struct wire_window *window)
{
	const struct wire_touch *t = window->touch;
	int r = 0;

	for (uint32_t i = 0, k; i < window->touch_count && !r; i++) {
		for (k = 0; !is_same_page(&t[k], &t[i]);)
			k++;
		if (k == i)
			r = store_touch(w, &t[i], window->process);
	}
	return r;
}

static int store(struct edge_windows *w, const struct wire_window *window)
{
	int r = store_edge(w, NULL, &window->start, 1);

	for (unsigned i = 0; i < window->edge_count && !r; i++) {
		const struct wire_edge *e = &window->edge[i];
		struct wire_place from = {e->from_slot, e->from}, to = {e->to_slot, e->to};
		uint64_t count = count_passes(window, i);

		if (count)
			r = store_edge(w, &from, &to, count);
	}
	if (!r)
		r = store_edge(w, &window->end, NULL, 1);
	return r ? r : store_touches(w, window);
}

/* Whether straight-line code can lead from one place to the other. */
static bool goes_on(struct wire_place from, struct wire_place to)
{
	return from.slot == to.slot && to.offset >= from.offset &&
	       to.offset - from.offset <= WIRE_WINDOW_INSTRUCTIONS * LONGEST;
}

/* Whether every place is one of a known file, and each edge begins where code before it leads. */
static bool holds_together(struct edge_windows *w, const struct wire_window *window)
{
	struct wire_place at = window->start;
	uint64_t unused;

	for (unsigned i = 0; i <= window->edge_count; i++) {
		const struct wire_edge *e = &window->edge[i];
		bool is_last = i == window->edge_count;
		struct wire_place next =
			is_last ? window->end : (struct wire_place){e->from_slot, e->from};
		const struct edge_file *f = edge_code_file(w->config.code, at.slot);

		if (!f || !goes_on(at, next) || !edge_file_offset(f, at.offset, &unused) ||
		    !edge_file_offset(f, next.offset, &unused))
			return false;
		if (!is_last)
			at = (struct wire_place){e->to_slot, e->to};
	}
	return true;
}

/* Where the interpreter knew no file the window ends before the branch that led there, unless the
 * file has become known. */
static void place_end(struct wire_window *window, struct wire_place place)
{
	struct wire_edge *last = &window->edge[window->edge_count - 1];

	if (window->end.slot || !window->edge_count || last->to_slot)
		return;
	if (place.slot && place.slot <= UINT16_MAX) {
		last->to_slot = (uint16_t)place.slot;
		last->to = place.offset;
		window->end = place;
		return;
	}
	window->end = (struct wire_place){last->from_slot, last->from};
	window->edge_count--;
}

void edge_windows_take(struct edge_windows *w, const struct wire_window *window,
		       struct wire_place unplaced)
{
	struct wire_window copy = {0};

	if (window->edge_count > WIRE_WINDOW_INSTRUCTIONS ||
	    window->touch_count > WIRE_WINDOW_TOUCHES) {
		w->counters.refused++;
		return;
	}
	memcpy(&copy, window,
	       offsetof(struct wire_window, edge) + window->edge_count * sizeof(copy.edge[0]));
	if (!copy.instructions) {
		w->counters.empty++;
		return;
	}
	place_end(&copy, unplaced);
	if (!holds_together(w, &copy)) {
		w->counters.refused++;
		return;
	}
	edge_code_use(w->config.code, copy.start);
	for (unsigned i = 0; i < copy.edge_count; i++)
		edge_code_use(w->config.code,
			      (struct wire_place){copy.edge[i].to_slot, copy.edge[i].to});
	int r = store(w, &copy);
	if (r) {
		w->counters.lost_memory += r == -ENOMEM;
		w->counters.lost_storage += r != -ENOMEM;
		return;
	}
	w->counters.windows++;
	w->counters.outcomes += copy.edge_count;
}

/* Whether another pair of that code has room in the batch; counts it. */
static bool has_room(struct edge_windows *w, const struct spot *at)
{
	const uint64_t code = (uint64_t)at->image << 40 | at->offset >> CODE_SHIFT;
	uint64_t count = 0;

	map64_get(w->pairs, code, &count);
	if (count >= EDGE_PAIRS_OF_CODE || w->pair_count >= EDGE_PAIRS_MAX ||
	    map64_put(w->pairs, code, count + 1))
		return false;
	w->pair_count++;
	return true;
}

/* 1: stored; 0: left out; an error of the batch. */
static int add_pair(struct edge_windows *w, const struct wire_pair *pair)
{
	const uint64_t second = pair->at.offset + (uint64_t)pair->distance;
	const struct wire_place there = {pair->at.slot, (uint32_t)second};
	struct db_raw raw = {.event = w->event,
			     .subject = w->subject,
			     .target_image = DB_RAW_NO_TARGET,
			     .form.kind = DB_RAW_PAIR};
	int32_t changes[DB_PAIR_REGISTERS];
	struct spot from, to;
	int r = find_spot(w, pair->at, &from);

	if (r || !has_room(w, &from))
		return r == -ENOENT ? 0 : r;
	raw.image = from.image;
	raw.offset = from.offset;
	/* Elsewhere in the file, or in another one, it is no second of a loop's. */
	if (!pair->missed && second == there.offset && !find_spot(w, there, &to)) {
		raw.target_image = to.image;
		raw.target = to.offset;
		for (unsigned i = 0; i < DB_PAIR_REGISTERS; i++)
			changes[i] = db_pair_change(pair->before[i], pair->after[i]);
		db_pair_put(&raw, changes);
	}
	return db_batch_raw(w->config.batch, &raw, 1) ?: 1;
}

void edge_windows_take_pair(struct edge_windows *w, const struct wire_pair *pair)
{
	int r = add_pair(w, pair);

	if (has_new_room(w, r))
		r = add_pair(w, pair);
	w->counters.pairs += r > 0;
	w->counters.pairs_left += r == 0;
	w->counters.lost_memory += r == -ENOMEM;
	w->counters.lost_storage += r < 0 && r != -ENOMEM;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/inst/tally.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "db/instsamples.h"
#include "util/array.h"
#include "util/num.h"

#define MEMORY_MAX ((size_t)2 << 30)
#define IMAGES_MAX (1u << 18)
#define EXACT	   8 /* latencies below have a bucket each */
#define EXACT_BITS 3
#define PARTS_BITS 2 /* buckets of each power of two */
#define NO_ROW	   UINT32_MAX

struct row_key {
	uint64_t offset;
	uint32_t image, event;
};

int inst_tally_init(struct inst_tally *t)
{
	t->memory = arena_new(MEMORY_MAX);
	t->row_keys = intern_new(INST_TALLY_ROWS_MAX);
	t->image_keys = intern_new(IMAGES_MAX);
	t->event_keys = intern_new(QUERY_EVENTS_MAX);
	t->last_row = NO_ROW;
	return t->memory && t->row_keys && t->image_keys && t->event_keys ? 0 : -ENOMEM;
}

void inst_tally_free(struct inst_tally *t)
{
	arena_free(t->memory);
	intern_free(t->row_keys);
	intern_free(t->image_keys);
	intern_free(t->event_keys);
	free(t->rows);
	free(t->images);
	free(t->events);
}

static int find_image(struct inst_tally *t, const struct db_inst_item *item, uint32_t *ret)
{
	const char *path;
	int r = intern_add(t->image_keys, item->image, sizeof(*item->image), ret);

	if (r || *ret < t->image_count)
		return r;
	path = arena_strndup(t->memory, item->path.size ? item->path.data : "", item->path.size);
	if (!path || array_grow(&t->images, t->image_count, &t->image_room, sizeof(*t->images), 16))
		return -ENOMEM;
	t->images[t->image_count++] = (struct inst_image){*item->image, path};
	return 0;
}

static int find_event(struct inst_tally *t, const struct db_inst_item *item, uint32_t *ret)
{
	const char *name = item->event->name;
	int r = intern_add(t->event_keys, name, strlen(name), ret);

	if (r || *ret < t->event_count)
		return r;
	if (array_grow(&t->events, t->event_count, &t->event_room, sizeof(*t->events), 16))
		return -ENOMEM;
	t->events[t->event_count++] =
		(struct inst_event_total){.name = intern_get(t->event_keys, *ret, NULL)};
	return 0;
}

/* Samples of an instruction come one after the other. -ENOSPC: there are too many others. */
static int find_row(struct inst_tally *t, const struct db_inst_item *item, struct inst_row **ret)
{
	struct row_key key = {.offset = item->offset};
	uint32_t index;
	int r = find_image(t, item, &key.image);

	if (!r)
		r = find_event(t, item, &key.event);
	if (r)
		return r;
	*ret = t->last_row == NO_ROW ? NULL : &t->rows[t->last_row];
	if (*ret && (*ret)->offset == key.offset && (*ret)->image == key.image &&
	    (*ret)->event == key.event)
		return 0;
	r = intern_add(t->row_keys, &key, sizeof(key), &index);
	if (!r && index == t->row_count)
		r = array_grow(&t->rows, t->row_count, &t->row_room, sizeof(*t->rows), 256);
	if (r)
		return r;
	if (index == t->row_count)
		t->rows[t->row_count++] = (struct inst_row){
			.image = key.image, .event = key.event, .offset = key.offset};
	t->last_row = index;
	*ret = &t->rows[index];
	return 0;
}

static unsigned bucket_of(uint32_t cycles)
{
	unsigned bits;

	if (cycles < EXACT)
		return cycles;
	bits = 31 - (unsigned)__builtin_clz(cycles);
	return EXACT + (bits - EXACT_BITS) * (1 << PARTS_BITS) +
	       (cycles >> (bits - PARTS_BITS) & ((1 << PARTS_BITS) - 1));
}

/* The middle of a bucket. */
static uint32_t cycles_of(unsigned bucket)
{
	unsigned bits = (bucket - EXACT) / (1 << PARTS_BITS) + EXACT_BITS;
	uint32_t part = (bucket - EXACT) % (1 << PARTS_BITS), step;

	if (bucket < EXACT)
		return bucket;
	step = 1u << (bits - PARTS_BITS);
	return (1u << bits) + part * step + step / 2;
}

_Static_assert(EXACT + (32 - EXACT_BITS) * (1 << PARTS_BITS) <= INST_BUCKETS, "buckets");

static struct inst_latency *latency_new(struct inst_tally *t)
{
	struct inst_latency *l = arena_alloc(t->memory, sizeof(*l));

	if (l && t->has_buckets)
		l->buckets = arena_alloc(t->memory, INST_BUCKETS * sizeof(*l->buckets));
	if (!l || (t->has_buckets && !l->buckets))
		return NULL;
	l->least = UINT32_MAX;
	return l;
}

static int add_latency(struct inst_tally *t, struct inst_row *row, unsigned latency,
		       uint32_t cycles, const struct db_inst_item *item)
{
	struct inst_latency *l = row->latencies[latency];

	if (!l)
		l = row->latencies[latency] = latency_new(t);
	if (!l)
		return -ENOMEM;
	l->count += item->count;
	l->sum = num_add_sat(l->sum, num_mul_sat(item->count, cycles));
	l->squares += (double)item->count * cycles * cycles;
	l->units += (double)item->count * (double)item->event->period * cycles;
	l->least = cycles < l->least ? cycles : l->least;
	l->most = cycles > l->most ? cycles : l->most;
	if (l->buckets)
		l->buckets[bucket_of(cycles)] += item->count;
	t->events[row->event].tells[latency] |= cycles > 0;
	return 0;
}

static void add_events(struct inst_row *row, uint32_t events, double units,
		       const struct db_inst_item *item)
{
	for (uint32_t left = item->form.known[0]; left; left &= left - 1) {
		unsigned event = (unsigned)__builtin_ctz(left);

		row->known[event] += item->count;
		if (!(events >> event & 1))
			continue;
		row->happened[event] += item->count;
		row->happened_units[event] += units;
	}
}

/* Of a pair the first half: what its halves say together is for others. */
static int add(struct inst_tally *t, struct inst_row *row, const struct db_inst_item *item)
{
	double units = (double)item->count * (double)item->event->period;
	unsigned at = 0;
	int r = 0;

	row->samples += item->count;
	row->units += units;
	t->samples += item->count;
	t->events[row->event].samples += item->count;
	t->events[row->event].known |= item->form.known[0];
	for (uint64_t left = item->form.fields; left && !r; left &= left - 1, at++) {
		unsigned field = (unsigned)__builtin_ctzll(left);

		if (field == INST_EVENTS)
			add_events(row, item->values[at], units, item);
		else if (inst_latency_name(field))
			r = add_latency(t, row, field - INST_LATENCY_FIRST, item->values[at], item);
	}
	return r;
}

int inst_tally_add(void *arg, const char *epoch, const struct db_inst_item *item)
{
	struct inst_tally *t = arg;
	struct inst_row *row;

	(void)epoch;
	if (t->image && (memcmp(t->image, item->image, sizeof(*t->image)) != 0 ||
			 item->offset - t->start >= t->size))
		return 0;
	int r = find_row(t, item, &row);
	if (r == -ENOSPC) {
		t->refused += item->count;
		return 0;
	}
	return r ? r : add(t, row, item);
}

static int compare_rows(const void *x, const void *y)
{
	const struct inst_row *a = x, *b = y;

	return NUM_ORDER(a->image, b->image)
		       ?: NUM_ORDER(a->offset, b->offset)
		       ?: NUM_ORDER(a->event, b->event);
}

void inst_tally_sort(struct inst_tally *t)
{
	array_sort(t->rows, t->row_count, sizeof(*t->rows), compare_rows);
	t->last_row = NO_ROW;
}

uint32_t inst_latency_quantile(const struct inst_latency *l, double share)
{
	uint64_t seen = 0;
	uint32_t cycles;

	if (!l->buckets)
		return 0;
	for (unsigned i = 0; i < INST_BUCKETS; i++) {
		seen += l->buckets[i];
		if (!seen || (double)seen < share * (double)l->count)
			continue;
		cycles = cycles_of(i);
		return cycles < l->least ? l->least : cycles > l->most ? l->most : cycles;
	}
	return 0;
}

struct inst_share inst_share_of(uint64_t k, uint64_t n)
{
	double p = n ? (double)k / (double)n : 0, size = (double)n, middle, half;

	if (!n)
		return (struct inst_share){0, 0, 1};
	/* One standard deviation: 68%. */
	middle = (p + 1 / (2 * size)) / (1 + 1 / size);
	half = sqrt(p * (1 - p) / size + 1 / (4 * size * size)) / (1 + 1 / size);
	return (struct inst_share){p, fmax(0, middle - half), fmin(1, middle + half)};
}

struct inst_share inst_count_of(uint64_t k, double units)
{
	double off = k ? units / sqrt((double)k) : 0;

	return (struct inst_share){units, units - off, units + off};
}

struct inst_share inst_latency_mean(const struct inst_latency *l)
{
	double n = (double)l->count, mean = (double)l->sum / n;
	double error = sqrt(fmax(0, l->squares / n - mean * mean) / n);

	return (struct inst_share){mean, mean - error, mean + error};
}

/* How many samples there are varies too, so that not the spread but the squares tell. */
struct inst_share inst_latency_total(const struct inst_latency *l)
{
	double off = l->sum ? l->units * sqrt(l->squares) / (double)l->sum : 0;

	return (struct inst_share){l->units, l->units - off, l->units + off};
}

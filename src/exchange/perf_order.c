/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Each processor's records come in order of time, but not those of all of them. At the end of a
 * round perf has seen everything that had happened when the round before ended: so much is sorted
 * and delivered.
 */
#include "exchange/perf.h"
#include "util/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* More is delivered as it is, and counted. */
#define ENTRIES_MAX	(16u << 20)
#define BLOCK_BYTES_MAX (1u << 30)
#define AHEAD		8 /* records whose memory is fetched before their turn */

/* The end of the run of ascending times that begins there. */
static size_t run_end(const struct perf_entry *list, size_t from, size_t count)
{
	size_t i = from;

	if (i < count)
		i++;
	while (i < count && list[i].time >= list[i - 1].time)
		i++;
	return i;
}

/* Two runs into one; of equal times what came first stays first. */
static void merge(const struct perf_entry *first, const struct perf_entry *second,
		  const struct perf_entry *end, struct perf_entry *to)
{
	const struct perf_entry *middle = second;

	while (first < middle && second < end)
		*to++ = second->time < first->time ? *second++ : *first++;
	memcpy(to, first, (size_t)(middle - first) * sizeof(*to));
	to += middle - first;
	memcpy(to, second, (size_t)(end - second) * sizeof(*to));
}

/*
 * Knuth's natural merge sort (The Art of Computer Programming, volume 3, 5.2.4): what is to be
 * sorted are runs, one of each processor.
 */
static int sort(struct perf_order *o)
{
	bool sorted = false;

	if (!o->spare)
		o->spare = reallocarray(NULL, o->room, sizeof(*o->spare));
	if (!o->spare)
		return -ENOMEM;
	while (!sorted) {
		struct perf_entry *from = o->list;

		for (size_t i = 0, end; i < o->count; i = end) {
			size_t middle = run_end(from, i, o->count);

			end = run_end(from, middle, o->count);
			merge(from + i, from + middle, from + end, o->spare + i);
			sorted = i == 0 && end == o->count;
		}
		o->list = o->spare;
		o->spare = from;
	}
	return 0;
}

void perf_order_free(struct perf *p)
{
	free(p->order.list);
	free(p->order.spare);
}

struct perf_block *perf_block_new(size_t room)
{
	struct perf_block *b = malloc(sizeof(*b) + room);

	if (b)
		*b = (struct perf_block){.room = room, .open = true};
	return b;
}

void perf_block_done(struct perf *p, struct perf_block *b)
{
	if (!b)
		return;
	b->open = false;
	if (b->users)
		p->order.block_bytes += b->room;
	else
		free(b);
}

static void leave_block(struct perf *p, struct perf_block *b)
{
	if (!b || --b->users || b->open)
		return;
	p->order.block_bytes -= b->room;
	free(b);
}

static void deliver(struct perf *p, const struct perf_entry *e)
{
	if (e->time < p->order.delivered)
		p->counters.late++;
	else
		p->order.delivered = e->time;
	perf_record_take(p, e->record, perf_u16(e->record + 6));
	leave_block(p, e->block);
}

static void expect(struct perf *p, const struct perf_entry *e)
{
	perf_sample_expect(p, e->record, perf_u16(e->record + 6));
}

static void deliver_until(struct perf *p, uint64_t limit)
{
	struct perf_order *o = &p->order;
	size_t done = 0;

	if (!o->sorted && o->count && sort(o)) {
		p->error = -ENOMEM;
		return;
	}
	o->sorted = true;
	for (; done < o->count && o->list[done].time <= limit; done++) {
		if (done + AHEAD < o->count)
			expect(p, &o->list[done + AHEAD]);
		deliver(p, &o->list[done]);
	}
	for (size_t i = done; i < o->count; i++)
		o->list[i - done] = o->list[i];
	o->count -= done;
}

uint64_t perf_order_newest(const struct perf *p)
{
	return p->order.newest;
}

void perf_order_round(struct perf *p)
{
	deliver_until(p, p->order.round_end);
	p->order.round_end = p->order.newest;
}

void perf_order_flush(struct perf *p)
{
	deliver_until(p, UINT64_MAX);
}

static int make_room(struct perf *p)
{
	struct perf_order *o = &p->order;

	if (o->count == ENTRIES_MAX || o->block_bytes > BLOCK_BYTES_MAX) {
		p->counters.unordered += o->count;
		perf_order_flush(p);
	}
	if (o->count < o->room)
		return 0;
	free(o->spare);
	o->spare = NULL;
	return array_grow(&o->list, o->count, &o->room, sizeof(*o->list), 4096);
}

void perf_order_add(struct perf *p, uint64_t time, const uint8_t *record, struct perf_block *block)
{
	struct perf_order *o = &p->order;

	/* Without a time, or made up from what was there before the recording: at once. */
	if (time == 0 || time == UINT64_MAX) {
		perf_record_take(p, record, perf_u16(record + 6));
		return;
	}
	if (make_room(p)) {
		p->error = -ENOMEM;
		return;
	}
	if (o->count == 0)
		o->sorted = true;
	else if (time < o->list[o->count - 1].time)
		o->sorted = false;
	o->list[o->count++] = (struct perf_entry){time, record, block};
	if (block)
		block->users++;
	if (time > o->newest)
		o->newest = time;
}

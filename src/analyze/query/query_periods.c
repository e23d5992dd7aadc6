/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/query/query_state.h"

#include <string.h>
#include "util/num.h"

/* One event's way into another of its name. */
struct conversion {
	uint64_t from, to; /* periods */
	uint64_t carry;	   /* of the divisions so far: all of them together round once */
};

static uint64_t convert(struct conversion *c, uint64_t count)
{
	unsigned __int128 units = (unsigned __int128)count * c->from + c->carry;
	unsigned __int128 whole = units / c->to;

	c->carry = (uint64_t)(units % c->to);
	return whole > UINT64_MAX ? UINT64_MAX : (uint64_t)whole;
}

static struct conversion begin_conversion(const struct query_event *from,
					  const struct query_event *to)
{
	return (struct conversion){from->period, to->period, to->period / 2};
}

/* The event of its name with most samples: itself when it stays what it is. */
static uint32_t find_commonest(const struct query *q, uint32_t event)
{
	const struct query_event *e = &q->events[event], *best = e;

	if (e->apart)
		return event;
	for (size_t i = 0; i < q->event_count; i++) {
		const struct query_event *f = &q->events[i];

		if (strcmp(e->name, f->name) != 0 || f->apart || !f->period || !e->period)
			continue;
		if (f->samples > best->samples ||
		    (f->samples == best->samples && f->period < best->period))
			best = f;
	}
	return (uint32_t)(best - q->events);
}

static void add_total(struct conversion scale, uint64_t from, uint64_t *to)
{
	*to = num_add_sat(*to, convert(&scale, from));
}

/* Where memory accesses were served; past the last place, as in query.c, under the last name. */
static void merge_memory(const struct query_event *from, struct query_event *to)
{
	struct conversion scale = begin_conversion(from, to);

	for (size_t i = 0; i < from->memory_count; i++) {
		size_t k = 0;

		while (k < to->memory_count && strcmp(to->memory[k].name, from->memory[i].name))
			k++;
		if (k == QUERY_MEMORY_MAX)
			to->memory[--k].name = "others";
		else if (k == to->memory_count)
			to->memory[to->memory_count++].name = from->memory[i].name;
		add_total(scale, from->memory[i].value, &to->memory[k].value);
	}
	add_total(scale, from->weights, &to->weights);
	add_total(scale, from->weight_sum, &to->weight_sum);
}

static void merge_totals(const struct query_event *from, struct query_event *to)
{
	struct conversion scale = begin_conversion(from, to);

	add_total(scale, from->samples, &to->samples);
	add_total(scale, from->counted, &to->counted);
	add_total(scale, from->unknown, &to->unknown);
	add_total(scale, from->lost, &to->lost);
	merge_memory(from, to);
	to->enabled_ns = num_add_sat(to->enabled_ns, from->enabled_ns);
	to->running_ns = num_add_sat(to->running_ns, from->running_ns);
	to->flags &= from->flags;
	to->periods++;
}

/* Rows whose count rounds to none leave; the carry gives what they lost to those that follow. */
static void convert_rows(struct query *q, struct query_part *p, const uint32_t *into,
			 struct conversion *scales)
{
	size_t n = 0;

	for (size_t i = 0; i < p->row_count; i++) {
		struct query_row row = p->rows[i];
		uint32_t to = into[row.event];

		if (to != row.event) {
			row.count = convert(&scales[row.event], row.count);
			row.event = to;
			if (p->selected)
				q->events[to].selected =
					num_add_sat(q->events[to].selected, row.count);
		}
		if (row.count)
			p->rows[n++] = row;
	}
	p->row_count = n;
	p->sorted = 0;
}

void query_merge_periods(struct query *q)
{
	uint32_t into[QUERY_EVENTS_MAX];
	struct conversion scales[QUERY_EVENTS_MAX];
	bool any = false;

	for (uint32_t i = 0; i < q->event_count; i++) {
		q->events[i].periods = 1;
		into[i] = find_commonest(q, i);
		scales[i] = begin_conversion(&q->events[i], &q->events[into[i]]);
		any |= into[i] != i;
	}
	if (!any)
		return;
	for (uint32_t i = 0; i < q->event_count; i++) {
		if (into[i] != i)
			merge_totals(&q->events[i], &q->events[into[i]]);
	}
	for (size_t i = 0; i < q->part_count; i++)
		convert_rows(q, &q->parts[i], into, scales);
	for (uint32_t i = 0; i < q->event_count; i++) {
		if (into[i] != i)
			q->events[i].periods = 0;
	}
}

void query_note_epoch(struct query *q, uint32_t event, const char *epoch)
{
	struct query_event *e = &q->events[event];

	if (!q->epoch || strcmp(q->epoch, epoch) != 0) {
		q->epoch = arena_strndup(q->memory, epoch, strlen(epoch));
		q->epoch_number++;
	}
	if (e->epoch_number == q->epoch_number)
		return;
	e->epoch_number = q->epoch_number;
	for (size_t i = 0; i < q->event_count; i++) {
		struct query_event *f = &q->events[i];

		if (e->governed && f->governed)
			continue;
		if (f != e && f->epoch_number == q->epoch_number && !strcmp(e->name, f->name))
			f->apart = e->apart = true;
	}
}

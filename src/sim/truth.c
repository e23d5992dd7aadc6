/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sim/truth.h"

#include <stdlib.h>
#include "util/array.h"

void sim_truth_free(struct sim_truth *t)
{
	free(t->rows);
}

static uint64_t issued_at(const struct sim_flight *f, uint64_t number)
{
	return f->issued[number % TRUTH_FLIGHT];
}

/* How many useful ones were issued before a cycle; not fewer than from. */
static uint64_t count_before(const struct sim_flight *f, uint64_t from, uint64_t cycle)
{
	uint64_t low = from, high = f->count;

	if (f->count - low > TRUTH_FLIGHT)
		low = f->count - TRUTH_FLIGHT;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (issued_at(f, middle) < cycle)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void close_one(struct sim_truth *t, struct sim_flight *f)
{
	const struct sim_open *o = &f->open[f->closed++ % TRUTH_FLIGHT];

	t->rows[o->site].useful += count_before(f, o->from, o->done) - o->from - o->self;
}

static struct sim_truth_row *row_of(struct sim_truth *t, uint32_t site)
{
	if (site >= t->row_count) {
		if (array_reserve_zeroed(&t->rows, site + 1u, &t->row_room, sizeof(*t->rows),
					 4096)) {
			t->failed = true;
			return NULL;
		}
		t->row_count = site + 1u;
	}
	return &t->rows[site];
}

void sim_truth_add(struct sim_truth *t, struct sim_flight *f, const struct sim_passage *p)
{
	struct sim_truth_row *row = row_of(t, p->site);

	if (!row)
		return;
	row->fetched++;
	row->progress_cycles += p->done - p->fetch;
	row->head_cycles += p->head_cycles;
	row->dispatch_cycles += p->issue - p->fetch;
	for (uint32_t left = p->events; left; left &= left - 1)
		row->events[__builtin_ctz(left)]++;
	/* Fetches ascend but for those of wrong paths, and so does how many were issued before. */
	uint64_t from = f->before;
	while (from < f->count && issued_at(f, from) < p->fetch)
		from++;
	if (p->retired)
		f->before = from;
	/* The oldest are over once something is issued later than they were done. */
	while (f->closed < f->opened &&
	       (f->opened - f->closed == TRUTH_FLIGHT ||
		(p->retired && f->open[f->closed % TRUTH_FLIGHT].done <= p->issue)))
		close_one(t, f);
	f->open[f->opened++ % TRUTH_FLIGHT] =
		(struct sim_open){p->done, from, p->site, p->retired && p->issue < p->done};
	if (p->retired)
		f->issued[f->count++ % TRUTH_FLIGHT] = p->issue;
}

void sim_truth_end(struct sim_truth *t, struct sim_flight *f)
{
	while (f->closed < f->opened)
		close_one(t, f);
	*f = (struct sim_flight){.count = 0};
}

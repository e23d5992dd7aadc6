/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sim/judge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "instsample/pair.h"
#include "util/array.h"

struct sums {
	uint64_t samples, retired, dcache, useful, progress, halves;
};

struct judge {
	struct sums *rows;
	size_t count, room;
	uint64_t pairs;
};

struct judge *judge_new(void)
{
	return calloc(1, sizeof(struct judge));
}

void judge_free(struct judge *j)
{
	if (j)
		free(j->rows);
	free(j);
}

static struct sums *row_of(struct judge *j, uint32_t site)
{
	if (site >= j->count) {
		if (array_reserve_zeroed(&j->rows, site + 1u, &j->room, sizeof(*j->rows), 4096))
			return NULL;
		j->count = site + 1u;
	}
	return &j->rows[site];
}

int judge_take(struct judge *j, const struct sim_pair *pair)
{
	struct sums *row = row_of(j, pair->first.site);

	if (!row || (pair->distance && !row_of(j, pair->other.site)))
		return -ENOMEM;
	row = row_of(j, pair->first.site);
	row->samples++;
	row->retired += inst_has(&pair->first.record, INST_RETIRED);
	row->dcache += inst_has(&pair->first.record, INST_DCACHE_MISS);
	if (!pair->distance)
		return 0;
	struct sums *other = row_of(j, pair->other.site);
	j->pairs++;
	row->halves++;
	other->halves++;
	row->progress += inst_progress(&pair->first.record);
	other->progress += inst_progress(&pair->other.record);
	row->useful +=
		inst_overlaps(&pair->first.record, &pair->other.record, (int64_t)pair->cycles);
	other->useful +=
		inst_overlaps(&pair->other.record, &pair->first.record, -(int64_t)pair->cycles);
	return 0;
}

/* Correlation, as its sums are added up. */
struct correlation {
	double n, x, y, xx, yy, xy;
};

static void correlate(struct correlation *c, double x, double y)
{
	c->n++;
	c->x += x;
	c->y += y;
	c->xx += x * x;
	c->yy += y * y;
	c->xy += x * y;
}

static double correlation_of(const struct correlation *c)
{
	double x = c->n * c->xx - c->x * c->x, y = c->n * c->yy - c->y * c->y;

	return x > 0 && y > 0 ? (c->n * c->xy - c->x * c->y) / sqrt(x * y) : 0;
}

struct totals {
	double retired, retired_true, dcache, dcache_true, wasted, wasted_true;
};

static void judge_row(const struct sums *s, const struct sim_truth_row *t, double period,
		      double window, double width, uint64_t least, struct totals *sum,
		      struct correlation c[2], struct judge_verdict *ret)
{
	double wasted_true = width * (double)t->progress_cycles - (double)t->useful;
	double wasted =
		width * (double)s->progress * period / 2 - (double)s->useful * window * period;
	double k = (double)s->samples, fetched = (double)t->fetched;

	sum->retired += (double)s->retired * period;
	sum->retired_true += (double)t->events[INST_RETIRED];
	sum->dcache += (double)s->dcache * period;
	sum->dcache_true += (double)t->events[INST_DCACHE_MISS];
	sum->wasted += wasted;
	sum->wasted_true += wasted_true;
	if (s->samples >= least) {
		ret->instructions++;
		ret->within += fabs(k * period / fetched - 1) <= 1 / sqrt(k);
	}
	if (s->halves >= least) {
		correlate(&c[0], wasted, wasted_true);
		correlate(&c[1], (double)t->progress_cycles, wasted_true);
	}
}

static double error_of(double estimate, double truth)
{
	return truth != 0 ? estimate / truth - 1 : 0;
}

void judge_end(const struct judge *j, const struct sim_truth *t, uint64_t period, unsigned window,
	       unsigned width, uint64_t least, struct judge_verdict *ret)
{
	const struct sums none = {0};
	struct correlation c[2] = {{0}};
	struct totals sum = {0};

	*ret = (struct judge_verdict){.pairs = j->pairs};
	for (size_t i = 0; i < t->row_count; i++)
		if (t->rows[i].fetched)
			judge_row(i < j->count ? &j->rows[i] : &none, &t->rows[i], (double)period,
				  window, width, least, &sum, c, ret);
	ret->within = ret->instructions ? ret->within / (double)ret->instructions : 0;
	ret->retired_error = error_of(sum.retired, sum.retired_true);
	ret->dcache_error = error_of(sum.dcache, sum.dcache_true);
	ret->wasted_error = j->pairs ? error_of(sum.wasted, sum.wasted_true) : 0;
	ret->wasted_correlation = correlation_of(&c[0]);
	ret->latency_correlation = correlation_of(&c[1]);
}

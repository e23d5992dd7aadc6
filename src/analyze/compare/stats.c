/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/compare/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "analyze/compare/chance.h"
#include "util/array.h"
#include "util/num.h"

struct stats {
	size_t set_count, row_count, row_room;
	struct stats_set *sets;
	uint64_t *counts; /* row by row */
	struct stats_row *rows;
	bool shares;
	/* Of all sets: their samples, and the exposure: samples that weigh 1. */
	double samples, exposure;
	struct chance_sets shares_of; /* by each set's share of the exposure */
};

int stats_new(size_t sets, struct stats **ret)
{
	struct stats *s;

	if (!sets || sets > STATS_SETS_MAX)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (s)
		s->sets = calloc(sets, sizeof(*s->sets));
	if (!s || !s->sets) {
		free(s);
		return -ENOMEM;
	}
	s->set_count = sets;
	for (size_t i = 0; i < sets; i++)
		s->sets[i].weight = 1;
	*ret = s;
	return 0;
}

void stats_free(struct stats *s)
{
	if (!s)
		return;
	free(s->sets);
	free(s->counts);
	free(s->rows);
	free(s);
}

void stats_set(struct stats *s, size_t set, const struct stats_set *value)
{
	s->sets[set] = *value;
}

long stats_add_row(struct stats *s)
{
	size_t room = s->row_room, row_bytes = s->set_count * sizeof(*s->counts);

	if (array_grow(&s->counts, s->row_count, &room, row_bytes, 256) ||
	    array_grow(&s->rows, s->row_count, &s->row_room, sizeof(*s->rows), 256))
		return -ENOMEM;
	s->rows[s->row_count] = (struct stats_row){0};
	for (size_t i = 0; i < s->set_count; i++)
		s->counts[s->row_count * s->set_count + i] = 0;
	return (long)s->row_count++;
}

void stats_count(struct stats *s, size_t row, size_t set, uint64_t count)
{
	uint64_t *to = &s->counts[row * s->set_count + set];

	*to = num_add_sat(*to, count);
}

uint64_t stats_count_of(const struct stats *s, size_t row, size_t set)
{
	return s->counts[row * s->set_count + set];
}

static double exposure_of(const struct stats *s, size_t set)
{
	return 1 / s->sets[set].weight;
}

static void describe_row(const struct stats *s, size_t number)
{
	struct stats_row *r = &s->rows[number];
	double sets = (double)s->set_count, squares = 0, low, high, effective;

	for (size_t i = 0; i < s->set_count; i++) {
		uint64_t count = stats_count_of(s, number, i);
		double value = (double)count * s->sets[i].weight;

		r->samples = num_add_sat(r->samples, count);
		r->present += count > 0;
		r->sum += value;
		squares += value * s->sets[i].weight;
		r->least = i && r->least < value ? r->least : value;
		r->most = r->most > value ? r->most : value;
	}
	r->mean = r->sum / sets;
	for (size_t i = 0; i < s->set_count; i++) {
		double away = (double)stats_count_of(s, number, i) * s->sets[i].weight - r->mean;

		r->deviation += away * away;
	}
	r->deviation = s->set_count > 1 ? sqrt(r->deviation / (sets - 1)) : 0;
	r->range_share = r->sum > 0 ? (r->most - r->least) / r->sum : 0;
	/* As many unweighted samples as would leave the sum as uncertain as it is. */
	effective = squares > 0 ? r->sum * r->sum / squares : 0;
	chance_poisson_interval(effective, &low, &high);
	r->low = effective > 0 ? r->mean * low / effective : 0;
	r->high = effective > 0 ? r->mean * high / effective : high / sets;
}

/*
 * The variance, as a share of a Poisson variable's, of a count that is part of a given total: that
 * of a binomial one.
 */
static double spread_of(const struct stats *s, const struct stats_row *r)
{
	double share = s->samples > 0 ? (double)r->samples / s->samples : 0;

	return s->shares ? 1 - (share < 1 ? share : 1) : 1;
}

/* The deviation that is expected when each set's count is Poisson with the common rate. */
static double sampling_deviation(const struct stats *s, const struct stats_row *r)
{
	double rate = (double)r->samples / s->exposure, variance = 0;

	for (size_t i = 0; i < s->set_count; i++)
		variance += rate * s->sets[i].weight;
	return sqrt(variance / (double)s->set_count * spread_of(s, r));
}

/* Given their sum n, Poisson counts with a common rate are multinomial with shares by exposure. */
static double dispersion_chance(const struct stats *s, size_t row, double n, double spread)
{
	double square = 0;

	for (size_t i = 0; i < s->set_count; i++) {
		double expected = (double)s->rows[row].samples * exposure_of(s, i) / s->exposure;
		double away = (double)stats_count_of(s, row, i) - expected;

		square += away * away / expected;
	}
	return chance_dispersion(square / spread, n, &s->shares_of);
}

static double row_chance(const struct stats *s, size_t number)
{
	const struct stats_row *r = &s->rows[number];
	double spread = spread_of(s, r), n = (double)r->samples;

	/* One side of a part and of the rest is as good as the other; the lesser tells of doubt. */
	if (s->shares && n > s->samples / 2)
		n = s->samples - n;
	if (s->set_count < 2 || n < 1)
		return 1;
	if (s->set_count == 2 && spread > 0.9)
		return chance_binomial(stats_count_of(s, number, 0), r->samples,
				       exposure_of(s, 0) / s->exposure);
	return dispersion_chance(s, number, n, spread);
}

static void sum_sets(struct stats *s)
{
	struct chance_sets *of = &s->shares_of;

	s->samples = s->exposure = 0;
	*of = (struct chance_sets){.count = (double)s->set_count};
	for (size_t i = 0; i < s->set_count; i++) {
		s->samples += (double)s->sets[i].samples;
		s->exposure += exposure_of(s, i);
	}
	for (size_t i = 0; i < s->set_count; i++) {
		double p = exposure_of(s, i) / s->exposure;

		of->squares += p * p;
		of->cubes += p * p * p;
		of->inverse += 1 / p;
		of->inverse_squares += 1 / (p * p);
	}
}

int stats_finish(struct stats *s, bool shares, double false_alarms)
{
	double *chances = reallocarray(NULL, s->row_count + 1, sizeof(*chances)), total = 0;

	if (!chances)
		return -ENOMEM;
	s->shares = shares;
	sum_sets(s);
	for (size_t i = 0; i < s->set_count; i++)
		total += (double)s->sets[i].samples * s->sets[i].weight;
	for (size_t i = 0; i < s->row_count; i++) {
		struct stats_row *row = &s->rows[i];

		*row = (struct stats_row){0};
		describe_row(s, i);
		row->sum_share = total > 0 ? row->sum / total : 0;
		row->sampling = sampling_deviation(s, row);
		row->chance = chances[i] = row_chance(s, i);
	}
	int r = chance_adjust(chances, s->row_count);
	for (size_t i = 0; i < s->row_count && !r; i++) {
		s->rows[i].adjusted = chances[i];
		s->rows[i].varies = chances[i] <= false_alarms;
	}
	free(chances);
	return r;
}

size_t stats_row_count(const struct stats *s)
{
	return s->row_count;
}

const struct stats_row *stats_row_at(const struct stats *s, size_t row)
{
	return &s->rows[row];
}

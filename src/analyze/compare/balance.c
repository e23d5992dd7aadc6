/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/compare/balance.h"

#include "analyze/compare/chance.h"
#include "util/num.h"

static double find_chance(const uint64_t *samples, const struct balance *b)
{
	double k = (double)b->count, square = 0;
	struct chance_sets equal = {k, 1 / k, 1 / (k * k), k * k, k * k * k};

	if (b->count < 2 || !b->sum)
		return 1;
	if (b->count == 2)
		return chance_binomial(samples[0], b->sum, 0.5);
	for (size_t i = 0; i < b->count; i++) {
		double away = (double)samples[i] - b->mean;

		square += away * away / b->mean;
	}
	return chance_dispersion(square, (double)b->sum, &equal);
}

void balance_find(const uint64_t *samples, size_t count, struct balance *ret)
{
	struct balance b = {.count = count, .least = count ? samples[0] : 0};

	for (size_t i = 0; i < count; i++) {
		b.sum = num_add_sat(b.sum, samples[i]);
		b.least = samples[i] < b.least ? samples[i] : b.least;
		b.most = samples[i] > b.most ? samples[i] : b.most;
	}
	b.mean = count ? (double)b.sum / (double)count : 0;
	b.imbalance = b.sum ? 100 * ((double)b.most / b.mean - 1) : 0;
	b.chance = find_chance(samples, &b);
	*ret = b;
}

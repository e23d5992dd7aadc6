/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/frequency/frequency_spread.h"

#include <math.h>
#include <stdlib.h>
#include "util/array.h"
#include "util/num.h"

/* Of a function of one cause, as logarithms: executions may be a 30th or 18 times what is said. */
#define SLOWNESS_BELOW 3.4
#define SLOWNESS_ABOVE 2.9
/* But it does not take less than a third of the best case: costs of instructions are off, too. */
#define BEST_CASE_OFF 1.2

/* Blocks that look the same. */
struct shape {
	uint32_t instructions;
	double cost, samples;
};

static int compare_shapes(const void *pa, const void *pb)
{
	const struct shape *a = pa, *b = pb;

	return NUM_ORDER(a->instructions, b->instructions) ?: NUM_ORDER(a->cost, b->cost);
}

struct frequency_spread frequency_spread_join(struct frequency_spread a, struct frequency_spread b)
{
	return (struct frequency_spread){hypot(a.below, b.below), hypot(a.above, b.above)};
}

static double effective_number(const struct shape *list, size_t count)
{
	double all = 0, squares = 0;

	for (size_t i = 0, next; i < count; i = next) {
		double sum = 0;

		for (next = i; next < count && !compare_shapes(&list[i], &list[next]); next++)
			sum += list[next].samples;
		all += sum;
		squares += sum * sum;
	}
	return squares > 0 ? all * all / squares : 1;
}

double frequency_causes(const struct evidence *e, const struct evidence_function *f)
{
	const struct cfg_function *c = f->function;
	struct shape *list = calloc((size_t)c->block_count + 1, sizeof(*list));
	size_t count = 0;
	double causes;

	if (!list)
		return 0;
	for (uint32_t b = 0; b < c->block_count; b++) {
		const struct evidence_block *block = &e->blocks[f->first_block + b];

		if (block->samples)
			list[count++] = (struct shape){c->blocks[b].instruction_count, block->cost,
						       (double)block->samples};
	}
	array_sort(list, count, sizeof(*list), compare_shapes);
	causes = effective_number(list, count);
	free(list);
	return causes;
}

struct frequency_spread frequency_slowness(double causes, double stall)
{
	const double share = 1 / sqrt(fmax(causes, 1));
	const double room = fmax(log(stall) + BEST_CASE_OFF, 0);

	return (struct frequency_spread){SLOWNESS_BELOW * share,
					 fmin(SLOWNESS_ABOVE * share, room)};
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The best cases of functions. The estimation asks for those of all, and a report then for those of
 * the functions that it shows: what was found is kept meanwhile, as far as there is room.
 */
#include <errno.h>
#include <stdlib.h>
#include "analyze/insight_state.h"
#include "util/hash.h"

#define KEPT_FUNCTIONS_MAX (1u << 20)
#define KEPT_BYTES_MAX	   (128u << 20)

static int find_best_case(struct insights *all, struct insight_image *image,
			  const struct cfg_function *f, const struct cfg_loops *loops,
			  struct best_case **ret)
{
	struct cfg_loops *own = NULL;
	double *weight = calloc(f->block_count + 1, sizeof(*weight));
	int r = weight ? 0 : -ENOMEM;

	if (!r && !loops)
		r = cfg_loops_of_function(f, &own);
	if (r == -EINVAL) /* too large for the pass: straight paths then */
		r = 0;
	for (uint32_t b = 0; b < f->block_count && !r; b++)
		weight[b] = (double)insight_samples_between(image, f->blocks[b].start,
							    f->blocks[b].end);
	struct best_case_request q = {.function = f,
				      .loops = loops ? loops : own,
				      .model = all->model,
				      .simulator = all->simulator,
				      .code = insight_code_at,
				      .arg = image,
				      .block_weight = weight};
	if (!r)
		r = best_case_new(&q, ret);
	cfg_loops_free(own);
	free(weight);
	return r;
}

static size_t bytes_of(const struct cfg_function *f)
{
	const struct best_case *b = NULL;

	return f->instruction_count * (sizeof(*b->prepared) + sizeof(*b->heads) + sizeof(double)) +
	       f->block_count * sizeof(double);
}

int insight_best_case(struct insights *all, struct insight_image *image,
		      const struct cfg_function *f, const struct cfg_loops *loops,
		      struct best_case **ret)
{
	uint64_t kept;

	if (!all->kept || map64_get(all->kept, (uintptr_t)f, &kept))
		return find_best_case(all, image, f, loops, ret);
	map64_remove(all->kept, (uintptr_t)f);
	all->kept_bytes -= bytes_of(f);
	*ret = (struct best_case *)(uintptr_t)kept;
	return 0;
}

void insight_keep_best_case(struct insights *all, const struct cfg_function *f,
			    struct best_case *best)
{
	if (!best)
		return;
	if (!best->weighed) { /* nobody asks for those without samples */
		best_case_free(best);
		return;
	}
	if (!all->kept)
		all->kept = map64_new(KEPT_FUNCTIONS_MAX);
	if (!all->kept || all->kept_bytes + bytes_of(f) > KEPT_BYTES_MAX ||
	    map64_put(all->kept, (uintptr_t)f, (uintptr_t)best)) {
		best_case_free(best);
		return;
	}
	all->kept_bytes += bytes_of(f);
}

static void free_one(uint64_t function, uint64_t best, void *arg)
{
	(void)function, (void)arg;
	best_case_free((struct best_case *)(uintptr_t)best);
}

void insight_free_best_cases(struct insights *all)
{
	if (all->kept)
		map64_each(all->kept, free_one, NULL);
	map64_free(all->kept);
}

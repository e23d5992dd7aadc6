/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A function's bytes, its samples by instruction, and its best case. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/insight_state.h"

void insight_code_free(struct insight_code *c)
{
	for (uint32_t i = 0; i < c->range_count; i++)
		free(c->ranges[i].bytes);
	free(c->ranges);
	*c = (struct insight_code){NULL};
}

int insight_code_read(struct insights *all, struct insight_image *image,
		      const struct cfg_function *f, struct insight_code *ret, struct diag *diag)
{
	struct insight_code c = {image, f, calloc(f->range_count + 1, sizeof(*c.ranges)), 0};
	const struct query_image *q = image->image;
	int err = c.ranges ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < f->range_count && !err; i++) {
		c.ranges[i].start = f->ranges[i].start;
		err = image_find_code(all->finder, &q->id, q->path, f->ranges[i].start,
				      f->ranges[i].end - f->ranges[i].start, &c.ranges[i].bytes,
				      &c.ranges[i].size, diag);
		c.range_count++;
	}
	if (err)
		insight_code_free(&c);
	else
		*ret = c;
	return err;
}

const uint8_t *insight_code_at(void *code, uint64_t address)
{
	const struct insight_code *c = code;
	uint32_t low = 0, high = c->range_count;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (c->ranges[middle].start <= address)
			low = middle;
		else
			high = middle;
	}
	if (high == 0 || address - c->ranges[low].start >= c->ranges[low].size)
		return NULL;
	return c->ranges[low].bytes + (address - c->ranges[low].start);
}

static size_t first_sample(const struct insight_image *image, uint64_t address)
{
	size_t low = 0, high = image->sample_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (image->samples[middle].offset < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t insight_samples_between(const struct insight_image *image, uint64_t start, uint64_t end)
{
	uint64_t sum = 0;
	for (size_t i = first_sample(image, start);
	     i < image->sample_count && image->samples[i].offset < end; i++)
		sum += image->samples[i].count;
	return sum;
}

int insight_best_case(struct insights *all, struct insight_code *code,
		      const struct cfg_loops *loops, struct best_case **ret)
{
	const struct cfg_function *f = code->function;
	struct cfg_loops *own = NULL;
	double *weight = calloc(f->block_count + 1, sizeof(*weight));
	int err = weight ? 0 : -ENOMEM;
	if (!err && !loops)
		err = cfg_loops_of_function(f, &own);
	if (err == -EINVAL) /* too large for the pass: straight paths then */
		err = 0;
	for (uint32_t b = 0; b < f->block_count && !err; b++)
		weight[b] = (double)insight_samples_between(code->image, f->blocks[b].start,
							    f->blocks[b].end);
	struct best_case_request q = {.function = f,
				      .loops = loops ? loops : own,
				      .model = all->model,
				      .simulator = all->simulator,
				      .code = insight_code_at,
				      .arg = code,
				      .block_weight = weight};
	if (!err)
		err = best_case_new(&q, ret);
	cfg_loops_free(own);
	free(weight);
	return err;
}

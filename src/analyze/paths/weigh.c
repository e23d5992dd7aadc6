/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/paths/weigh.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cfg/open.h"
#include "util/num.h"

const char *path_metric_name(enum path_metric m)
{
	static const char *const names[] = {"time", "samples", "instructions", "executions"};

	return names[m];
}

const char *path_class_name(enum path_class c)
{
	static const char *const names[] = {"cold", "sparse", "dense"};

	return names[c];
}

enum path_metric path_metric_base(enum path_metric m)
{
	return m == PATH_INSTRUCTIONS ? PATH_EXECUTIONS : PATH_INSTRUCTIONS;
}

/* What one function's blocks have. */
struct blocks {
	const struct cfg_function *f;
	double *executions, *samples;
};

static const struct query_part *find_part(const struct query *q, const struct image_id *id)
{
	for (size_t i = 0; q && i < q->part_count; i++) {
		const struct query_part *p = &q->parts[i];

		if (p->selected && !memcmp(&q->images[p->image].id, id, sizeof(*id)))
			return p;
	}
	return NULL;
}

static void count_samples(const struct blocks *b, const struct query_part *part)
{
	for (uint32_t i = 0; part && i < b->f->block_count; i++) {
		const struct cfg_block *block = &b->f->blocks[i];

		for (size_t k = query_part_seek(part, block->start);
		     k < part->row_count && part->rows[k].offset < block->end; k++)
			if (!part->rows[k].event)
				b->samples[i] += (double)part->rows[k].count;
	}
}

/* Of paths whose blocks are those of the graph. */
static bool is_known(const struct blocks *b, const struct db_path_item *p)
{
	for (uint32_t i = 0; i < p->block_count; i++) {
		const uint32_t block = cfg_function_block_at(b->f, p->blocks[i]);

		if (block == CFG_OUTSIDE || b->f->blocks[block].start != p->blocks[i])
			return false;
	}
	return true;
}

static void weigh_code(struct path_weights *w, const struct path_function *pf,
		       const struct blocks *b, const struct query_part *part)
{
	const struct db_path_item *rows = w->tally->rows;

	count_samples(b, part);
	for (size_t i = pf->first; i < pf->first + pf->count; i++)
		for (uint32_t k = 0; is_known(b, &rows[i]) && k < rows[i].block_count; k++)
			b->executions[cfg_function_block_at(b->f, rows[i].blocks[k])] +=
				(double)rows[i].count;
	for (size_t i = pf->first; i < pf->first + pf->count; i++) {
		struct path_weight *weight = &w->rows[i];
		const double count = (double)rows[i].count;

		for (uint32_t k = 0; is_known(b, &rows[i]) && k < rows[i].block_count; k++) {
			const uint32_t block = cfg_function_block_at(b->f, rows[i].blocks[k]);

			weight->instructions += b->f->blocks[block].instruction_count;
			weight->metrics[PATH_SAMPLES] +=
				b->samples[block] * count / b->executions[block];
		}
	}
}

static int weigh_function(struct path_weights *w, const struct path_function *pf,
			  struct cfg_image *image, const struct query_part *part)
{
	struct blocks b;
	int r = cfg_image_function(image, pf->entry, &b.f);

	if (r == -ENOENT || (!r && b.f->entry != pf->entry)) {
		w->without_code++;
		return 0;
	}
	if (r)
		return r;
	b.executions = calloc(2 * (size_t)b.f->block_count + 1, sizeof(*b.executions));
	if (!b.executions)
		return -ENOMEM;
	b.samples = b.executions + b.f->block_count;
	weigh_code(w, pf, &b, part);
	free(b.executions);
	return 0;
}

static int weigh_image(struct path_weights *w, uint32_t image, const struct query *q,
		       struct image_finder *finder)
{
	const struct path_tally *t = w->tally;
	const struct path_image *im = &t->images[image];
	const struct query_part *part = find_part(q, &im->id);
	struct cfg_image *graphs = NULL;
	struct diag unused;
	int r = cfg_image_open(finder, &im->id, im->path, &graphs, &unused);

	if (r == -ENOMEM)
		return r;
	for (size_t i = 0; i < t->function_count && (!graphs || r == 0); i++) {
		if (t->functions[i].image != image)
			continue;
		if (graphs)
			r = weigh_function(w, &t->functions[i], graphs, part);
		else
			w->without_code++;
	}
	cfg_image_free(graphs);
	return graphs ? r : 0;
}

static void add(struct path_weight *to, const struct path_weight *one)
{
	for (int m = 0; m < PATH_METRICS; m++)
		to->metrics[m] += one->metrics[m];
}

static void weigh_row(struct path_weights *w, size_t i)
{
	const struct db_path_item *p = &w->tally->rows[i];
	struct path_weight *weight = &w->rows[i];

	weight->metrics[PATH_EXECUTIONS] = (double)p->count;
	weight->metrics[PATH_INSTRUCTIONS] = (double)p->count * weight->instructions;
	if (p->timed)
		weight->metrics[PATH_TIME] =
			(double)p->time_ns / (double)p->timed * (double)p->count;
	else if (w->tally->timed)
		w->untimed = num_add_sat(w->untimed, p->count);
}

static void sum_up(struct path_weights *w)
{
	const struct path_tally *t = w->tally;

	for (size_t f = 0; f < t->function_count; f++) {
		for (size_t i = 0; i < t->functions[f].count; i++) {
			weigh_row(w, t->functions[f].first + i);
			add(&w->functions[f], &w->rows[t->functions[f].first + i]);
		}
		add(&w->total, &w->functions[f]);
	}
	for (int m = 0; m < PATH_METRICS; m++)
		w->has[m] = w->total.metrics[m] > 0;
}

int path_weights_new(const struct path_tally *t, const struct query *q, struct image_finder *finder,
		     struct path_weights *ret)
{
	int r = 0;

	*ret = (struct path_weights){.tally = t};
	ret->rows = calloc(t->row_count + 1, sizeof(*ret->rows));
	ret->functions = calloc(t->function_count + 1, sizeof(*ret->functions));
	if (!ret->rows || !ret->functions)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->image_count && !r; i++)
		r = weigh_image(ret, i, q, finder);
	sum_up(ret);
	return r;
}

void path_weights_free(struct path_weights *w)
{
	free(w->rows);
	free(w->functions);
}

enum path_metric path_weights_best(const struct path_weights *w)
{
	for (int m = 0; m < PATH_EXECUTIONS; m++)
		if (w->has[m] && (m != PATH_SAMPLES || w->total.metrics[m] >= PATH_SAMPLES_LEAST))
			return (enum path_metric)m;
	return PATH_EXECUTIONS;
}

static enum path_class class_of(const struct path_weight *whole, const struct path_weight *one,
				enum path_metric by, double hot_percent)
{
	const enum path_metric base = path_metric_base(by);
	const double value = one->metrics[by], all = whole->metrics[by];

	if (value <= 0 || value < hot_percent / 100 * all)
		return PATH_COLD;
	return one->metrics[base] > 0 && value * whole->metrics[base] > all * one->metrics[base]
		       ? PATH_DENSE
		       : PATH_SPARSE;
}

void path_weights_classify(struct path_weights *w, enum path_metric by, double hot_percent,
			   const struct path_weight *whole)
{
	for (size_t i = 0; i < w->tally->row_count; i++)
		w->rows[i].class = class_of(whole, &w->rows[i], by, hot_percent);
	for (size_t i = 0; i < w->tally->function_count; i++)
		w->functions[i].class = class_of(whole, &w->functions[i], by, hot_percent);
}

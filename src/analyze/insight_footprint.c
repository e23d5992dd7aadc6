/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * How much code is in use: the lines and pages that make up 99% of what an image executes. A cache
 * of code that holds them all can only miss when something else ran in between.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "analyze/insight_state.h"
#include "analyze/culprits/line_life.h"
#include "util/array.h"
#include "util/num.h"

#define USED_SHARE   0.99
#define UNSEEN_SHARE 0.05 /* of samples in places hit once, from which on many were missed */

struct visit {
	uint64_t place;
	double count, most; /* executions of its blocks: all, and of the one with the most */
};

struct visits {
	struct visit *list;
	size_t count, room;
};

static int add_visit(struct visits *v, uint64_t place, double count)
{
	if (array_grow(&v->list, v->count, &v->room, sizeof(*v->list), 1024))
		return -ENOMEM;
	v->list[v->count++] = (struct visit){place, count, count};
	return 0;
}

static int by_place(const void *pa, const void *pb)
{
	const struct visit *a = pa, *b = pb;

	return NUM_ORDER(a->place, b->place);
}

static int by_count(const void *pa, const void *pb)
{
	const struct visit *a = pa, *b = pb;

	return NUM_ORDER(b->count, a->count);
}

/* Sums visits of one place. */
static void join(struct visits *v, unsigned shift)
{
	size_t n = 0;

	for (size_t i = 0; i < v->count; i++)
		v->list[i].place >>= shift;
	array_sort(v->list, v->count, sizeof(*v->list), by_place);
	for (size_t i = 0; i < v->count; i++) {
		if (n > 0 && v->list[n - 1].place == v->list[i].place) {
			v->list[n - 1].count += v->list[i].count;
			v->list[n - 1].most = fmax(v->list[n - 1].most, v->list[i].most);
		} else {
			v->list[n++] = v->list[i];
		}
	}
	v->count = n;
}

static double used(const struct visits *v, struct visit *scratch)
{
	double sum = 0, seen = 0;
	size_t n = 0;

	for (size_t i = 0; i < v->count; i++) {
		scratch[i] = v->list[i];
		sum += v->list[i].count;
	}
	array_sort(scratch, v->count, sizeof(*scratch), by_count);
	while (n < v->count && seen < USED_SHARE * sum)
		seen += scratch[n++].count;
	return (double)n;
}

static int add_function(struct visits *v, const struct frequency_function *q, unsigned line_shift)
{
	const struct cfg_function *f = q->function;
	int r = 0;

	for (uint32_t b = 0; b < f->block_count && !r; b++) {
		double count = q->block_count[b].value;

		if (count <= 0 || f->blocks[b].end <= f->blocks[b].start)
			continue;
		for (uint64_t line = f->blocks[b].start >> line_shift;
		     line <= (f->blocks[b].end - 1) >> line_shift && !r; line++)
			r = add_visit(v, line << line_shift, count);
	}
	return r;
}

/*
 * The places of 1 << shift bytes that samples hit, with those that they have missed: Chao (1984),
 * from how many were hit once and twice. Where few samples are of places hit once, none are
 * missing that matter (Good 1953), and 0 is returned.
 */
static double unseen(const struct insight_image *image, unsigned shift)
{
	double seen = 0, once = 0, twice = 0;

	for (size_t i = 0; i < image->sample_count;) {
		uint64_t place = image->samples[i].offset >> shift, count = 0;

		for (; i < image->sample_count && image->samples[i].offset >> shift == place; i++)
			count += image->samples[i].count;
		seen++;
		once += count == 1;
		twice += count == 2;
	}
	if (once < UNSEEN_SHARE * (double)image->total)
		return 0;
	return seen + once * (once - 1) / (2 * (twice + 1));
}

/* Of all images: executions of each line; and how many are in use, those not seen included. */
struct lines {
	double *count;
	size_t number, room;
	double used;
};

static int add_lines(struct lines *l, const struct visits *v, double used_lines)
{
	for (size_t i = 0; i < v->count; i++) {
		if (array_grow(&l->count, l->number, &l->room, sizeof(*l->count), 1024))
			return -ENOMEM;
		l->count[l->number++] = v->list[i].most;
	}
	l->used += fmax((double)v->count, used_lines);
	return 0;
}

/* The life is of the program: its images take each other's room. */
static void set_life(struct insights *all, const struct lines *l)
{
	double life = line_life(l->count, l->number, l->used, all->limits.icache_lines);

	for (size_t i = 0; i < all->image_count; i++) {
		all->images[i].footprint.life = life;
		all->images[i].footprint.cycles =
			(double)all->samples * all->basis.cycles_per_sample;
	}
}

int insight_footprints(struct insights *all)
{
	size_t count;
	const struct frequency_function *list = frequency_functions(all->frequency, &count);
	struct visits v = {NULL};
	struct lines lines = {NULL};
	int r = 0;

	for (size_t i = 0; i < count && !r;) {
		uint32_t number = list[i].image;
		struct insight_image *image = &all->images[all->by_number[number]];

		v.count = 0;
		for (; i < count && list[i].image == number && !r; i++)
			r = add_function(&v, &list[i], 6);
		struct visit *scratch = calloc(v.count + 1, sizeof(*scratch));
		if (r || !scratch) {
			free(scratch);
			r = -ENOMEM;
			break;
		}
		join(&v, 6);
		image->footprint.code_lines = fmax(used(&v, scratch), unseen(image, 6));
		r = add_lines(&lines, &v, unseen(image, 6));
		join(&v, 6);
		image->footprint.code_pages = fmax(used(&v, scratch), unseen(image, 12));
		image->footprint.known = v.count > 0;
		free(scratch);
		all->basis.footprint.code_lines += image->footprint.code_lines;
		all->basis.footprint.code_pages += image->footprint.code_pages;
	}
	all->basis.footprint.known = count > 0;
	set_life(all, &lines);
	free(lines.count);
	free(v.list);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "report/why/why_state.h"
#include "util/array.h"
#include "util/num.h"

/* From the stalls of instructions to the lines that are to blame for them. */

/* A lower level than memory is the best that can be, where latencies do not tell more. */
static uint8_t level_of(const struct culprit *c, const struct frequency_estimate *count)
{
	bool memory = c->level == 4 && count->confidence >= FREQUENCY_MEDIUM;

	return c->level_sure || memory ? c->level : 0;
}

/* A culprit belongs where the code is that makes the others wait: at the instruction to blame. */
static void take_culprit(const struct insight *i, const struct insight_instruction *in,
			 const struct culprit *c, struct why_place *ret)
{
	double each = in->charged / in->cpi.value; /* samples of a cycle per execution */

	*ret = (struct why_place){
		.image = i->image,
		.function = i->name,
		.function_start = i->start,
		.address = c->blame != ISA_NO_ADDRESS ? c->blame : in->address,
		.level = level_of(c, &i->blocks[in->block].count),
		.samples = c->likely * each,
		.count = i->blocks[in->block].count.value,
		.confidence = i->blocks[in->block].count.confidence,
	};
	ret->likely[c->cause] = ret->samples;
	ret->sure[c->cause] = c->low * each;
	ret->cycles_count = c->likely * ret->count;
}

static int take_instruction(struct why *w, const struct insight *i,
			    const struct insight_instruction *in)
{
	const struct culprit_list *list = &in->culprits;

	for (uint32_t k = 0; k < list->count && in->cpi.value > 0; k++) {
		struct why_place p;

		take_culprit(i, in, &list->list[k], &p);
		if (why_share(w, p.samples) < WHY_PIECE_PERCENT)
			continue;
		if (array_grow_short(&w->places, w->place_count, sizeof(*w->places)))
			return -ENOMEM;
		w->places[w->place_count++] = p;
	}
	return 0;
}

/* A function whose code cannot be read has no places; the ranking has it all the same. */
static int look_into(struct why *w, const struct insights_function *f)
{
	struct insight *one;
	int r = insight_new(w->estimates.all, f->image, f->start, &one, NULL);

	if (r)
		return r == -ENOMEM ? r : 0;
	insight_summary_add(&w->whole, &one->summary);
	w->looked[w->looked_count++] = (struct why_function){
		.of = f, .summary = one->summary, .entries = one->entries, .cpi = one->cpi};
	for (size_t k = 0; k < one->instruction_count && !r; k++)
		r = take_instruction(w, one, &one->instructions[k]);
	insight_free(one);
	return r;
}

static int look_at_functions(struct why *w)
{
	size_t count;
	const struct insights_function *list = insights_functions(w->estimates.all, &count);
	double seen = 0;
	int r = 0;

	w->looked = calloc(WHY_FUNCTIONS_MAX, sizeof(*w->looked));
	if (!w->looked)
		return -ENOMEM;
	for (size_t i = 0; i < count && w->looked_count < WHY_FUNCTIONS_MAX && !r; i++) {
		if (why_share(w, seen) >= WHY_CUTOFF_PERCENT)
			break;
		if (estimates_skips(&w->estimates, &list[i]))
			continue;
		seen += (double)list[i].samples;
		if (w->session->progress)
			w->session->progress("explaining functions, %zu of %zu", i + 1, count);
		r = look_into(w, &list[i]);
	}
	return r;
}

/* Lines of the places of one image, from the first on that has none yet. */
static int find_lines_of(struct why *w, size_t first, uint64_t *addresses)
{
	const struct query_image *image = w->places[first].image;
	struct image_lines *lines;
	size_t end = first;

	for (; end < w->place_count && w->places[end].image == image; end++)
		addresses[end - first] = w->places[end].address;
	if (image_find_lines(w->session->finder, &image->id, image->path, addresses, end - first,
			     &lines, NULL))
		return 0;
	if (array_grow_short(&w->lines, w->line_sets, sizeof(struct image_lines *))) {
		image_lines_free(lines);
		return -ENOMEM;
	}
	w->lines[w->line_sets++] = lines;
	for (size_t i = first; i < end; i++) {
		const struct image_frame *f;

		if (image_lines_frames(lines, i - first, &f) && f->file && f->line)
			w->places[i].frame = f;
	}
	return 0;
}

static int find_lines(struct why *w)
{
	uint64_t *addresses = calloc(w->place_count + 1, sizeof(*addresses));
	int r = addresses ? 0 : -ENOMEM;

	for (size_t i = 0; i < w->place_count && !r; i++)
		if (i == 0 || w->places[i].image != w->places[i - 1].image)
			r = find_lines_of(w, i, addresses);
	free(addresses);
	return r;
}

static int compare_images(const void *pa, const void *pb)
{
	const struct why_place *a = pa, *b = pb;

	return NUM_ORDER(a->image, b->image) ?: NUM_ORDER(a->address, b->address);
}

static int compare_lines(const struct image_frame *a, const struct image_frame *b)
{
	if (!a || !b)
		return NUM_ORDER(a != NULL, b != NULL);
	return NUM_ORDER(a->line, b->line) ?: strcmp(a->file, b->file);
}

/* What is one place stands together: its line, else its address. */
static int compare_places(const struct why_place *a, const struct why_place *b)
{
	return NUM_ORDER(a->image, b->image) ?: NUM_ORDER(a->function_start, b->function_start) ?:
	       compare_lines(a->frame, b->frame) ?:
	       (a->frame ? 0 : NUM_ORDER(a->address, b->address));
}

static int compare_parts(const void *pa, const void *pb)
{
	const struct why_place *a = pa, *b = pb;

	return compare_places(a, b) ?: NUM_ORDER(b->samples, a->samples) ?:
	       NUM_ORDER(a->address, b->address);
}

static int compare_samples(const void *pa, const void *pb)
{
	const struct why_place *a = pa, *b = pb;

	return NUM_ORDER(b->samples, a->samples) ?: compare_parts(a, b);
}

/* to has the most samples: it tells where the place is. A line runs as often as its instruction
 * that runs most. */
static void add_part(struct why_place *to, const struct why_place *part)
{
	bool has_level = to->likely[CULPRIT_DCACHE] > 0;

	for (unsigned k = 0; k < CULPRIT_CAUSES; k++) {
		to->likely[k] += part->likely[k];
		to->sure[k] += part->sure[k];
	}
	to->samples += part->samples;
	to->cycles_count += part->cycles_count;
	if (part->count > to->count) {
		to->count = part->count;
		to->confidence = part->confidence;
	}
	if (part->likely[CULPRIT_DCACHE] > 0)
		to->level = !has_level || part->level == to->level ? part->level : 0;
}

static void join_places(struct why *w)
{
	size_t kept = 0;

	array_sort(w->places, w->place_count, sizeof(*w->places), compare_parts);
	for (size_t i = 0; i < w->place_count; i++)
		if (kept && !compare_places(&w->places[kept - 1], &w->places[i]))
			add_part(&w->places[kept - 1], &w->places[i]);
		else
			w->places[kept++] = w->places[i];
	w->place_count = kept;
	array_sort(w->places, w->place_count, sizeof(*w->places), compare_samples);
}

int why_find_places(struct why *w, struct diag *diag)
{
	int r = look_at_functions(w);

	array_sort(w->places, w->place_count, sizeof(*w->places), compare_images);
	if (!r)
		r = find_lines(w);
	if (!r)
		join_places(w);
	return r ? diag_fail(diag, -r, "out of memory") : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Makes images, and their functions when they are first asked for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cfg/build.h"
#include "util/array.h"
#include "util/num.h"
#include "util/search.h"

/* Tables in code that is only reached through tables, and so on. */
#define ROUNDS_MAX 16

/* The end of the code region that has the address. */
static uint64_t region_end(const struct cfg_source *s, uint64_t address)
{
	size_t i = SEARCH_FIRST(s->code_count, n, s->code[n].address > address);

	return s->code[i - 1].address + s->code[i - 1].size;
}

/* By start; of several at one start the frame first, as it knows the size. */
static int compare_extents(const void *pa, const void *pb)
{
	const struct cfg_extent *a = pa, *b = pb;

	return NUM_ORDER(a->start, b->start) ?: (int)b->frame - (int)a->frame;
}

/* The linker makes one frame for the whole procedure linkage table. */
static bool is_plt_entry(const char *name)
{
	const size_t size = name ? strlen(name) : 0;

	return size > 4 && strcmp(name + size - 4, "@plt") == 0;
}

/* Adds one extent if its start is code. Symbols within a frame are labels, not functions. */
static void add_place(struct cfg_image *image, const struct cfg_extent *e, uint64_t *frame_end)
{
	const struct cfg_source *s = image->source;
	struct cfg_place *last = image->place_count ? &image->places[image->place_count - 1] : NULL;
	size_t ignored;

	if (!cfg_code_at(image, e->start, &ignored))
		return;
	if (last && last->start == e->start) {
		if (!last->name)
			last->name = e->name;
		return;
	}
	if (!e->frame && e->start < *frame_end && !is_plt_entry(e->name))
		return;
	if (last && last->end > e->start)
		last->end = e->start;
	const uint64_t limit = region_end(s, e->start);
	const bool known = e->size && e->size <= limit - e->start;
	const uint64_t end = known ? e->start + e->size : limit;
	if (e->frame && known)
		*frame_end = end;
	image->places[image->place_count++] =
		(struct cfg_place){e->start, end, e->name, known, e->part, UINT32_MAX};
}

static int make_places(struct cfg_image *image)
{
	const struct cfg_source *s = image->source;
	struct cfg_extent *sorted = calloc(s->extent_count + 1, sizeof(*sorted));
	uint64_t frame_end = 0;

	image->places = calloc(s->extent_count + 1, sizeof(*image->places));
	if (!image->places || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	if (s->extent_count)
		memcpy(sorted, s->extents, s->extent_count * sizeof(*sorted));
	array_sort(sorted, s->extent_count, sizeof(*sorted), compare_extents);
	for (size_t i = 0; i < s->extent_count; i++)
		add_place(image, &sorted[i], &frame_end);
	free(sorted);
	return 0;
}

int cfg_image_new(const struct cfg_source *source, struct cfg_image **ret, struct diag *diag)
{
	struct cfg_image *image = calloc(1, sizeof(*image));
	int r = image ? isa_decoder_new(source->machine, source->bits, ISA_SYNTAX_ATT,
					&image->decoder, diag)
		      : -ENOMEM;

	if (r < 0) {
		free(image);
		return r;
	}
	image->source = source;
	image->returns = map64_new(CFG_FUNCTIONS_MAX);
	image->functions = map64_new(CFG_FUNCTIONS_MAX);
	image->extra_known = map64_new(CFG_FUNCTIONS_MAX);
	image->builder = cfg_builder_new();
	for (size_t i = 0; i < source->code_count; i++)
		image->foreign_budget += source->code[i].size;
	if (!image->returns || !image->functions || !image->extra_known || !image->builder ||
	    make_places(image) < 0) {
		cfg_image_free(image);
		return diag_fail(diag, ENOMEM, "out of memory for control-flow graphs");
	}
	*ret = image;
	return 0;
}

void cfg_owned_free(struct cfg_owned *o)
{
	free(o->code);
	free(o->data);
	free(o->extents);
	free(o->memory);
	free(o->names);
	image_layout_free(o->layout);
}

void cfg_image_forget_functions(struct cfg_image *image)
{
	for (size_t i = 0; i < image->built_count; i++)
		free(image->built[i]);
	image->built_count = 0;
	if (image->functions)
		map64_clear(image->functions);
}

void cfg_image_free(struct cfg_image *image)
{
	if (!image)
		return;
	cfg_image_forget_functions(image);
	free(image->built);
	free(image->places);
	free(image->extra);
	free(image->references);
	map64_free(image->extra_known);
	map64_free(image->returns);
	map64_free(image->functions);
	cfg_builder_free(image->builder);
	isa_decoder_free(image->decoder);
	isa_memo_free(image->memo);
	cfg_owned_free(&image->owned);
	free(image);
}

size_t cfg_image_count(struct cfg_image *image)
{
	return image->place_count + image->extra_count;
}

uint64_t cfg_image_entry(struct cfg_image *image, size_t index)
{
	return index < image->place_count ? image->places[index].start
					  : image->extra[index - image->place_count];
}

static int keep_function(struct cfg_image *image, struct cfg_function *f)
{
	if (array_grow(&image->built, image->built_count, &image->built_room, sizeof(*image->built),
		       256))
		return -ENOMEM;
	int r = map64_put(image->functions, f->entry, image->built_count);
	if (!r)
		image->built[image->built_count++] = f;
	return r;
}

/* One function's graph, new. 0, -ENOENT: no code at the entry, -ENOMEM. */
static int build_function(struct cfg_image *image, uint64_t entry, struct cfg_function **ret)
{
	struct cfg_builder *b = image->builder;
	struct cfg_function *f = NULL;
	bool more = true;
	size_t size;

	if (!cfg_code_at(image, entry, &size))
		return -ENOENT;
	int r = build_start(b, image, entry);
	for (unsigned round = 0; more && !r; round++) {
		free(f);
		f = NULL;
		more = false;
		r = build_explore(b);
		if (!r)
			r = build_assemble(b, &f);
		if (!r && b->jump_count && round < ROUNDS_MAX)
			r = build_resolve_jumps(b, f, &more);
		if (!r && b->jump_count && !more) { /* once more, with what is known of them */
			free(f);
			f = NULL;
			r = build_assemble(b, &f);
		}
	}
	if (r < 0) {
		free(f);
		return r;
	}
	*ret = f;
	return 0;
}

static int function_from(struct cfg_image *image, uint64_t entry, const struct cfg_function **ret)
{
	struct cfg_function *f;
	uint64_t index;

	if (map64_get(image->functions, entry, &index) == 0) {
		*ret = image->built[index];
		return 0;
	}
	int r = build_function(image, entry, &f);
	if (r < 0)
		return r;
	r = keep_function(image, f);
	if (r < 0) {
		free(f);
		return r;
	}
	*ret = f;
	return 0;
}

/* The entry of the function whose code the address most likely is. */
static void owner_entry(struct cfg_image *image, const struct cfg_place *place, uint64_t *ret)
{
	*ret = place->start;
	if (!cfg_place_is_part(place))
		return;
	if (!image->owners_made)
		cfg_find_owners(image);
	if (place->owner != UINT32_MAX)
		*ret = image->places[place->owner].start;
}

/* Code that nothing tells of but calls: the last entry before the address, in the same gap. */
static uint64_t gap_entry(const struct cfg_image *image, uint64_t address)
{
	size_t i = SEARCH_FIRST(image->place_count, n, image->places[n].start > address);
	const uint64_t low = i ? image->places[i - 1].end : 0;
	uint64_t best = address;
	bool found = false;

	for (size_t k = 0; k < image->extra_count; k++) {
		uint64_t e = image->extra[k];

		if (e <= address && e >= low && (!found || e > best)) {
			best = e;
			found = true;
		}
	}
	return best;
}

int cfg_image_function(struct cfg_image *image, uint64_t address, const struct cfg_function **ret)
{
	const struct cfg_place *place = cfg_place_at(image, address);
	uint64_t entry;

	if (map64_get(image->extra_known, address, &entry) == 0)
		return function_from(image, address, ret);
	if (!place)
		return function_from(image, gap_entry(image, address), ret);
	owner_entry(image, place, &entry);
	return function_from(image, entry, ret);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "find/find.h"
#include "image/lines_new.h"
#include "util/array.h"
#include "util/num.h"

struct code_place {
	uint64_t address;
	uint32_t image;
};

/* What the profile says of an image: names and lines, an image at a time. */
struct telling {
	struct store *s;
	struct image_finder *finder;
	struct import_result *result;
	struct told { /* of all images, by image and address */
		struct code_place at;
		struct store_text chain;
	} * told;
	size_t count;
	struct code_place *places; /* what has samples or is in a stack, by image and address */
	size_t place_count;
	uint64_t *addresses; /* of one image; room for all places */
};

/* Also of what is told at places. */
static int compare_places(const void *a, const void *b)
{
	const struct code_place *x = a, *y = b;

	return NUM_ORDER(x->image, y->image) ?: NUM_ORDER(x->address, y->address);
}

static int collect_places(struct telling *t)
{
	const struct store *s = t->s;

	t->places = calloc(s->place_count + 1, sizeof(*t->places));
	t->addresses = calloc(s->place_count + 1, sizeof(*t->addresses));
	if (!t->places || !t->addresses)
		return -ENOMEM;
	for (size_t i = 0; i < s->place_count; i++) {
		struct code_place *p = &t->places[t->place_count];

		p->image = s->places[i].image;
		t->place_count +=
			store_offset(&s->images[p->image], s->places[i].offset, &p->address);
	}
	array_sort(t->places, t->place_count, sizeof(*t->places), compare_places);
	return 0;
}

static int collect(struct telling *t)
{
	const struct store *s = t->s;

	t->told = calloc(s->line_count + 1, sizeof(*t->told));
	if (!t->told)
		return -ENOMEM;
	for (size_t i = 0; i < s->line_count; i++) {
		const struct store_place *p = &s->places[s->lines[i].place];
		struct told *told = &t->told[t->count];

		*told = (struct told){.at.image = p->image, .chain = s->lines[i].chain};
		t->count += store_offset(&s->images[p->image], p->offset, &told->at.address);
	}
	array_sort(t->told, t->count, sizeof(*t->told), compare_places);
	return collect_places(t);
}

/* Terminated; NULL: not known, or no memory. */
static const char *get_string(struct store *s, uint64_t number)
{
	const struct store_text *text = number ? &s->strings[number - 1] : NULL;

	return text ? arena_strndup(s->memory, text->at, text->size) : NULL;
}

static size_t read_chain(struct telling *t, const struct told *told, struct image_frame *frames)
{
	struct cursor c = cursor_over(told->chain.at, told->chain.size);
	size_t count = 0;

	for (; cursor_left(&c) && count < HARVEST_LINES_MAX; count++) {
		frames[count] =
			(struct image_frame){.function = get_string(t->s, cursor_varint(&c))};
		frames[count].file = get_string(t->s, cursor_varint(&c));
		frames[count].line = (uint32_t)cursor_varint(&c);
	}
	return count;
}

static int tell_lines(struct telling *t, const struct image_id *id, const struct told *told,
		      size_t count)
{
	uint64_t *addresses = calloc(count + 1, sizeof(*addresses));
	struct image_lines *lines = NULL;
	int r = addresses ? image_lines_new(count, &lines) : -ENOMEM;

	for (size_t i = 0; i < count && !r; i++) {
		struct image_frame known[HARVEST_LINES_MAX];
		struct lines_frame frames[HARVEST_LINES_MAX];
		size_t n = read_chain(t, &told[i], known);

		addresses[i] = told[i].at.address;
		for (size_t k = 0; k < n; k++)
			frames[k] = (struct lines_frame){
				.function = image_lines_string(lines, known[k].function),
				.file = image_lines_string(lines, known[k].file),
				.line = known[k].line,
			};
		r = image_lines_set(lines, i, frames, n);
	}
	if (!r)
		r = image_lines_finish(lines);
	if (r)
		image_lines_free(lines);
	else
		r = image_finder_tell_lines(t->finder, id, addresses, count, lines, NULL);
	free(addresses);
	return r;
}

/* The function that has the code at each address; neighbours will be joined. */
static size_t symbols_of_lines(struct telling *t, const struct told *told, size_t count,
			       struct image_symbol *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct image_frame known[HARVEST_LINES_MAX];
		size_t n = read_chain(t, &told[i], known);
		const char *name = n ? known[n - 1].function : NULL;

		if (name && *name)
			list[kept++] = (struct image_symbol){told[i].at.address, 1, name};
	}
	return kept;
}

static int compare_symbols(const void *a, const void *b)
{
	const struct store_symbol *x = a, *y = b;

	return NUM_ORDER(x->image, y->image);
}

static size_t symbols_by_name(struct telling *t, const struct store_symbol *symbols, size_t count,
			      struct image_symbol *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		const struct store_text *name = &t->s->strings[symbols[i].name];
		const char *copy = arena_strndup(t->s->memory, name->at, name->size);

		if (copy && *copy)
			list[kept++] =
				(struct image_symbol){harvest_symbol_start(name->at, name->size),
						      HARVEST_SYMBOL_STEP, copy};
	}
	return kept;
}

struct part { /* of what is told: that of one image */
	const struct told *told;
	const struct store_symbol *symbols;
	const struct code_place *places;
	size_t told_count, symbol_count, place_count;
};

/* What the image's own files tell. */
static int keep_files(struct telling *t, const struct store_image *image, const struct part *p)
{
	int r = image_finder_keep(t->finder, &image->id, image->name, NULL);

	if (r || !image_finder_wants_functions(t->finder, &image->id, image->name))
		return r;
	for (size_t i = 0; i < p->place_count; i++)
		t->addresses[i] = p->places[i].address;
	return image_finder_keep_functions(t->finder, &image->id, image->name, t->addresses,
					   p->place_count, NULL, NULL);
}

/* Better ones will be looked for again by reports. */
static int keep_image(struct telling *t, const struct store_image *image, const struct part *p)
{
	struct image_symbol *list;
	size_t kept;
	int r = 0;

	if (image->id.kind == IMAGE_UNKNOWN || image->id.kind == IMAGE_NOTE)
		return 0;
	if (image->kind != HARVEST_NAMES && keep_files(t, image, p) == -EIO &&
	    !t->result->images_unwritten++)
		snprintf(t->result->unwritten_why.text, sizeof(t->result->unwritten_why.text), "%s",
			 image_finder_keep_why(t->finder));
	list = calloc(p->symbol_count + p->told_count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	kept = image->kind == HARVEST_NAMES ? symbols_by_name(t, p->symbols, p->symbol_count, list)
					    : symbols_of_lines(t, p->told, p->told_count, list);
	if (kept)
		r = image_finder_tell_symbols(t->finder, &image->id, list, kept, NULL);
	free(list);
	if (!r && p->told_count)
		r = tell_lines(t, &image->id, p->told, p->told_count);
	return r;
}

/* The part of an image, by the one of the image before. */
static void find_part(const struct telling *t, uint32_t image, struct part *p)
{
	const struct told *told_end = t->told + t->count;
	const struct store_symbol *symbols_end = t->s->symbols + t->s->symbol_count;
	const struct code_place *places_end = t->places + t->place_count;

	p->told += p->told_count;
	p->symbols += p->symbol_count;
	p->places += p->place_count;
	p->told_count = p->symbol_count = p->place_count = 0;
	while (p->told + p->told_count < told_end && p->told[p->told_count].at.image == image)
		p->told_count++;
	while (p->symbols + p->symbol_count < symbols_end &&
	       p->symbols[p->symbol_count].image == image)
		p->symbol_count++;
	while (p->places + p->place_count < places_end && p->places[p->place_count].image == image)
		p->place_count++;
}

int store_keep_names(struct store *s, const struct import_target *target,
		     struct import_result *result, struct diag *diag)
{
	struct telling t = {.s = s, .result = result};
	struct part p = {0};
	int r = image_finder_new(target->db, result->machine, &t.finder);

	if (!r) {
		image_finder_lend_kernel(t.finder, target->kernel);
		r = collect(&t);
	}
	if (!r && s->symbol_count)
		array_sort(s->symbols, s->symbol_count, sizeof(*s->symbols), compare_symbols);
	p.told = t.told;
	p.symbols = s->symbols;
	p.places = t.places;
	for (uint32_t i = 0; i < s->image_count && !r; i++) {
		if (store_tell(target, "keeping symbols", i, s->image_count))
			break;
		find_part(&t, i, &p);
		if (s->images[i].used)
			r = keep_image(&t, &s->images[i], &p);
	}
	if (t.finder) {
		struct image_finder_counts counts = image_finder_counts(t.finder);

		result->code_refused = counts.code_refused + counts.lines_refused;
	}
	if (r)
		diag_fail(diag, -r, "cannot keep names: %s",
			  t.finder && *image_finder_keep_why(t.finder)
				  ? image_finder_keep_why(t.finder)
				  : strerror(-r));
	image_finder_free(t.finder);
	free(t.told);
	free(t.places);
	free(t.addresses);
	return r;
}

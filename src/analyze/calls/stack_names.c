/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/calls/stack_reader.h"
#include "util/array.h"
#include "util/num.h"

/* Functions and places of the frames of a set, an image at a time. */

#define FUNCTIONS_MAX (1u << 24)

struct function_key {
	uint64_t start;
	uint32_t image, kind;
	uint32_t name; /* of an inlined one: number of its name, plus one */
	uint32_t by_name;
};

struct naming {
	struct stack_set *set;
	const struct stack_options *options;
	const struct rank_source *source;
	struct intern *keys; /* of functions */

	/* The image at hand. */
	uint32_t image;
	const struct image_symbols *symbols; /* NULL: none */
	struct image_lines *lines;	     /* NULL: none */
};

struct frame_order {
	uint64_t offset;
	uint32_t image, frame;
};

static int compare_frames(const void *a, const void *b)
{
	const struct frame_order *x = a, *y = b;

	return NUM_ORDER(x->image, y->image) ?: NUM_ORDER(x->offset, y->offset);
}

static const char *keep_name(struct naming *n, const char *name, uint32_t *ret_index)
{
	uint32_t index;

	if (intern_add(n->set->names, name, strlen(name), &index))
		return NULL;
	if (ret_index)
		*ret_index = index;
	return intern_get(n->set->names, index, NULL);
}

static int find_function(struct naming *n, const struct stack_function *f, uint32_t name,
			 uint32_t *ret)
{
	struct function_key key = {.start = f->start,
				   .image = f->image,
				   .kind = f->kind,
				   .name = f->inlined ? name + 1 : 0,
				   .by_name = f->by_name};
	struct stack_set *s = n->set;

	/* What no image explains is one function, whatever process it is from. */
	if (f->kind == STACK_UNKNOWN)
		key.image = UINT32_MAX;
	int r = intern_add(n->keys, &key, sizeof(key), ret);
	if (r || *ret < s->function_count)
		return r;
	return stack_set_add_function(s, f);
}

/* The function that has the frame's code. */
static struct stack_function outer_function(const struct naming *n, const struct stack_frame *f,
					    const struct image_frame *known)
{
	const struct query_image *image = &n->set->images[n->image];
	const struct image_function *fn = NULL;

	if (image->id.kind == IMAGE_NOTE)
		return (struct stack_function){.image = n->image,
					       .kind = STACK_NOTE,
					       .start = f->offset,
					       .name = image->path};
	if (image->id.kind == IMAGE_UNKNOWN)
		return (struct stack_function){
			.image = n->image, .kind = STACK_UNKNOWN, .name = RANK_UNKNOWN};
	if (n->symbols)
		fn = image_symbols_find(n->symbols, f->offset);
	if (fn)
		return (struct stack_function){.image = n->image,
					       .kind = STACK_CODE,
					       .start = fn->start,
					       .name = fn->demangled};
	if (known && known->function)
		return (struct stack_function){
			.image = n->image, .kind = STACK_CODE, .name = known->function};
	return (struct stack_function){
		.image = n->image, .kind = STACK_NO_SYMBOL, .name = RANK_NO_SYMBOL};
}

static int add_level(struct naming *n, struct stack_function *f, const struct image_frame *known)
{
	struct stack_place place = {0};
	uint32_t name = 0;

	if (f->inlined || (f->kind == STACK_CODE && known && f->name == known->function)) {
		f->name = keep_name(n, f->name, &name);
		if (!f->name)
			return -ENOMEM;
		/* Without a symbol, the name is all there is to tell it by. */
		f->by_name = !f->inlined;
		if (f->by_name)
			f->start = name;
	}
	if (known && known->file) {
		place.file = keep_name(n, known->file, NULL);
		place.line = known->line;
		if (!place.file)
			return -ENOMEM;
	}
	int r = find_function(n, f, name, &place.function);
	return r ? r : stack_set_add_place(n->set, &place);
}

static int name_frame(struct naming *n, struct stack_frame *f, size_t address)
{
	const struct image_frame *known = NULL;
	size_t count = n->lines ? image_lines_frames(n->lines, address, &known) : 0;
	struct stack_function fn = outer_function(n, f, count ? &known[count - 1] : NULL);

	f->first_place = (uint32_t)n->set->place_count;
	f->idle = fn.kind == STACK_CODE && rank_is_idle(&n->set->images[n->image].id, fn.name);
	int r = add_level(n, &fn, count ? &known[count - 1] : NULL);
	for (size_t i = count ? count - 1 : 0; i-- > 0 && !r;) {
		fn = (struct stack_function){
			.image = n->image,
			.kind = STACK_CODE,
			.inlined = true,
			.name = known[i].function ? known[i].function : RANK_NO_SYMBOL,
		};
		r = add_level(n, &fn, &known[i]);
	}
	f->place_count = (uint32_t)n->set->place_count - f->first_place;
	return r;
}

static int load_lines(struct naming *n, const struct frame_order *order, size_t count)
{
	const struct query_image *image = &n->set->images[n->image];
	uint64_t *addresses = reallocarray(NULL, count + 1, sizeof(*addresses));
	struct diag detail = {""};

	if (!addresses)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		addresses[i] = order[i].offset;
	int r = n->source->lines(n->source->arg, &image->id, image->path, addresses, count,
				 &n->lines, &detail);
	free(addresses);
	if (!r || r == -ENOMEM)
		return r;
	n->lines = NULL;
	if (!n->set->images_without_lines++)
		n->set->lines_reason = detail;
	return 0;
}

static int load_image(struct naming *n, const struct frame_order *order, size_t count)
{
	const struct query_image *image = &n->set->images[n->image];
	struct diag detail = {""};

	n->symbols = NULL;
	n->lines = NULL;
	if (image->id.kind == IMAGE_NOTE || image->id.kind == IMAGE_UNKNOWN)
		return 0;
	int r = n->source->symbols(n->source->arg, &image->id, image->path, &n->symbols, &detail);
	if (r == -ENOMEM)
		return r;
	if (r) {
		n->symbols = NULL;
		if (!n->set->images_without_symbols++)
			n->set->symbols_reason = detail;
	}
	/* What scripts run says its line itself; as an address it says nothing. */
	return n->options->inlines || image->id.kind == IMAGE_SCRIPT ? load_lines(n, order, count)
								     : 0;
}

/* The frames of one image. */
static int name_image(struct naming *n, const struct frame_order *order, size_t count)
{
	n->image = order->image;
	int r = load_image(n, order, count);
	for (size_t i = 0; i < count && !r; i++)
		r = name_frame(n, &n->set->frames[order[i].frame], i);
	image_lines_free(n->lines);
	n->lines = NULL;
	return r;
}

static int name_all(struct naming *n, struct frame_order *order)
{
	struct stack_set *s = n->set;
	size_t end;
	int r = 0;

	for (size_t i = 0; i < s->frame_count; i++)
		order[i] =
			(struct frame_order){s->frames[i].offset, s->frames[i].image, (uint32_t)i};
	array_sort(order, s->frame_count, sizeof(*order), compare_frames);
	for (size_t i = 0; i < s->frame_count && !r; i = end) {
		for (end = i + 1; end < s->frame_count && order[end].image == order[i].image;)
			end++;
		r = name_image(n, order + i, end - i);
	}
	return r;
}

int stack_set_name(struct stack_set *s, const struct stack_options *options,
		   const struct rank_source *source, struct diag *diag)
{
	struct naming n = {.set = s, .options = options, .source = source};
	struct frame_order *order = reallocarray(NULL, s->frame_count + 1, sizeof(*order));

	n.keys = intern_new(FUNCTIONS_MAX);
	int r = order && n.keys ? name_all(&n, order) : -ENOMEM;
	free(order);
	intern_free(n.keys);
	if (r)
		return diag_fail(diag, -r, "%s",
				 r == -ENOSPC ? "the stacks have too many functions; select less"
					      : "out of memory");
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cfg/cfg.h"
#include "image/lines.h"
#include "image/symbols.h"
#include "util/array.h"
#include "util/num.h"
#include "view/view_state.h"

/* What is at the addresses: the functions (as analyze/calls/stack_names.c tells them apart), lines
 * and loops of all frames, an image at a time. */

#define MEMORY_MAX ((size_t)1 << 30)

struct naming {
	struct view *v;
	uint32_t image;
	struct query_image found; /* as the sources want it */
	struct rank_source source;
	const struct image_symbols *symbols; /* NULL: none */
	struct cfg_image *graphs;	     /* NULL: none */
	struct arena *memory;		     /* of loop nests */
};

static int add_loop(struct naming *n, const struct loop_nest *nest, uint32_t *ret)
{
	struct {
		uint64_t header, image;
	} key = {nest->header, n->image};
	struct view *v = n->v;
	struct view_loop loop = {.header = nest->header,
				 .image = n->image,
				 .parent = VIEW_NONE,
				 .irreducible = nest->irreducible};
	int r = 0;

	if (!intern_find(v->loop_keys, &key, sizeof(key), ret))
		return 0;
	/* The loops around it come first. */
	if (nest->parent)
		r = add_loop(n, nest->parent, &loop.parent);
	if (!r)
		r = view_add_frame(v, n->image, nest->header, &loop.frame);
	if (!r)
		r = intern_add(v->loop_keys, &key, sizeof(key), ret);
	if (!r)
		r = array_grow(&v->loops, v->loop_count, &v->loop_room, sizeof(loop), 256);
	if (!r)
		v->loops[v->loop_count++] = loop;
	return r;
}

static int find_loops(struct naming *n, struct loop_tally *tally, const uint32_t *frames,
		      size_t count)
{
	struct view *v = n->v;
	const struct loop_nest *nest;
	uint32_t loop;
	int r = 0;

	for (size_t i = 0; i < count && !r; i++) {
		nest = NULL;
		r = loop_tally_nest(tally, v->frames[frames[i]].offset, n->memory, &nest);
		if (r || !nest)
			continue;
		r = add_loop(n, nest, &loop);
		v->frames[frames[i]].loop = loop;
	}
	return r;
}

static int name_loops(struct naming *n, const uint32_t *frames, size_t count)
{
	struct loop_tally *tally;
	struct diag why;

	if (n->found.id.kind == IMAGE_NOTE || n->found.id.kind == IMAGE_UNKNOWN)
		return 0;
	int r = n->source.graphs(n->source.arg, &n->found.id, n->found.path, &n->graphs, &why);

	if (r)
		return r == -ENOMEM ? r : 0;
	r = loop_tally_new(n->graphs, 1, &tally);
	if (!r) {
		r = find_loops(n, tally, frames, count);
		loop_tally_free(tally);
	}
	cfg_image_free(n->graphs);
	n->graphs = NULL;
	return r;
}

/* The function that has the address; known: its level of the lines, or NULL. */
static int outer_function(struct naming *n, uint64_t offset, const struct image_frame *known,
			  uint32_t *ret)
{
	const struct view_image *image = &n->v->images[n->image];
	struct view_function f = {.image = n->image};
	const struct image_function *fn = NULL;
	const char *name = RANK_NO_SYMBOL;

	if (image->id.kind == IMAGE_NOTE || image->id.kind == IMAGE_UNKNOWN) {
		f.flags = VIEW_NOTE;
		f.name = image->path;
		return view_add_function(n->v, &f, ret);
	}
	if (n->symbols)
		fn = image_symbols_find(n->symbols, offset);
	if (fn) {
		name = fn->demangled;
		f.start = fn->start;
	} else if (known && known->function) {
		name = known->function;
	}
	if (image_id_is_kernel(&image->id) || image->id.kind == IMAGE_BPF)
		f.flags = VIEW_KERNEL;
	int r = view_add_string(n->v, name, &f.name);
	return r ? r : view_add_function(n->v, &f, ret);
}

static int inner_function(struct naming *n, const struct image_frame *known, uint32_t *ret)
{
	struct view_function f = {.image = n->image, .flags = VIEW_INLINED};
	int r = view_add_string(n->v, known->function ? known->function : RANK_NO_SYMBOL, &f.name);

	if (image_id_is_kernel(&n->v->images[n->image].id))
		f.flags |= VIEW_KERNEL;
	return r ? r : view_add_function(n->v, &f, ret);
}

static int note_file(struct view *v, uint32_t name, const struct image_frame *known)
{
	uint32_t index;
	int r = intern_add(v->file_keys, &name, sizeof(name), &index);

	if (r || index < v->file_count)
		return r;
	r = array_grow(&v->files, v->file_count, &v->file_room, sizeof(*v->files), 64);
	if (r)
		return r;
	v->files[v->file_count] = (struct view_file){.name = name, .built_ns = known->built_ns};
	if (known->file_md5) {
		memcpy(v->files[v->file_count].md5, known->file_md5, IMAGE_LINES_MD5_BYTES);
		v->files[v->file_count].has_md5 = true;
	}
	v->file_count++;
	return 0;
}

static int add_place(struct naming *n, uint32_t function, const struct image_frame *known)
{
	struct view *v = n->v;
	struct view_place place = {.function = function};
	int r = 0;

	if (known && known->file) {
		place.line = known->line;
		r = view_add_string(v, known->file, &place.file);
		if (!r)
			r = note_file(v, place.file, known);
	}
	if (!r)
		r = array_grow(&v->places, v->place_count, &v->place_room, sizeof(place), 4096);
	if (!r)
		v->places[v->place_count++] = place;
	return r;
}

static int name_frame(struct naming *n, uint32_t frame, const struct image_frame *known,
		      size_t count)
{
	struct view *v = n->v;
	const uint32_t first = (uint32_t)v->place_count;
	const struct image_frame *outer = count ? &known[count - 1] : NULL;
	uint32_t function;
	int r = outer_function(n, v->frames[frame].offset, outer, &function);

	if (!r)
		r = add_place(n, function, outer);
	for (size_t i = count ? count - 1 : 0; i-- > 0 && !r;) {
		r = inner_function(n, &known[i], &function);
		if (!r)
			r = add_place(n, function, &known[i]);
	}
	v->frames[frame].first_place = first;
	v->frames[frame].place_count = (uint32_t)v->place_count - first;
	return r;
}

static int name_lines(struct naming *n, const uint32_t *frames, size_t count)
{
	uint64_t *addresses = reallocarray(NULL, count + 1, sizeof(*addresses));
	const struct image_frame *known;
	struct image_lines *lines = NULL;
	struct diag why;
	int r = addresses ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !r; i++)
		addresses[i] = n->v->frames[frames[i]].offset;
	if (!r && n->found.id.kind != IMAGE_NOTE && n->found.id.kind != IMAGE_UNKNOWN &&
	    n->source.lines(n->source.arg, &n->found.id, n->found.path, addresses, count, &lines,
			    &why))
		lines = NULL;
	for (size_t i = 0; i < count && !r; i++) {
		size_t levels = lines ? image_lines_frames(lines, i, &known) : 0;

		r = name_frame(n, frames[i], levels ? known : NULL, levels);
	}
	image_lines_free(lines);
	free(addresses);
	return r;
}

/* Which image is at hand. */
static int set_image(struct naming *n, uint32_t number)
{
	struct view *v = n->v;
	const struct view_image *image = &v->images[number];
	struct diag why;

	n->image = number;
	n->source = report_session_source(v->sets[image->set].session);
	n->found.id = image->id;
	n->found.path = intern_get(v->strings, image->path, &n->found.path_size);
	n->symbols = NULL;
	if (image->id.kind == IMAGE_NOTE || image->id.kind == IMAGE_UNKNOWN)
		return 0;
	int r = n->source.symbols(n->source.arg, &n->found.id, n->found.path, &n->symbols, &why);
	if (r)
		n->symbols = NULL;
	return r == -ENOMEM ? r : 0;
}

static int compare_frames(const void *a, const void *b, void *arg)
{
	const struct view_frame *frames = arg;
	const struct view_frame *x = &frames[*(const uint32_t *)a];
	const struct view_frame *y = &frames[*(const uint32_t *)b];

	return NUM_ORDER(x->image, y->image) ?: NUM_ORDER(x->offset, y->offset);
}

/* Does something for the frames of each image, from the one numbered `from` on: by address, which
 * lines are read quickest in. */
static int each_image(struct naming *n, size_t from,
		      int (*pass)(struct naming *n, const uint32_t *frames, size_t count))
{
	struct view *v = n->v;
	const size_t count = v->frame_count - from;
	uint32_t *order = reallocarray(NULL, count + 1, sizeof(*order));
	size_t end;
	int r = order ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !r; i++)
		order[i] = (uint32_t)(from + i);
	if (!r && count)
		qsort_r(order, count, sizeof(*order), compare_frames, v->frames);
	for (size_t i = 0; i < count && !r; i = end) {
		const uint32_t image = v->frames[order[i]].image;

		for (end = i + 1; end < count && v->frames[order[end]].image == image;)
			end++;
		r = set_image(n, image);
		if (!r)
			r = pass(n, order + i, end - i);
	}
	free(order);
	return r;
}

int view_name_frames(struct view *v)
{
	struct naming n = {.v = v, .memory = arena_new(MEMORY_MAX)};
	const size_t from = v->named;
	int r = n.memory ? each_image(&n, from, name_loops) : -ENOMEM;

	/* With the headers of loops, which are frames by now. */
	if (!r)
		r = each_image(&n, from, name_lines);
	v->named = v->frame_count;
	arena_free(n.memory);
	return r;
}

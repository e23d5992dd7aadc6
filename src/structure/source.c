/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "structure/source.h"

#include <errno.h>
#include <stdlib.h>
#include "util/array.h"
#include "util/search.h"

/* Equal keys are one context, or one position: names are equal where their addresses are. */
struct context_key {
	uint32_t parent, call;
	const char *name, *file;
};

struct position_key {
	const char *file;
	uint32_t context, line;
};

static int add_context(struct source *s, const struct source_context *c, uint32_t *ret)
{
	const struct context_key key = {c->parent, c->call, c->name, c->file};
	int r = intern_add(s->context_keys, &key, sizeof(key), ret);

	if (r || *ret < s->context_count)
		return r;
	if (array_grow(&s->contexts, s->context_count, &s->context_room, sizeof(*s->contexts), 16))
		return -ENOMEM;
	s->contexts[s->context_count++] = *c;
	return 0;
}

/* SOURCE_NONE where the line is not known. */
static int add_position(struct source *s, uint32_t context, const struct image_frame *f,
			uint32_t *ret)
{
	const struct position_key key = {f->file, context, f->line};

	*ret = SOURCE_NONE;
	if (!f->line || !f->file)
		return 0;
	int r = intern_add(s->position_keys, &key, sizeof(key), ret);
	if (r || *ret < s->position_count)
		return r;
	if (array_grow(&s->positions, s->position_count, &s->position_room, sizeof(*s->positions),
		       64))
		return -ENOMEM;
	s->positions[s->position_count++] = (struct source_position){context, f->file, f->line};
	return 0;
}

/* What the frames of an address say: the last is the function, the first the innermost. */
static int place(struct source *s, const struct image_frame *frames, size_t count,
		 struct source_piece *p)
{
	int r = 0;

	p->context = 0;
	p->position = SOURCE_NONE;
	for (size_t i = count; i-- > 0 && !r;) {
		const struct image_frame *f = &frames[i];

		if (s->contexts[p->context].depth + 1 == SOURCE_DEPTH_MAX)
			break;
		if (i + 1 < count) {
			const struct source_context c = {
				.parent = p->context,
				.depth = s->contexts[p->context].depth + 1,
				.call = p->position,
				.name = f->function,
				.linkage = f->linkage,
				.file = f->file,
				.start_line = f->start_line,
			};

			r = add_context(s, &c, &p->context);
		} else if (!s->contexts[0].file) {
			s->contexts[0].file = f->file;
			s->contexts[0].start_line = f->start_line;
		}
		if (!r)
			r = add_position(s, p->context, f, &p->position);
	}
	return r;
}

static int add_piece(struct source *s, const struct source_piece *p)
{
	struct source_piece *last = s->piece_count ? &s->pieces[s->piece_count - 1] : NULL;

	if (last && last->end == p->start && last->loop == p->loop && last->context == p->context &&
	    last->position == p->position) {
		last->end = p->end;
		return 0;
	}
	if (array_grow(&s->pieces, s->piece_count, &s->piece_room, sizeof(*s->pieces), 64))
		return -ENOMEM;
	s->pieces[s->piece_count++] = *p;
	return 0;
}

/* Where the run that address is in ends, or what nothing is known of, at most end. */
static uint64_t run_end(const struct image_line_table *t, size_t run, uint64_t address,
			uint64_t end)
{
	if (run != SIZE_MAX) {
		const size_t range = SEARCH_FIRST(t->range_count, n, t->ranges[n].end > address);

		end = t->ranges[range].end < end ? t->ranges[range].end : end;
		if (run + 1 < t->run_count && t->starts[run + 1] < end)
			end = t->starts[run + 1];
		return end;
	}
	const size_t next = SEARCH_FIRST(t->range_count, n, t->ranges[n].start > address);
	return next < t->range_count && t->ranges[next].start < end ? t->ranges[next].start : end;
}

static int add_code(struct source *s, const struct machine_piece *code,
		    const struct image_line_table *t)
{
	int r = 0;

	for (uint64_t at = code->start; at < code->end && !r;) {
		const size_t run = t ? image_line_table_find(t, at) : SIZE_MAX;
		const struct image_frame *frames = NULL;
		const size_t count =
			run == SIZE_MAX ? 0 : image_lines_frames(t->lines, run, &frames);
		struct source_piece p = {
			.start = at,
			.end = t ? run_end(t, run, at, code->end) : code->end,
			.loop = code->loop,
		};

		r = place(s, frames, count, &p);
		if (!r)
			r = add_piece(s, &p);
		at = p.end;
	}
	return r;
}

int source_new(const struct machine_function *f, const struct image_line_table *t,
	       struct source *ret)
{
	const struct source_context function = {.parent = SOURCE_NONE, .call = SOURCE_NONE};
	uint32_t number;

	*ret = (struct source){
		.function = f,
		.context_keys = intern_new(UINT32_MAX - 1),
		.position_keys = intern_new(UINT32_MAX - 1),
	};
	if (!ret->context_keys || !ret->position_keys)
		return -ENOMEM;
	int r = add_context(ret, &function, &number);
	for (uint32_t i = 0; i < f->piece_count && !r; i++)
		r = add_code(ret, &f->pieces[i], t);
	return r ? -ENOMEM : 0;
}

void source_free(struct source *s)
{
	free(s->contexts);
	free(s->positions);
	free(s->pieces);
	intern_free(s->context_keys);
	intern_free(s->position_keys);
}

const struct source_piece *source_piece_at(const struct source *s, uint64_t address)
{
	const size_t i = SEARCH_FIRST(s->piece_count, n, s->pieces[n].end > address);

	return i < s->piece_count && s->pieces[i].start <= address ? &s->pieces[i] : NULL;
}

bool source_is_stray(const struct source *s, uint32_t position)
{
	const struct source_position *p = &s->positions[position];
	const struct source_context *own = &s->contexts[p->context];

	if (!own->start_line || !own->file || own->file != p->file)
		return false;
	if (p->line < own->start_line)
		return true;
	/* Those around it, not those in it: these may be written in the middle of it. */
	for (uint32_t c = own->parent; c != SOURCE_NONE; c = s->contexts[c].parent) {
		const struct source_context *other = &s->contexts[c];

		if (other->file == p->file && other->start_line > own->start_line &&
		    other->start_line <= p->line)
			return true;
	}
	return false;
}

uint32_t source_common(const struct source *s, uint32_t a, uint32_t b)
{
	while (a != b) {
		if (s->contexts[a].depth < s->contexts[b].depth)
			b = s->contexts[b].parent;
		else
			a = s->contexts[a].parent;
	}
	return a;
}

uint32_t source_position_in(const struct source *s, const struct source_piece *p, uint32_t context)
{
	uint32_t position = p->position;

	for (uint32_t c = p->context; c != context; c = s->contexts[c].parent)
		position = s->contexts[c].call;
	return position;
}

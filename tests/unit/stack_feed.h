/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TESTS_UNIT_STACK_FEED_H
#define TESTS_UNIT_STACK_FEED_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/calls/tree.h"
#include "image/lines_new.h"

/*
 * Stacks for a calling context tree without a database. Image 1, /bin/app, has functions of 0x100
 * bytes, "a" at 0x100 to "z" at 0x1a00; an instruction at 0x80 and above in one is of a function
 * inlined there, "i" and the function's name. Image 2 is notes, image 3 a kernel with idle code.
 */

struct feed_stack {
	const char *event, *comm;
	const uint64_t *frames; /* the outermost first; FEED_NOTE: a note, FEED_IDLE: idle code */
	uint32_t frame_count;
	uint64_t count;
};

#define FEED_NOTE (1ull << 32)
#define FEED_LEFT (2ull << 32)
#define FEED_IDLE (3ull << 32)

static struct image_symbols *feed_app, *feed_kernel;

static inline void feed_start(void)
{
	static const struct image_symbol kernel[] = {{0, 0x100, "default_idle"}};
	static struct image_symbol app[26];
	static char names[26][2];

	for (unsigned i = 0; i < 26; i++) {
		names[i][0] = (char)('a' + i);
		app[i] = (struct image_symbol){0x100 * (i + 1), 0x100, names[i]};
	}
	image_symbols_build(app, 26, "test", &feed_app);
	image_symbols_build(kernel, 1, "test", &feed_kernel);
}

static inline void feed_stop(void)
{
	image_symbols_free(feed_app);
	image_symbols_free(feed_kernel);
}

static inline int feed_symbols(void *arg, const struct image_id *id, const char *path,
			       const struct image_symbols **ret, struct diag *diag)
{
	(void)arg, (void)path, (void)diag;
	*ret = id->kind == IMAGE_KERNEL ? feed_kernel : feed_app;
	return 0;
}

static inline int feed_lines(void *arg, const struct image_id *id, const char *path,
			     const uint64_t *addresses, size_t count, struct image_lines **ret,
			     struct diag *diag)
{
	struct image_lines *l;

	(void)arg, (void)path, (void)diag;
	if (id->kind == IMAGE_KERNEL)
		return -ENOENT;
	if (image_lines_new(count, &l))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		char name[2] = {(char)('a' + (addresses[i] >> 8) - 1)}, inlined[3] = {'i', name[0]};
		struct lines_frame frames[2] = {{.file = image_lines_string(l, "app.c")}};
		size_t n = addresses[i] & 0x80 ? 2 : 1;

		frames[0].line = (uint32_t)addresses[i];
		frames[1] = frames[0];
		frames[0].function = image_lines_string(l, n == 2 ? inlined : name);
		frames[1].function = image_lines_string(l, name);
		image_lines_set(l, i, frames, n);
	}
	*ret = l;
	return image_lines_finish(l);
}

static inline int feed_stack(struct query *q, const struct feed_stack *f)
{
	static const struct image_id app = {IMAGE_BUILD_ID, 1, {1}};
	static const struct image_id note = {IMAGE_NOTE, 1, {1}}, left = {IMAGE_NOTE, 1, {2}};
	static const struct image_id kernel = {IMAGE_KERNEL, 1, {3}};
	static const char cut[] = "[truncated: bad luck]", out[] = "[frames left out]";
	struct subject_pair pair = {"comm", f->comm, 4, strlen(f->comm)};
	struct db_frame_item frames[DB_STACK_MAX];
	struct db_event event = {f->event, 1000, 0};
	char subject[256];
	struct db_stack_item item = {.event = &event,
				     .frames = frames,
				     .frame_count = f->frame_count,
				     .count = f->count};
	struct db_visitor v = query_visitor(q);

	item.subject.data = subject;
	item.subject.size = (size_t)subject_build(&pair, 1, subject, sizeof(subject));
	for (uint32_t i = 0; i < f->frame_count; i++) {
		struct db_frame_item *to = &frames[i];

		*to = (struct db_frame_item){&app, {"/bin/app", 8}, f->frames[i]};
		if (f->frames[i] == FEED_NOTE)
			*to = (struct db_frame_item){&note, {cut, sizeof(cut) - 1}, 0};
		else if (f->frames[i] == FEED_LEFT)
			*to = (struct db_frame_item){&left, {out, sizeof(out) - 1}, 0};
		else if (f->frames[i] == FEED_IDLE)
			*to = (struct db_frame_item){&kernel, {"[kernel]", 8}, 0x10};
	}
	return v.item[CHUNK_STACKS](v.arg, "e", &item);
}

#endif

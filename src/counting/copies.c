/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "counting/copies.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include "util/array.h"
#include "util/search.h"

/* From an offset of the file on, up to the next run: originals, byte by byte, from the image's
 * origin; or NO_ORIGINAL. */
struct run {
	uint32_t offset;
	uint32_t charged, stands_for;
};

struct image {
	struct run *runs; /* ascending */
	size_t count, room;
	uint64_t origin; /* in the image: nothing that was copied lies before it */
};

struct copies {
	pthread_mutex_t lock;
	struct image *images;
	size_t image_count, image_room, run_count;
	struct copies_file *files; /* ascending by inode */
	size_t file_count, file_room;
};

struct copies *copies_new(void)
{
	struct copies *c = calloc(1, sizeof(*c));

	if (c)
		pthread_mutex_init(&c->lock, NULL);
	return c;
}

void copies_free(struct copies *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->image_count; i++)
		free(c->images[i].runs);
	free(c->images);
	free(c->files);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* Of one image. */
struct making {
	const struct copies_image *of;
	struct image *im;
	uint64_t start; /* offset in the file of the copy at hand */
	int error;
};

static uint32_t from_origin(struct making *m, uint64_t original)
{
	const uint64_t from = original - m->of->bias - m->im->origin;

	if (original == INSTRUMENT_NOWHERE)
		return NO_ORIGINAL;
	if (from >= NO_ORIGINAL)
		m->error = -ERANGE;
	return (uint32_t)from;
}

/* Whether originals of a run are the same as if that before it had gone on. */
static bool goes_on(uint32_t bytes, uint32_t before, uint32_t original)
{
	return before == NO_ORIGINAL || original == NO_ORIGINAL ? before == original
								: original - before == bytes;
}

static void add_run(struct making *m, uint32_t copy, uint64_t charged, uint64_t stands_for)
{
	struct image *im = m->im;
	const uint64_t offset = m->start + copy;
	const struct run run = {(uint32_t)offset, from_origin(m, charged),
				from_origin(m, stands_for)};
	const struct run *last = im->count ? &im->runs[im->count - 1] : NULL;

	if (last && goes_on(run.offset - last->offset, last->charged, run.charged) &&
	    goes_on(run.offset - last->offset, last->stands_for, run.stands_for))
		return;
	if (offset >= UINT32_MAX || im->count == COPIES_RUNS_MAX)
		m->error = -ENOSPC;
	else if (array_grow(&im->runs, im->count, &im->room, sizeof(*im->runs), 1024))
		m->error = -ENOMEM;
	if (!m->error)
		im->runs[im->count++] = run;
}

static void add_code(struct making *m, const struct instrument_code *code)
{
	const struct instrument_place *p = code->places, *p_end = p + code->place_count;
	const struct instrument_piece *i = code->pieces, *i_end = i + code->piece_count;

	m->start = m->of->room_at + code->address - m->of->room;
	while (!m->error && (p < p_end || i < i_end)) {
		if (i == i_end || (p < p_end && p->copy < i->copy)) {
			add_run(m, p->copy, p->original, p->original);
			p++;
		} else {
			add_run(m, i->copy, i->charged, i->stands_for);
			i++;
		}
	}
	if (!m->error)
		add_run(m, code->size, INSTRUMENT_NOWHERE, INSTRUMENT_NOWHERE);
}

/* The first address that was copied. */
static uint64_t find_origin(const struct copies_image *of)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < of->count; i++)
		if (of->codes[i].place_count && of->codes[i].places->original < first)
			first = of->codes[i].places->original;
	return first - of->bias;
}

int copies_add_image(struct copies *c, const struct copies_image *image, uint32_t *ret)
{
	struct image im = {.origin = find_origin(image)};
	struct making m = {.of = image, .im = &im};
	int r;

	for (size_t i = 0; i < image->count && !m.error; i++)
		if (image->codes[i].place_count)
			add_code(&m, &image->codes[i]);
	pthread_mutex_lock(&c->lock);
	r = m.error ?: im.count > COPIES_RUNS_MAX - c->run_count ? -ENOSPC : 0;
	r = r ?: array_grow(&c->images, c->image_count, &c->image_room, sizeof(*c->images), 16);
	if (!r) {
		*ret = (uint32_t)c->image_count;
		c->images[c->image_count++] = im;
		c->run_count += im.count;
	}
	pthread_mutex_unlock(&c->lock);
	if (r)
		free(im.runs);
	return r;
}

int copies_add_file(struct copies *c, const struct copies_file *file)
{
	int r;

	pthread_mutex_lock(&c->lock);
	r = file->image >= c->image_count	? -EINVAL
	    : c->file_count == COPIES_FILES_MAX ? -ENOSPC
						: 0;
	r = r ?: array_grow(&c->files, c->file_count, &c->file_room, sizeof(*c->files), 64);
	if (!r) {
		size_t at = c->file_count++;

		for (; at && c->files[at - 1].inode > file->inode; at--)
			c->files[at] = c->files[at - 1];
		c->files[at] = *file;
	}
	pthread_mutex_unlock(&c->lock);
	return r;
}

/* NULL: it is none of ours. */
static const struct copies_file *find_file(const struct copies *c, uint64_t inode)
{
	const size_t i = SEARCH_FIRST(c->file_count, k, c->files[k].inode >= inode);

	return i < c->file_count && c->files[i].inode == inode ? &c->files[i] : NULL;
}

static bool find_charged(const struct image *im, const struct copies_file *f, uint64_t offset,
			 uint64_t *ret)
{
	const size_t next = SEARCH_FIRST(im->count, k, im->runs[k].offset > offset);
	const struct run *run = next ? &im->runs[next - 1] : NULL;

	if (!run)
		return false;
	if (run->charged != NO_ORIGINAL) {
		*ret = f->bias + im->origin + run->charged + (offset - run->offset);
		return true;
	}
	*ret = f->gate;
	return next == im->count && f->gate;
}

bool copies_find(struct copies *c, uint64_t inode, uint64_t offset, uint64_t *ret)
{
	const struct copies_file *f;
	uint64_t found;
	bool is_found;

	pthread_mutex_lock(&c->lock);
	f = find_file(c, inode);
	is_found = f && find_charged(&c->images[f->image], f, offset, &found);
	pthread_mutex_unlock(&c->lock);
	if (is_found)
		*ret = found;
	return is_found;
}

bool copies_find_file(struct copies *c, uint64_t inode, struct originals_file *ret)
{
	const struct copies_file *f;

	pthread_mutex_lock(&c->lock);
	f = find_file(c, inode);
	if (f)
		*ret = (struct originals_file){f->bias + c->images[f->image].origin, f->image};
	pthread_mutex_unlock(&c->lock);
	return f;
}

static int tell_runs(const struct image *im, int (*f)(void *arg, const struct originals_run *run),
		     void *arg)
{
	struct originals_run last = {0, NO_ORIGINAL};
	int r = 0;

	for (size_t i = 0; i < im->count && !r; i++) {
		const struct originals_run run = {im->runs[i].offset, im->runs[i].stands_for};

		if (goes_on(run.offset - last.offset, last.original, run.original))
			continue;
		r = f(arg, &run);
		last = run;
	}
	return r;
}

int copies_each_run(struct copies *c, uint32_t image,
		    int (*f)(void *arg, const struct originals_run *run), void *arg)
{
	int r;

	pthread_mutex_lock(&c->lock);
	r = image < c->image_count ? tell_runs(&c->images[image], f, arg) : -ENOENT;
	pthread_mutex_unlock(&c->lock);
	return r;
}

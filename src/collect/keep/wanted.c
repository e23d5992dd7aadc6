/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/keep/wanted.h"

#include <errno.h>
#include <stdlib.h>
#include "util/array.h"
#include "util/num.h"

#define PLACES_MAX (1u << 20) /* distinct ones of a flush; past them some are left for the next */

struct place {
	uint64_t offset;
	uint32_t image;
};

struct wanted {
	bool *images; /* by number: whether its functions are */
	struct place *list;
	size_t count, room;
	size_t tidied; /* when the list was that long equal ones were taken out */
	int error;
};

static int compare(const void *pa, const void *pb)
{
	const struct place *a = pa, *b = pb;

	return NUM_ORDER(a->image, b->image) ?: NUM_ORDER(a->offset, b->offset);
}

/* Sorted, each once. */
static void tidy(struct wanted *w)
{
	size_t kept = 0;

	array_sort(w->list, w->count, sizeof(*w->list), compare);
	for (size_t i = 0; i < w->count; i++)
		if (!kept || compare(&w->list[kept - 1], &w->list[i]))
			w->list[kept++] = w->list[i];
	w->count = w->tidied = kept;
}

static void add_place(void *arg, uint32_t image, uint64_t offset)
{
	struct wanted *w = arg;

	if (!w->images[image] || w->error)
		return;
	/* Most frames of stacks are there many times. */
	if (w->count >= 65536 && w->count >= 2 * w->tidied)
		tidy(w);
	if (w->count == PLACES_MAX ||
	    array_grow(&w->list, w->count, &w->room, sizeof(*w->list), 4096))
		w->error = -ENOMEM;
	else
		w->list[w->count++] = (struct place){offset, image};
}

static int ask(struct keeper *k, const struct db_batch *b, const struct wanted *w, bool last)
{
	uint64_t *addresses = malloc((w->count + 1) * sizeof(*addresses));

	if (!addresses)
		return -ENOMEM;
	for (size_t i = 0, n; i < w->count; i += n) {
		const struct image_id *id;
		const char *path;

		for (n = 0; i + n < w->count && w->list[i + n].image == w->list[i].image; n++)
			addresses[n] = w->list[i + n].offset;
		db_batch_get_image(b, w->list[i].image, &id, &path);
		keeper_want_functions(k, id, path, addresses, n, last);
	}
	free(addresses);
	return w->error;
}

int wanted_functions(struct keeper *k, const struct db_batch *b, bool last)
{
	size_t images = db_batch_images(b);
	struct wanted w = {.images = calloc(images + 1, sizeof(*w.images))};
	bool any = false;

	if (!w.images)
		return -ENOMEM;
	for (uint32_t i = 0; i < images; i++) {
		const struct image_id *id;
		const char *path;

		db_batch_get_image(b, i, &id, &path);
		w.images[i] = keeper_wants_functions(k, id);
		any |= w.images[i];
	}
	if (any)
		db_batch_each_place(b, add_place, &w);
	tidy(&w);
	int r = ask(k, b, &w, last);
	free(w.images);
	free(w.list);
	return r;
}

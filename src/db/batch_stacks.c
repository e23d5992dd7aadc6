/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/batch_rows.h"
#include "util/num.h"

/* A stack as it is interned: this, then its frames. */
struct stack_key {
	uint32_t event, subject;
};

struct stack_frame {
	uint64_t offset;
	uint32_t image, unused;
};

static bool is_known(const struct intern *dict, uint32_t index)
{
	return dict && index < intern_count(dict);
}

static int counts_grow(struct db_batch *b, uint32_t index)
{
	uint32_t room = b->stack_room ? 2 * b->stack_room : 256;
	uint64_t *counts;

	if (index < b->stack_room)
		return 0;
	counts = realloc(b->stack_counts, room * sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	memset(counts + b->stack_room, 0, (room - b->stack_room) * sizeof(*counts));
	b->stack_counts = counts;
	b->stack_room = room;
	return 0;
}

int db_batch_stack(struct db_batch *b, uint32_t event, uint32_t subject,
		   const struct db_frame *frames, uint32_t frame_count, uint64_t count)
{
	struct {
		struct stack_key head;
		struct stack_frame frames[DB_STACK_MAX];
	} key = {{event, subject}, {{0}}};
	uint32_t index;
	int r;

	if (!is_known(b->events, event) || !is_known(b->subjects, subject) || !count ||
	    !frame_count || frame_count > DB_STACK_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < frame_count; i++) {
		if (!is_known(b->images, frames[i].image))
			return -EINVAL;
		key.frames[i] = (struct stack_frame){frames[i].offset, frames[i].image, 0};
	}
	if (!b->stacks)
		b->stacks = intern_new((uint32_t)(b->max_rows / 16 + 1));
	if (!b->stacks)
		return -ENOMEM;
	r = counts_grow(b, intern_count(b->stacks));
	if (!r)
		r = intern_add(b->stacks, &key,
			       sizeof(key.head) + frame_count * sizeof(*key.frames), &index);
	if (!r)
		b->stack_counts[index] = num_add_sat(b->stack_counts[index], count);
	return r;
}

size_t db_batch_stacks(const struct db_batch *b)
{
	return b->stacks ? intern_count(b->stacks) : 0;
}

void db_batch_drop_stacks(struct db_batch *b)
{
	intern_free(b->stacks);
	free(b->stack_counts);
	b->stacks = NULL;
	b->stack_counts = NULL;
	b->stack_room = 0;
}

/* A stack as others see it; its frames go to the room given. */
static struct db_stack_item stack_item(const struct db_batch *b, uint32_t index,
				       struct db_frame_item room[DB_STACK_MAX])
{
	struct db_stack_item item = {.frames = room, .count = b->stack_counts[index]};
	const struct stack_frame *frames;
	const struct stack_key *key;
	size_t size;

	key = intern_get(b->stacks, index, &size);
	frames = (const struct stack_frame *)(key + 1);
	item.frame_count = (uint32_t)((size - sizeof(*key)) / sizeof(*frames));
	item.event = &b->event_list[key->event];
	item.subject.data = intern_get(b->subjects, key->subject, &item.subject.size);
	for (uint32_t i = 0; i < item.frame_count; i++) {
		const struct db_batch_path *path = &b->paths[frames[i].image];

		room[i] = (struct db_frame_item){intern_get(b->images, frames[i].image, NULL),
						 {path->data, path->size},
						 frames[i].offset};
	}
	return item;
}

static int compare_stacks(const void *x, const void *y, void *arg)
{
	struct db_frame_item rooms[2][DB_STACK_MAX];
	struct db_stack_item p = stack_item(arg, *(const uint32_t *)x, rooms[0]);
	struct db_stack_item q = stack_item(arg, *(const uint32_t *)y, rooms[1]);

	return db_stack_compare(&p, &q);
}

int db_batch_each_stack(const struct db_batch *b,
			int (*f)(void *arg, const struct db_stack_item *s), void *arg)
{
	uint32_t count = (uint32_t)db_batch_stacks(b);
	uint32_t *order = malloc((count + 1) * sizeof(*order));
	struct db_frame_item room[DB_STACK_MAX];
	int r = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), compare_stacks, (void *)b);
	for (uint32_t i = 0; i < count && !r; i++) {
		struct db_stack_item item = stack_item(b, order[i], room);

		r = f(arg, &item);
	}
	free(order);
	return r;
}

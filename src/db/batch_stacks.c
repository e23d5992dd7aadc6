/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/batch_rows.h"

/* A stack as it is interned: this, then its frames. */
struct stack_key {
	uint32_t event, subject;
};

struct stack_frame {
	uint64_t offset;
	uint32_t image, unused;
};

int db_batch_stack(struct db_batch *b, uint32_t event, uint32_t subject,
		   const struct db_frame *frames, uint32_t frame_count, uint64_t count)
{
	struct {
		struct stack_key head;
		struct stack_frame frames[DB_STACK_MAX];
	} key = {{event, subject}, {{0}}};

	if (!db_batch_knows(b->events, event) || !db_batch_knows(b->subjects, subject) || !count ||
	    !frame_count || frame_count > DB_STACK_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < frame_count; i++) {
		if (!db_batch_knows(b->images, frames[i].image))
			return -EINVAL;
		key.frames[i] = (struct stack_frame){frames[i].offset, frames[i].image, 0};
	}
	return db_batch_counted_add(&b->stacks, b->max_rows / 16 + 1, &key,
				    sizeof(key.head) + frame_count * sizeof(*key.frames), count);
}

size_t db_batch_stacks(const struct db_batch *b)
{
	return db_batch_counted_size(&b->stacks);
}

/* A stack as others see it; its frames go to the room given. */
static struct db_stack_item stack_item(const struct db_batch *b, uint32_t index,
				       struct db_frame_item room[DB_STACK_MAX])
{
	struct db_stack_item item = {.frames = room, .count = b->stacks.counts[index]};
	const struct stack_frame *frames;
	const struct stack_key *key;
	size_t size;

	key = intern_get(b->stacks.keys, index, &size);
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
	uint32_t *order = db_batch_counted_sort(b, &b->stacks, compare_stacks);
	struct db_frame_item room[DB_STACK_MAX];
	int r = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < db_batch_stacks(b) && !r; i++) {
		struct db_stack_item item = stack_item(b, order[i], room);

		r = f(arg, &item);
	}
	free(order);
	return r;
}

void db_batch_each_place(const struct db_batch *b,
			 void (*f)(void *arg, uint32_t image, uint64_t offset), void *arg)
{
	db_batch_settle(b);
	for (size_t i = 0; i < b->slot_count; i++) {
		const struct db_batch_slot *at = &b->slots[i];

		if (at->profile == DB_SLOT_FREE || at->profile & DB_PROFILE_HIGH)
			continue;
		const struct db_batch_profile *p = intern_get(b->profiles, at->profile, NULL);

		f(arg, p->image, at->offset);
	}
	for (uint32_t n = 0; n < db_batch_stacks(b); n++) {
		size_t size;
		const struct stack_key *key = intern_get(b->stacks.keys, n, &size);
		const struct stack_frame *frames = (const struct stack_frame *)(key + 1);

		for (size_t i = 0; i < (size - sizeof(*key)) / sizeof(*frames); i++)
			f(arg, frames[i].image, frames[i].offset);
	}
}

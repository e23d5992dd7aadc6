/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/batch_rows.h"
#include "db/dict_build.h"
#include "db/kind.h"
#include "util/num.h"

/* The interned key of a stack: this, then its frames. */
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
	return db_batch_counted_add(b, CHUNK_STACKS, b->max_rows / 16 + 1, &key,
				    sizeof(key.head) + frame_count * sizeof(*key.frames),
				    (struct db_batch_sums){.count = count});
}

size_t db_batch_stacks(const struct db_batch *b)
{
	return db_batch_counted_size(&b->counted[CHUNK_STACKS]);
}

/* A stack with its frames. */
struct stack_room {
	struct db_stack_item item;
	struct db_frame_item frames[DB_STACK_MAX];
};

static void stack_make(const struct db_batch *b, uint32_t index, void *ret_room)
{
	struct stack_room *room = ret_room;
	const struct db_batch_counted *c = &b->counted[CHUNK_STACKS];
	struct db_stack_item item = {.frames = room->frames, .count = c->sums[index].count};
	const struct stack_frame *frames;
	size_t size;
	const struct stack_key *key = intern_get(c->keys, index, &size);

	frames = (const struct stack_frame *)(key + 1);
	item.frame_count = (uint32_t)((size - sizeof(*key)) / sizeof(*frames));
	item.event = &b->event_list[key->event];
	item.subject.data = intern_get(b->subjects, key->subject, &item.subject.size);
	for (uint32_t i = 0; i < item.frame_count; i++)
		room->frames[i] = (struct db_frame_item){
			intern_get(b->images, frames[i].image, NULL),
			db_batch_image_path(b, frames[i].image), frames[i].offset};
	room->item = item;
}

/* As db_stack_compare: by their numbers, as most stacks have frames in common. */
static int compare_batch_stacks(const void *first, const void *second, void *batch)
{
	const struct db_batch *b = batch;
	const struct intern *keys = b->counted[CHUNK_STACKS].keys;
	size_t x_size, y_size;
	const struct stack_key *x = intern_get(keys, *(const uint32_t *)first, &x_size);
	const struct stack_key *y = intern_get(keys, *(const uint32_t *)second, &y_size);
	const struct stack_frame *p = (const struct stack_frame *)(x + 1);
	const struct stack_frame *q = (const struct stack_frame *)(y + 1);
	size_t common = ((x_size < y_size ? x_size : y_size) - sizeof(*x)) / sizeof(*p);
	int order = x->event == y->event
			    ? 0
			    : db_event_compare(&b->event_list[x->event], &b->event_list[y->event]);

	if (!order)
		order = db_batch_compare_subjects(b, x->subject, y->subject);
	for (size_t i = 0; i < common && !order; i++)
		order = db_batch_compare_images(b, p[i].image, q[i].image)
				?: NUM_ORDER(p[i].offset, q[i].offset);
	return order ?: NUM_ORDER(x_size, y_size);
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
		const struct stack_key *key = intern_get(b->counted[CHUNK_STACKS].keys, n, &size);
		const struct stack_frame *frames = (const struct stack_frame *)(key + 1);

		for (size_t i = 0; i < (size - sizeof(*key)) / sizeof(*frames); i++)
			f(arg, frames[i].image, frames[i].offset);
	}
}

#define FRAMES_MAX (STACKS_STEPS_TARGET + DB_STACK_MAX)

/* A frame's key; image is the number in the builder's list. */
struct build_frame {
	uint32_t image, unused;
	uint64_t offset;
};

struct build_stack {
	uint32_t shared, fresh;
	uint64_t count;
};

struct build_group {
	uint32_t event, subject, first;
};

struct stacks_builder {
	struct kind_builder head;
	struct build_stack stacks[STACKS_CHUNK_TARGET];
	struct build_group groups[STACKS_CHUNK_TARGET];
	uint32_t steps[FRAMES_MAX]; /* numbers of frames */
	uint32_t group_count, step_count;
	/* The last stack: its frames' numbers, and as it is compared. */
	uint32_t last_numbers[DB_STACK_MAX];
	struct db_frame_item last_frames[DB_STACK_MAX];
	struct db_stack_item last;
	struct intern *frames;
};

static int stacks_builder_start(void *builder)
{
	struct stacks_builder *b = builder;

	b->frames = intern_new(FRAMES_MAX);
	return b->frames ? 0 : -ENOMEM;
}

static void stacks_builder_end(void *builder)
{
	intern_free(((struct stacks_builder *)builder)->frames);
}

static bool stacks_take(const void *builder, const void *item)
{
	const struct stacks_builder *b = builder;

	return b->step_count < STACKS_STEPS_TARGET &&
	       kind_builder_has_room(&kind_stacks, &b->head, item);
}

static int frame_number(struct stacks_builder *b, const struct db_frame_item *f, uint32_t *ret)
{
	struct build_frame key = {.offset = f->offset};
	int r = dict_builder_image(&b->head.names, f->image, &f->path, &key.image);

	return r < 0 ? r : intern_add(b->frames, &key, sizeof(key), ret);
}

static int group_find(struct stacks_builder *b, const struct db_stack_item *s)
{
	const struct build_group *last = b->groups + b->group_count - 1;
	uint32_t event, subject;
	size_t size;
	int r = dict_builder_event(&b->head.names, s->event, &event);

	if (!r)
		r = dict_builder_add(&b->head.names, b->head.names.subjects, s->subject.data,
				     s->subject.size, &subject);
	if (r < 0)
		return r;
	if (b->group_count && last->event == event && last->subject == subject)
		return 0;
	b->groups[b->group_count++] = (struct build_group){event, subject, b->head.count};
	dict_event_keep(&b->head.last_event, s->event);
	b->last.event = &b->head.last_event.event;
	b->last.subject.data = intern_get(b->head.names.subjects, subject, &size);
	b->last.subject.size = size;
	b->last.frame_count = 0; /* nothing in common */
	return 0;
}

static uint32_t count_shared(const struct stacks_builder *b, const struct db_stack_item *s)
{
	uint32_t n = 0;

	while (n < s->frame_count && n < b->last.frame_count &&
	       db_frame_compare(&s->frames[n], &b->last_frames[n]) == 0)
		n++;
	return n;
}

static int stack_add(void *builder, const void *item)
{
	struct stacks_builder *b = builder;
	const struct db_stack_item *s = item;
	uint32_t shared, step = b->step_count;
	int r = group_find(b, s);

	if (r < 0)
		return r;
	shared = count_shared(b, s);
	for (uint32_t i = shared; i < s->frame_count; i++) {
		struct build_frame key;

		r = frame_number(b, &s->frames[i], &b->last_numbers[i]);
		if (r < 0)
			return r;
		memcpy(&key, intern_get(b->frames, b->last_numbers[i], NULL), sizeof(key));
		b->steps[step++] = b->last_numbers[i];
		b->last_frames[i] = (struct db_frame_item){
			.image = intern_get(b->head.names.images, key.image, NULL),
			.offset = key.offset};
	}
	b->last.frames = b->last_frames;
	b->last.frame_count = s->frame_count;
	b->head.last = &b->last;
	b->stacks[b->head.count++] =
		(struct build_stack){shared, s->frame_count - shared, s->count};
	b->step_count = step;
	return 0;
}

struct frame_order {
	const struct build_frame **keys;
	const uint32_t *places; /* of images */
};

static int compare_frames(const void *x, const void *y, void *arg)
{
	const struct frame_order *order = arg;
	const struct build_frame *p = order->keys[*(const uint32_t *)x];
	const struct build_frame *q = order->keys[*(const uint32_t *)y];
	uint32_t a = order->places[p->image], b = order->places[q->image];

	return NUM_ORDER(a, b) ?: NUM_ORDER(p->offset, q->offset);
}

/* Writes the images in ascending order of ids; places: that of each in this order. */
static int images_encode(struct stacks_builder *b, struct buf *out, uint32_t *places)
{
	uint32_t count = intern_count(b->head.names.images);
	uint32_t *order = malloc((count + 1) * sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), dict_builder_compare_images, &b->head.names);
	buf_append_varint(out, count);
	for (uint32_t i = 0; i < count; i++) {
		places[order[i]] = i;
		dict_builder_encode_image(&b->head.names, order[i], out);
	}
	free(order);
	return 0;
}

/* The frames in order, as runs of one image each; numbers: of each in that order. */
static void frames_write(const struct frame_order *order, const uint32_t *sorted, uint32_t count,
			 uint32_t images, struct buf *out, uint32_t *numbers)
{
	uint32_t next = 0;

	for (uint32_t image = 0; image < images; image++) {
		uint32_t end = next;
		uint64_t offset = 0;

		while (end < count && order->places[order->keys[sorted[end]]->image] == image)
			end++;
		buf_append_varint(out, end - next);
		for (; next < end; next++) {
			buf_append_varint(out, order->keys[sorted[next]]->offset - offset);
			offset = order->keys[sorted[next]]->offset;
			numbers[sorted[next]] = next;
		}
	}
}

static int frames_encode(struct stacks_builder *b, const uint32_t *places, struct buf *out,
			 uint32_t *numbers)
{
	uint32_t count = intern_count(b->frames);
	const struct build_frame **keys = malloc((count + 1) * sizeof(*keys));
	uint32_t *sorted = malloc((count + 1) * sizeof(*sorted));
	struct frame_order order = {keys, places};

	if (keys && sorted) {
		for (uint32_t i = 0; i < count; i++) {
			keys[i] = intern_get(b->frames, i, NULL);
			sorted[i] = i;
		}
		qsort_r(sorted, count, sizeof(*sorted), compare_frames, &order);
		frames_write(&order, sorted, count, intern_count(b->head.names.images), out,
			     numbers);
	}
	free(keys);
	free(sorted);
	return keys && sorted ? 0 : -ENOMEM;
}

static void groups_encode(const struct stacks_builder *b, struct buf *out)
{
	buf_append_varint(out, b->group_count);
	for (uint32_t g = 0; g < b->group_count; g++) {
		uint32_t end = g + 1 < b->group_count ? b->groups[g + 1].first : b->head.count;

		buf_append_varint(out, b->groups[g].event);
		buf_append_varint(out, b->groups[g].subject);
		buf_append_varint(out, end - b->groups[g].first);
	}
}

/* What the decoder will know when it comes to a frame. */
struct path {
	uint32_t numbers[DB_STACK_MAX], depth;
	uint32_t *callees;
};

/* The number of the frame at i, as the decoder's number_next() reads it. */
static void number_encode(struct path *p, uint32_t i, bool replaces, uint32_t number,
			  struct buf *streams)
{
	uint64_t caller = i ? p->numbers[i - 1] : 0;
	uint32_t *callee = &p->callees[i ? caller + 1 : 0];

	if (replaces) {
		buf_append_varint(&streams[STACKS_FIRSTS], number - p->numbers[i] - 1);
	} else {
		bool again = *callee != STACKS_NOBODY;

		buf_append_varint(&streams[again ? STACKS_AGAIN : STACKS_CALLS],
				  num_zigzag(number - (again ? *callee : caller)));
		*callee = number;
	}
	p->numbers[i] = number;
}

static void stacks_encode(const struct stacks_builder *b, struct buf *streams, struct path *p,
			  const uint32_t *numbers)
{
	struct dict_packed counts = {&streams[STACKS_COUNTS], .bits = DICT_COUNT_BITS};
	uint32_t step = 0, group = 0;

	for (uint32_t i = 0; i < b->head.count; i++) {
		const struct build_stack *s = &b->stacks[i];
		uint32_t end = s->shared + s->fresh;

		if (group < b->group_count && b->groups[group].first == i) {
			group++;
			p->depth = 0;
		}
		buf_append_varint(&streams[STACKS_SHARED], s->shared);
		buf_append_varint(&streams[STACKS_FRESH], s->fresh - 1);
		for (uint32_t n = s->shared; n < end; n++)
			number_encode(p, n, n == s->shared && n < p->depth,
				      numbers[b->steps[step++]], streams);
		p->depth = end;
		dict_count_append(&counts, &streams[STACKS_COUNTS_MORE], s->count);
	}
}

static int stacks_builder_encode(void *builder, struct buf *streams)
{
	struct stacks_builder *b = builder;
	uint32_t frames = intern_count(b->frames);
	uint32_t *places = malloc((intern_count(b->head.names.images) + 1) * sizeof(*places));
	uint32_t *numbers = malloc((frames + 1) * sizeof(*numbers));
	struct path path = {.callees = malloc((frames + 1) * sizeof(*path.callees))};
	int r = places && numbers && path.callees ? 0 : -ENOMEM;

	if (!r)
		r = images_encode(b, &streams[STACKS_DICT], places);
	if (!r) {
		dict_encode(&streams[STACKS_DICT], b->head.names.events);
		dict_strings_encode(&streams[STACKS_DICT], b->head.names.subjects);
		groups_encode(b, &streams[STACKS_GROUPS]);
		r = frames_encode(b, places, &streams[STACKS_FRAMES], numbers);
	}
	for (uint32_t i = 0; !r && i <= frames; i++)
		path.callees[i] = STACKS_NOBODY;
	if (!r)
		stacks_encode(b, streams, &path, numbers);
	free(places);
	free(numbers);
	free(path.callees);
	return r;
}

struct stacks_group {
	uint32_t event, subject, row_count;
};

/* Steps through the stacks of a chunk. */
struct stacks_cursor {
	struct kind_cursor head;
	struct db_frame_item *distinct; /* frames */
	struct stacks_group *groups;
	uint32_t frame_count, group_count;
	/* Of each frame the one that it called before, the threads' starts' first. */
	uint32_t *callees;
	uint32_t group, left; /* groups begun; stacks left in the current one */
	uint32_t depth;
	struct db_frame_item frames[DB_STACK_MAX]; /* of the current stack */
	uint32_t numbers[DB_STACK_MAX];
};

static void frames_decode(struct cursor *c, struct arena *a, struct stacks_cursor *t)
{
	/* Each takes a byte at least. */
	uint32_t room = cursor_left(c) > STACKS_CHUNK_MAX * 4u ? STACKS_CHUNK_MAX * 4u
							       : (uint32_t)cursor_left(c);

	t->distinct = dict_list_new(c, a, room, sizeof(*t->distinct));
	for (uint32_t i = 0; i < t->head.images.count && !c->error; i++) {
		uint64_t count = cursor_varint(c), offset = 0;

		if (!c->error && count > room - t->frame_count)
			c->error = -EBADMSG;
		for (uint64_t n = 0; n < count && !c->error; n++) {
			uint64_t step = cursor_varint(c);

			if ((n && !step) || step > UINT64_MAX - offset)
				c->error = -EBADMSG;
			offset += step;
			t->distinct[t->frame_count++] = (struct db_frame_item){
				&t->head.images.ids[i], t->head.images.paths[i], offset};
		}
	}
	if (!c->error && cursor_left(c))
		c->error = -EBADMSG;
}

static int order_check(const struct stacks_cursor *t, uint32_t group)
{
	const struct stacks_group *g = &t->groups[group], *last = g - 1;
	int order =
		group ? db_event_compare(&t->head.events[last->event], &t->head.events[g->event])
		      : -1;

	if (order == 0)
		order = db_bytes_compare(&t->head.subjects[last->subject],
					 &t->head.subjects[g->subject]);
	return order < 0 ? 0 : -EBADMSG;
}

static void groups_decode(struct cursor *c, struct arena *a, struct stacks_cursor *t)
{
	uint64_t stacks = 0;

	t->group_count = dict_count_decode(c, DICT_MAX);
	t->groups = dict_list_new(c, a, t->group_count, sizeof(*t->groups));
	for (uint32_t i = 0; i < t->group_count && !c->error; i++) {
		uint64_t event = cursor_varint(c), subject = cursor_varint(c);
		uint64_t count = cursor_varint(c);

		if (c->error || event >= t->head.event_count || subject >= t->head.subject_count ||
		    !count || count > t->head.count) {
			c->error = -EBADMSG;
			return;
		}
		t->groups[i] =
			(struct stacks_group){(uint32_t)event, (uint32_t)subject, (uint32_t)count};
		stacks += count;
		c->error = order_check(t, i);
	}
	if (!c->error && (cursor_left(c) || stacks != t->head.count))
		c->error = -EBADMSG;
}

static int stacks_open(void *cursor, struct arena *a)
{
	struct stacks_cursor *t = cursor;
	const struct db_bytes *s = t->head.streams;
	struct cursor c = cursor_over(s[STACKS_FRAMES].data, s[STACKS_FRAMES].size);

	if (s[STACKS_UNUSED].size || !dict_images_rise(&t->head.images))
		return -EBADMSG;
	frames_decode(&c, a, t);
	if (c.error)
		return c.error;
	c = cursor_over(s[STACKS_GROUPS].data, s[STACKS_GROUPS].size);
	groups_decode(&c, a, t);
	t->callees = dict_list_new(&c, a, t->frame_count + 1, sizeof(*t->callees));
	for (uint32_t i = 0; i <= t->frame_count && !c.error; i++)
		t->callees[i] = STACKS_NOBODY;
	return c.error;
}

/*
 * The number of the frame at i, which is no frame's number if nothing makes sense; before: of the
 * one whose place it takes, or STACKS_NOBODY.
 */
static uint64_t number_next(struct stacks_cursor *c, uint32_t i, uint32_t before)
{
	uint32_t caller = i ? c->numbers[i - 1] : 0;
	uint32_t *callee = &c->callees[i ? caller + 1 : 0];
	uint64_t v;

	if (before != STACKS_NOBODY) {
		v = dict_varint(&c->head.at[STACKS_FIRSTS]);
		return v < c->frame_count ? before + 1 + v : UINT64_MAX;
	}
	if (*callee != STACKS_NOBODY)
		v = *callee + num_unzigzag(dict_varint(&c->head.at[STACKS_AGAIN]));
	else
		v = caller + num_unzigzag(dict_varint(&c->head.at[STACKS_CALLS]));
	*callee = (uint32_t)v;
	return v;
}

/* The frames of the next stack. */
static int frames_next(struct stacks_cursor *c)
{
	uint64_t shared = dict_varint(&c->head.at[STACKS_SHARED]),
		 fresh = dict_varint(&c->head.at[STACKS_FRESH]);
	uint32_t before = c->depth;

	if (shared > before || fresh >= DB_STACK_MAX - shared)
		return -EBADMSG;
	c->depth = (uint32_t)(shared + fresh + 1);
	for (uint32_t i = (uint32_t)shared; i < c->depth; i++) {
		bool replaces = i == shared && i < before;
		uint64_t number = number_next(c, i, replaces ? c->numbers[i] : STACKS_NOBODY);

		if (number >= c->frame_count)
			return -EBADMSG;
		c->numbers[i] = (uint32_t)number;
		c->frames[i] = c->distinct[number];
	}
	return kind_cursor_failed(&c->head, STACKS_STREAMS) ? -EBADMSG : 0;
}

static int stacks_next(void *cursor, void *ret_item)
{
	struct stacks_cursor *c = cursor;
	struct db_stack_item *ret = ret_item;
	const struct stacks_group *g;

	if (!c->left) {
		if (c->group == c->group_count)
			return kind_cursor_end(&c->head);
		c->left = c->groups[c->group++].row_count;
		c->depth = 0;
	}
	if (frames_next(c) < 0 || kind_cursor_count(&c->head, STACKS_COUNTS, &ret->count) < 0)
		return -EBADMSG;
	c->left--;
	g = &c->groups[c->group - 1];
	ret->event = &c->head.events[g->event];
	ret->subject = c->head.subjects[g->subject];
	ret->frames = c->frames;
	ret->frame_count = c->depth;
	return 1;
}

static int stacks_compare(const void *x, const void *y)
{
	return db_stack_compare(x, y);
}

/* Its chunks have no labels: a stack goes through many images. */
const struct db_kind kind_stacks = {
	.type = CHUNK_STACKS,
	.items = {"stack", "stacks"},
	.json = "stacks",
	.loss = {"sample of", "samples of"},
	.lost = "stacks.damaged",
	.item_size = sizeof(struct db_stack_item),
	.count_at = offsetof(struct db_stack_item, count),
	.compare = stacks_compare,
	.make = stack_make,
	.room_size = sizeof(struct stack_room),
	.compare_keys = compare_batch_stacks,
	.chunk_target = STACKS_CHUNK_TARGET,
	.name_target = FRAMES_MAX,
	.dict_target = STACKS_DICT_TARGET,
	.takes = stacks_take,
	.builder_size = sizeof(struct stacks_builder),
	.builder_start = stacks_builder_start,
	.builder_end = stacks_builder_end,
	.add = stack_add,
	.encode = stacks_builder_encode,
	.stream_count = STACKS_STREAMS,
	.chunk_max = STACKS_CHUNK_MAX,
	.has_events = true,
	.has_subjects = true,
	.counts_stream = STACKS_COUNTS,
	.stepped = 1 << STACKS_SHARED | 1 << STACKS_FRESH | 1 << STACKS_COUNTS_MORE |
		   1 << STACKS_FIRSTS | 1 << STACKS_CALLS | 1 << STACKS_AGAIN,
	.cursor_size = sizeof(struct stacks_cursor),
	.open = stacks_open,
	.next = stacks_next,
};

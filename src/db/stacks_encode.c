/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "db/dict_build.h"
#include "util/num.h"

#define FRAMES_MAX STACKS_STEPS_TARGET + DB_STACK_MAX

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
	struct build_stack *stacks; /* room for STACKS_CHUNK_TARGET, as have the groups */
	struct build_group *groups;
	uint32_t *steps; /* numbers of frames; room for FRAMES_MAX */
	uint32_t stack_count, group_count, step_count;
	uint64_t samples;
	/* The last stack: its frames' numbers, and as it is compared. */
	uint32_t last_numbers[DB_STACK_MAX];
	struct db_frame_item last_frames[DB_STACK_MAX];
	struct db_stack_item last;
	struct dict_event last_event;
	struct dict_builder names;
	struct intern *frames;
};

static int builder_empty(struct stacks_builder *b)
{
	intern_free(b->frames);
	b->frames = intern_new(FRAMES_MAX);
	b->stack_count = b->group_count = b->step_count = 0;
	b->samples = 0;
	return b->frames ? dict_builder_empty(&b->names, FRAMES_MAX) : -ENOMEM;
}

struct stacks_builder *stacks_builder_new(void)
{
	struct stacks_builder *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	dict_builder_init(&b->names, STACKS_DICT_TARGET);
	b->stacks = malloc(STACKS_CHUNK_TARGET * sizeof(*b->stacks));
	b->groups = malloc(STACKS_CHUNK_TARGET * sizeof(*b->groups));
	b->steps = malloc((FRAMES_MAX) * sizeof(*b->steps));
	if (builder_empty(b) < 0 || !b->stacks || !b->groups || !b->steps) {
		stacks_builder_free(b);
		return NULL;
	}
	return b;
}

void stacks_builder_free(struct stacks_builder *b)
{
	if (!b)
		return;
	dict_builder_free(&b->names);
	intern_free(b->frames);
	free(b->stacks);
	free(b->groups);
	free(b->steps);
	free(b);
}

uint32_t stacks_builder_count(const struct stacks_builder *b)
{
	return b->stack_count;
}

bool stacks_builder_takes(const struct stacks_builder *b, const struct db_stack_item *s)
{
	if (b->stack_count == STACKS_CHUNK_TARGET || b->step_count >= STACKS_STEPS_TARGET ||
	    b->names.bytes > STACKS_DICT_TARGET)
		return false;
	return !b->stack_count || db_stack_compare(&b->last, s) < 0;
}

static int frame_number(struct stacks_builder *b, const struct db_frame_item *f, uint32_t *ret)
{
	struct build_frame key = {.offset = f->offset};
	int r = dict_builder_image(&b->names, f->image, &f->path, &key.image);

	return r < 0 ? r : intern_add(b->frames, &key, sizeof(key), ret);
}

static int group_find(struct stacks_builder *b, const struct db_stack_item *s)
{
	const struct build_group *last = b->groups + b->group_count - 1;
	uint32_t event, subject;
	size_t size;
	int r;

	r = dict_builder_event(&b->names, s->event, &event);
	if (!r)
		r = dict_builder_add(&b->names, b->names.subjects, s->subject.data, s->subject.size,
				     &subject);
	if (r < 0)
		return r;
	if (b->group_count && last->event == event && last->subject == subject)
		return 0;
	b->groups[b->group_count++] = (struct build_group){event, subject, b->stack_count};
	dict_event_keep(&b->last_event, s->event);
	b->last.event = &b->last_event.event;
	b->last.subject.data = intern_get(b->names.subjects, subject, &size);
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

int stacks_builder_add(struct stacks_builder *b, const struct db_stack_item *s)
{
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
			.image = intern_get(b->names.images, key.image, NULL),
			.offset = key.offset};
	}
	b->last.frames = b->last_frames;
	b->last.frame_count = s->frame_count;
	b->stacks[b->stack_count++] =
		(struct build_stack){shared, s->frame_count - shared, s->count};
	b->step_count = step;
	b->samples = num_add_sat(b->samples, s->count);
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

	if (a != b)
		return a < b ? -1 : 1;
	return (p->offset > q->offset) - (p->offset < q->offset);
}

/* Writes the images by rising id; places: of each in that order. */
static int images_encode(struct stacks_builder *b, struct buf *out, uint32_t *places)
{
	uint32_t count = intern_count(b->names.images);
	uint32_t *order = malloc((count + 1) * sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), dict_builder_compare_images, &b->names);
	buf_append_varint(out, count);
	for (uint32_t i = 0; i < count; i++) {
		places[order[i]] = i;
		dict_builder_encode_image(&b->names, order[i], out);
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
		frames_write(&order, sorted, count, intern_count(b->names.images), out, numbers);
	}
	free(keys);
	free(sorted);
	return keys && sorted ? 0 : -ENOMEM;
}

static void groups_encode(const struct stacks_builder *b, struct buf *out)
{
	buf_append_varint(out, b->group_count);
	for (uint32_t g = 0; g < b->group_count; g++) {
		uint32_t end = g + 1 < b->group_count ? b->groups[g + 1].first : b->stack_count;

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
	struct dict_packed counts = {&streams[STACKS_COUNTS], .bits = 4};
	uint32_t step = 0, group = 0;

	for (uint32_t i = 0; i < b->stack_count; i++) {
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
		dict_packed_append(&counts, STACKS_COUNT_ESCAPE, &streams[STACKS_COUNTS_MORE],
				   s->count - 1);
	}
}

static int streams_make(struct stacks_builder *b, struct buf *streams)
{
	uint32_t frames = intern_count(b->frames);
	uint32_t *places = malloc((intern_count(b->names.images) + 1) * sizeof(*places));
	uint32_t *numbers = malloc((frames + 1) * sizeof(*numbers));
	struct path path = {.callees = malloc((frames + 1) * sizeof(*path.callees))};
	int r = places && numbers && path.callees ? 0 : -ENOMEM;

	if (!r)
		r = images_encode(b, &streams[STACKS_DICT], places);
	if (!r) {
		dict_encode(&streams[STACKS_DICT], b->names.events);
		dict_strings_encode(&streams[STACKS_DICT], b->names.subjects);
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

int stacks_builder_finish(struct stacks_builder *b, int zstd_level, struct buf *out,
			  struct chunk_header *ret)
{
	struct chunk_header h = {CHUNK_STACKS, .rows = b->stack_count, .samples = b->samples};
	struct buf streams[STACKS_STREAMS];
	int r, emptied;

	chunk_streams_init(streams, STACKS_STREAMS);
	r = streams_make(b, streams);
	if (!r)
		r = chunk_append(out, &h, streams, STACKS_STREAMS, zstd_level);
	chunk_streams_free(streams, STACKS_STREAMS);
	emptied = builder_empty(b);
	if (r < 0 || emptied < 0)
		return r < 0 ? r : emptied;
	*ret = h;
	return 0;
}

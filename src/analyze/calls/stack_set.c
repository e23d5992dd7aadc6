/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/calls/stack_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "analyze/calls/stack_reader.h"
#include "util/array.h"
#include "util/num.h"

#define MEMORY_MAX_BYTES ((size_t)1 << 30)
#define IMAGES_MAX	 (1u << 20)
#define FRAMES_MAX	 (1u << 24)
#define NODES_MAX	 (1u << 24)
#define ROOM_FIRST	 64

/* A frame as it is interned. */
struct frame_key {
	uint64_t offset, image;
};

/* The newest path, as query_read does: the likeliest to be there still. */
static int set_path(struct stack_set *s, struct query_image *image, const struct db_frame_item *f)
{
	uint32_t path;

	if (image->path && image->path_size == f->path.size &&
	    !memcmp(image->path, f->path.data ? f->path.data : "", f->path.size))
		return 0;
	int r = intern_add(s->paths, f->path.data ? f->path.data : "", f->path.size, &path);
	if (!r)
		image->path = intern_get(s->paths, path, &image->path_size);
	return r;
}

static int find_image(struct stack_set *s, const struct db_frame_item *f, uint32_t *ret)
{
	struct stack_reader *r = s->reader;
	int err = intern_add(r->images, f->image, sizeof(*f->image), ret);

	if (err)
		return err;
	if (*ret < s->image_count)
		return set_path(s, &s->images[*ret], f);
	if (array_grow(&s->images, s->image_count, &r->image_room, sizeof(*s->images), ROOM_FIRST))
		return -ENOMEM;
	s->images[s->image_count++] = (struct query_image){.id = *f->image};
	return set_path(s, &s->images[*ret], f);
}

int stack_set_frame(struct stack_set *s, const struct db_frame_item *f, uint32_t *ret)
{
	struct stack_reader *r = s->reader;
	struct frame_key key = {.offset = f->offset};
	uint32_t image;
	int err = find_image(s, f, &image);

	key.image = image;
	if (!err)
		err = intern_add(r->frames, &key, sizeof(key), ret);
	if (err || *ret < s->frame_count)
		return err;
	if (array_grow(&s->frames, s->frame_count, &r->frame_room, sizeof(*s->frames), ROOM_FIRST))
		return -ENOMEM;
	s->frames[s->frame_count++] = (struct stack_frame){.image = image, .offset = f->offset};
	return 0;
}

static int add_node(struct stack_set *s, const struct stack_node *node, uint32_t *ret)
{
	if (s->node_count == NODES_MAX)
		return -E2BIG;
	if (array_grow(&s->nodes, s->node_count, &s->reader->node_room, sizeof(*node), ROOM_FIRST))
		return -ENOMEM;
	s->nodes[s->node_count] = *node;
	*ret = (uint32_t)s->node_count++;
	return 0;
}

/* The child of a node, by the frame; or of the root, by the group. */
static int find_child(struct stack_set *s, struct map64 *known, uint64_t key,
		      const struct stack_node *node, uint32_t *ret)
{
	uint64_t index;

	if (!map64_get(known, key, &index)) {
		*ret = (uint32_t)index;
		return 0;
	}
	int r = add_node(s, node, ret);
	return r ? r : map64_put(known, key, *ret);
}

int stack_set_node(struct stack_set *s, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	struct stack_node node = {parent, frame, QUERY_NO_GROUP};

	return find_child(s, s->reader->children, (uint64_t)parent << 32 | frame, &node, ret);
}

int stack_set_root(struct stack_set *s, uint32_t group, uint32_t *ret)
{
	struct stack_node node = {0, STACK_NO_FRAME, group};

	*ret = 0;
	return group == QUERY_NO_GROUP ? 0 : find_child(s, s->reader->roots, group, &node, ret);
}

int stack_set_add_function(struct stack_set *s, const struct stack_function *f)
{
	if (array_grow(&s->functions, s->function_count, &s->reader->function_room, sizeof(*f),
		       ROOM_FIRST))
		return -ENOMEM;
	s->functions[s->function_count++] = *f;
	return 0;
}

int stack_set_add_place(struct stack_set *s, const struct stack_place *place)
{
	if (s->place_count >= UINT32_MAX)
		return -ENOSPC;
	if (array_grow(&s->places, s->place_count, &s->reader->place_room, sizeof(*place),
		       ROOM_FIRST))
		return -ENOMEM;
	s->places[s->place_count++] = *place;
	return 0;
}

/* How many frames from the outermost on are those of the stack before. */
static uint32_t count_shared(const struct stack_reader *r, const struct db_stack_item *item)
{
	uint32_t n = 0;

	while (n < item->frame_count && n < r->last_count &&
	       item->frames[n].offset == r->last[n].offset &&
	       !memcmp(item->frames[n].image, &r->last[n].image, sizeof(r->last[n].image)))
		n++;
	return n;
}

static int find_node(struct stack_set *s, const struct db_stack_item *item, uint32_t root,
		     uint32_t *ret)
{
	struct stack_reader *r = s->reader;
	uint32_t shared = r->last_root == root ? count_shared(r, item) : 0;
	uint32_t at = shared ? r->last[shared - 1].node : root, frame;
	int err = 0;

	r->last_root = root;
	r->last_count = shared;
	for (uint32_t i = shared; i < item->frame_count && !err; i++) {
		err = stack_set_frame(s, &item->frames[i], &frame);
		if (!err)
			err = stack_set_node(s, at, frame, &at);
		if (!err)
			r->last[r->last_count++] = (struct stack_step){*item->frames[i].image,
								       item->frames[i].offset, at};
	}
	*ret = at;
	return err;
}

static int add_count(struct stack_set *s, uint32_t node, uint32_t event, uint64_t count)
{
	struct stack_reader *r = s->reader;
	uint64_t key = (uint64_t)node << 32 | event, index;

	if (!map64_get(r->counts, key, &index)) {
		s->counts[index].count = num_add_sat(s->counts[index].count, count);
		return 0;
	}
	if (array_grow(&s->counts, s->count_count, &r->count_room, sizeof(*s->counts), ROOM_FIRST))
		return -ENOMEM;
	s->counts[s->count_count] = (struct stack_count){node, event, s->nodes[node].frame, count};
	return map64_put(r->counts, key, s->count_count++);
}

static int add_other(struct stack_set *s, const struct query_stack *stack)
{
	struct stack_reader *r = s->reader;
	const struct db_stack_item *item = stack->item;
	uint64_t key, index;
	uint32_t frame;
	int err = stack_set_frame(s, &item->frames[item->frame_count - 1], &frame);

	if (err)
		return err;
	key = (uint64_t)frame << 32 | stack->event;
	if (!map64_get(r->other_counts, key, &index)) {
		r->others[index].count = num_add_sat(r->others[index].count, item->count);
		return 0;
	}
	if (array_grow(&r->others, r->other_count, &r->other_room, sizeof(*r->others), ROOM_FIRST))
		return -ENOMEM;
	r->others[r->other_count] = (struct stack_other){frame, stack->event, item->count};
	return map64_put(r->other_counts, key, r->other_count++);
}

static int take_stack(void *arg, const struct query_stack *stack)
{
	const struct db_stack_item *item = stack->item;
	struct stack_set *s = arg;
	struct stack_event *event = &s->reader->events[stack->event];
	uint32_t node;

	if (!item->frame_count || item->frame_count > DB_STACK_MAX)
		return 0;
	if (!event->name) {
		event->name =
			arena_strndup(s->memory, item->event->name, strlen(item->event->name));
		event->period = item->event->period;
		if (!event->name)
			return -ENOMEM;
	}
	if (!stack->selected)
		return add_other(s, stack);
	int r = stack_set_root(s, stack->group, &node);
	if (!r)
		r = find_node(s, item, node, &node);
	return r ? r : add_count(s, node, stack->event, item->count);
}

static void reader_free(struct stack_reader *r)
{
	if (!r)
		return;
	intern_free(r->images);
	intern_free(r->frames);
	map64_free(r->children);
	map64_free(r->roots);
	map64_free(r->counts);
	map64_free(r->other_counts);
	free(r->others);
	free(r);
}

void stack_set_free(struct stack_set *s)
{
	if (!s)
		return;
	reader_free(s->reader);
	free(s->images);
	free(s->frames);
	free(s->nodes);
	free(s->counts);
	free(s->functions);
	free(s->places);
	intern_free(s->names);
	intern_free(s->paths);
	arena_free(s->memory);
	free(s);
}

static int reader_new(struct stack_reader **ret)
{
	struct stack_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	*ret = r;
	r->images = intern_new(IMAGES_MAX);
	r->frames = intern_new(FRAMES_MAX);
	r->children = map64_new(NODES_MAX);
	r->roots = map64_new(NODES_MAX);
	r->counts = map64_new(NODES_MAX);
	r->other_counts = map64_new(NODES_MAX);
	return r->images && r->frames && r->children && r->roots && r->counts && r->other_counts
		       ? 0
		       : -ENOMEM;
}

int stack_set_new(struct query *q, struct stack_set **ret, struct diag *diag)
{
	struct stack_node root = {0, STACK_NO_FRAME, QUERY_NO_GROUP};
	struct stack_set *s = calloc(1, sizeof(*s));
	uint32_t node;
	int r = s ? reader_new(&s->reader) : -ENOMEM;

	if (!r) {
		s->query = q;
		s->memory = arena_new(MEMORY_MAX_BYTES);
		s->names = intern_new(FRAMES_MAX);
		s->paths = intern_new(IMAGES_MAX);
		r = s->memory && s->names && s->paths ? add_node(s, &root, &node) : -ENOMEM;
	}
	if (r) {
		stack_set_free(s);
		return diag_fail(diag, ENOMEM, "out of memory");
	}
	q->stack = take_stack;
	q->stack_arg = s;
	*ret = s;
	return 0;
}

/* An event as it arrived, and what its stacks are counted as. */
struct arrival {
	uint32_t event;		  /* UINT32_MAX: none */
	uint64_t from, to, carry; /* periods; what the divisions so far left */
};

static struct arrival place_event(const struct query *q, const struct stack_event *e)
{
	struct arrival a = {.event = UINT32_MAX};

	for (uint32_t i = 0; i < q->event_count && e->name; i++) {
		const struct query_event *f = &q->events[i];

		if (f->joined.name &&
		    (!strcmp(f->joined.name, e->name) || !strcmp(f->name, e->name)))
			return (struct arrival){i, 1, 1, 0};
		if (strcmp(f->name, e->name) != 0)
			continue;
		if (f->period == e->period)
			return (struct arrival){i, 1, 1, 0};
		if (f->periods > 1 && f->period)
			a = (struct arrival){i, e->period, f->period, f->period / 2};
	}
	return a;
}

static uint64_t convert(struct arrival *a, uint64_t count)
{
	unsigned __int128 units = (unsigned __int128)count * a->from + a->carry;
	unsigned __int128 whole = units / a->to;

	if (a->from == a->to)
		return count;
	a->carry = (uint64_t)(units % a->to);
	return whole > UINT64_MAX ? UINT64_MAX : (uint64_t)whole;
}

static void add_total(struct stack_set *s, uint32_t event, bool idle, uint64_t count)
{
	uint64_t *sum = idle ? &s->idle[event] : &s->totals[event];

	*sum = num_add_sat(*sum, count);
}

/* Counts in the query's events; without those of idle functions, if they are not wanted. */
static void place_counts(struct stack_set *s, bool idle)
{
	struct arrival arrivals[QUERY_EVENTS_MAX], *a;
	size_t n = 0;

	for (size_t i = 0; i < QUERY_EVENTS_MAX; i++)
		arrivals[i] = place_event(s->query, &s->reader->events[i]);
	for (size_t i = 0; i < s->count_count; i++) {
		struct stack_count c = s->counts[i];
		bool skip = !idle && s->frames[s->nodes[c.node].frame].idle;

		a = &arrivals[c.event];
		if (a->event == UINT32_MAX)
			continue;
		c.count = convert(a, c.count);
		c.event = a->event;
		add_total(s, c.event, skip, c.count);
		if (c.count && !skip)
			s->counts[n++] = c;
	}
	s->count_count = n;
	for (size_t i = 0; i < s->reader->other_count; i++) {
		const struct stack_other *o = &s->reader->others[i];

		a = &arrivals[o->event];
		if (a->event != UINT32_MAX)
			add_total(s, a->event, !idle && s->frames[o->frame].idle,
				  convert(a, o->count));
	}
}

/* "[truncated: no unwind rule]": adds to "no unwind rule". */
static int add_reason(struct stack_set *s, const char *note, uint64_t count)
{
	struct stack_quality *q = &s->quality;
	size_t size = strlen(note), i = 0;

	if (!strncmp(note, STACK_TRUNCATED, sizeof(STACK_TRUNCATED) - 1)) {
		note += sizeof(STACK_TRUNCATED) - 1;
		size = strcspn(note, "]");
	}
	while (i < q->reasons &&
	       (strncmp(q->truncated[i].name, note, size) != 0 || q->truncated[i].name[size]))
		i++;
	if (i == STACK_REASONS_MAX) {
		q->truncated[--i].name = "others";
	} else if (i == q->reasons) {
		q->truncated[i].name = arena_strndup(s->memory, note, size);
		if (!q->truncated[i].name)
			return -ENOMEM;
		q->reasons++;
	}
	q->truncated[i].stacks = num_add_sat(q->truncated[i].stacks, count);
	return 0;
}

static bool is_note(const struct stack_set *s, uint32_t node)
{
	uint32_t frame = s->nodes[node].frame;

	return frame != STACK_NO_FRAME && s->images[s->frames[frame].image].id.kind == IMAGE_NOTE;
}

/* Below the note of unknown callers nothing that was taken is missing. */
static bool is_gap(const struct stack_set *s, uint32_t node)
{
	return is_note(s, node) && strcmp(s->images[s->frames[s->nodes[node].frame].image].path,
					  STACK_CALLERS_UNKNOWN) != 0;
}

static int count_quality(struct stack_set *s)
{
	struct stack_quality *q = &s->quality;
	int r = 0;

	for (size_t i = 0; i < s->count_count && !r; i++) {
		const struct stack_count *c = &s->counts[i];
		uint32_t outermost = c->node, parent;
		bool gapped = false;

		while (s->nodes[parent = s->nodes[outermost].parent].frame != STACK_NO_FRAME) {
			gapped |= is_gap(s, outermost);
			outermost = parent;
		}
		q->stacks = num_add_sat(q->stacks, c->count);
		if (gapped)
			q->gapped = num_add_sat(q->gapped, c->count);
		if (is_note(s, outermost))
			r = add_reason(s,
				       s->images[s->frames[s->nodes[outermost].frame].image].path,
				       c->count);
		else
			q->complete = num_add_sat(q->complete, c->count);
	}
	return r;
}

int stack_set_finish(struct stack_set *s, const struct stack_options *options,
		     const struct rank_source *source, struct diag *diag)
{
	int r = stack_set_name(s, options, source, diag);

	if (r)
		return r;
	place_counts(s, options->idle);
	if (count_quality(s))
		return diag_fail(diag, ENOMEM, "out of memory");
	r = stack_set_weigh(s, options, source, diag);
	if (r)
		return r;
	reader_free(s->reader);
	s->reader = NULL;
	return 0;
}

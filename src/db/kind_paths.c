/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/paths.h"

#include <errno.h>
#include <string.h>
#include "db/batch_rows.h"
#include "db/dict_build.h"
#include "db/kind.h"
#include "util/num.h"

/* The payload of a chunk. Paths are ordered by (image, event, function, blocks, end, to), so that
 * each begins as the one before it does. */
enum paths_stream {
	PATHS_DICT,	   /* images and events */
	PATHS_GROUPS,	   /* (image, event): number of functions */
	PATHS_FUNCTIONS,   /* each function of a group, minus the one before */
	PATHS_FANOUT,	   /* paths of this function, minus one */
	PATHS_SHARED,	   /* blocks in common with the path before, if that is of the function */
	PATHS_BLOCKS,	   /* how many more there are, and each, zigzag, from the one before */
	PATHS_COUNTS,	   /* see dict_count_append */
	PATHS_COUNTS_MORE, /* ... */
	PATHS_ENDS,	   /* enum db_path_end */
	PATHS_TO,	   /* of paths that go on: zigzag, from the path's first block */
	PATHS_TIMED,	   /* timed executions */
	PATHS_TIMES,	   /* ... and their time, of paths that have any */
	PATHS_STREAMS,
};

#define PATHS_CHUNK_TARGET  8192u      /* a writer closes a chunk at this many paths */
#define PATHS_BLOCKS_TARGET (1u << 17) /* ... or this many blocks that are not shared */
#define PATHS_CHUNK_MAX	    (1u << 16) /* a reader refuses more */
#define PATHS_DICT_TARGET   (1u << 20) /* ... or this many bytes of names */

/* The interned key of a path: this, then its blocks. */
struct path_key {
	uint64_t function, to;
	uint32_t image, event, end, unused;
};

static bool is_sound(const struct db_path *p, const struct db_path_sums *sums)
{
	return p->block_count && p->block_count <= DB_PATH_BLOCKS_MAX && p->end &&
	       p->end <= DB_PATH_END_MAX && (!p->to || db_path_goes_on(p->end)) && sums->count &&
	       sums->timed <= sums->count && (sums->timed || !sums->time_ns);
}

int db_batch_path(struct db_batch *b, const struct db_path *path, const struct db_path_sums *sums)
{
	struct {
		struct path_key head;
		uint64_t blocks[DB_PATH_BLOCKS_MAX];
	} key;

	if (!db_batch_knows(b->images, path->image) || !db_batch_knows(b->events, path->event) ||
	    !is_sound(path, sums))
		return -EINVAL;
	key.head =
		(struct path_key){path->function, path->to, path->image, path->event, path->end, 0};
	memcpy(key.blocks, path->blocks, path->block_count * sizeof(*key.blocks));
	return db_batch_counted_add(
		b, CHUNK_PATHS, b->max_rows / 16 + 1, &key,
		sizeof(key.head) + path->block_count * sizeof(*key.blocks),
		(struct db_batch_sums){sums->count, {sums->timed, sums->time_ns}});
}

size_t db_batch_paths(const struct db_batch *b)
{
	return db_batch_counted_size(&b->counted[CHUNK_PATHS]);
}

static void path_make(const struct db_batch *b, uint32_t index, void *ret_room)
{
	const struct db_batch_counted *c = &b->counted[CHUNK_PATHS];
	const struct db_batch_sums *sums = &c->sums[index];
	size_t size;
	const struct path_key *key = intern_get(c->keys, index, &size);

	*(struct db_path_item *)ret_room = (struct db_path_item){
		.image = intern_get(b->images, key->image, NULL),
		.image_path = db_batch_image_path(b, key->image),
		.event = &b->event_list[key->event],
		.function = key->function,
		.blocks = (const uint64_t *)(key + 1),
		.block_count = (uint32_t)((size - sizeof(*key)) / sizeof(uint64_t)),
		.end = (enum db_path_end)key->end,
		.to = key->to,
		.count = sums->count,
		.timed = sums->more[0],
		.time_ns = sums->more[1],
	};
}

/* How many blocks two paths have in common at their beginning. */
static uint32_t count_shared(const struct db_path_item *a, const struct db_path_item *b)
{
	uint32_t n = 0;

	while (n < a->block_count && n < b->block_count && a->blocks[n] == b->blocks[n])
		n++;
	return n;
}

/* By image and event. */
static int compare_groups(const struct db_path_item *a, const struct db_path_item *b)
{
	int order = a->image == b->image ? 0 : memcmp(a->image, b->image, sizeof(*a->image));

	return order || a->event == b->event ? order : db_event_compare(a->event, b->event);
}

int db_path_compare(const struct db_path_item *a, const struct db_path_item *b)
{
	int order = compare_groups(a, b) ?: NUM_ORDER(a->function, b->function);
	uint32_t shared;

	if (order)
		return order;
	shared = count_shared(a, b);
	if (shared < a->block_count && shared < b->block_count)
		return NUM_ORDER(a->blocks[shared], b->blocks[shared]);
	return NUM_ORDER(a->block_count, b->block_count)
		       ?: NUM_ORDER(a->end, b->end) ?: NUM_ORDER(a->to, b->to);
}

static int paths_compare(const void *x, const void *y)
{
	return db_path_compare(x, y);
}

struct paths_builder {
	struct kind_builder head;
	struct buf streams[PATHS_STREAMS];
	struct dict_packed counts;
	uint32_t group_count, functions, paths; /* groups; functions and paths of the last ones */
	uint32_t image, event, fresh;		/* of the last path; blocks in the stream */
	struct db_path_item last;		/* its names are the head's, its blocks these: */
	uint64_t blocks[DB_PATH_BLOCKS_MAX];
};

static int paths_builder_start(void *builder)
{
	struct paths_builder *b = builder;

	chunk_streams_init(b->streams, PATHS_STREAMS);
	b->counts = (struct dict_packed){&b->streams[PATHS_COUNTS], .bits = DICT_COUNT_BITS};
	b->last.blocks = b->blocks;
	b->head.last = &b->last;
	return 0;
}

static void paths_builder_end(void *builder)
{
	chunk_streams_free(((struct paths_builder *)builder)->streams, PATHS_STREAMS);
}

static bool paths_take(const void *builder, const void *item)
{
	const struct paths_builder *b = builder;

	return b->fresh < PATHS_BLOCKS_TARGET && kind_builder_has_room(&kind_paths, &b->head, item);
}

/* What is known at the end of a function, and of a group. */
static void function_end(struct paths_builder *b)
{
	if (b->paths)
		buf_append_varint(&b->streams[PATHS_FANOUT], b->paths - 1);
	b->paths = 0;
}

static void group_end(struct paths_builder *b)
{
	function_end(b);
	if (b->functions) {
		buf_append_varint(&b->streams[PATHS_GROUPS], b->image);
		buf_append_varint(&b->streams[PATHS_GROUPS], b->event);
		buf_append_varint(&b->streams[PATHS_GROUPS], b->functions);
		b->group_count++;
	}
	b->functions = 0;
}

static void blocks_encode(struct paths_builder *b, const struct db_path_item *p)
{
	struct buf *out = &b->streams[PATHS_BLOCKS];
	uint32_t shared = b->paths ? count_shared(&b->last, p) : 0;

	if (b->paths)
		buf_append_varint(&b->streams[PATHS_SHARED], shared);
	buf_append_varint(out, p->block_count - shared);
	for (uint32_t i = shared; i < p->block_count; i++)
		buf_append_varint(out,
				  num_zigzag(p->blocks[i] - (i ? p->blocks[i - 1] : p->function)));
	b->fresh += p->block_count - shared;
	memcpy(b->blocks + shared, p->blocks + shared,
	       (p->block_count - shared) * sizeof(*b->blocks));
}

static void sums_encode(struct paths_builder *b, const struct db_path_item *p)
{
	buf_append_varint(&b->streams[PATHS_ENDS], p->end);
	if (db_path_goes_on(p->end))
		buf_append_varint(&b->streams[PATHS_TO], num_zigzag(p->to - p->blocks[0]));
	dict_count_append(&b->counts, &b->streams[PATHS_COUNTS_MORE], p->count);
	buf_append_varint(&b->streams[PATHS_TIMED], p->timed);
	if (p->timed)
		buf_append_varint(&b->streams[PATHS_TIMES], p->time_ns);
}

static void last_keep(struct paths_builder *b, const struct db_path_item *p, bool is_new_group)
{
	if (is_new_group)
		dict_event_keep(&b->head.last_event, p->event);
	b->last = *p;
	b->last.image = intern_get(b->head.names.images, b->image, NULL);
	b->last.event = &b->head.last_event.event;
	b->last.blocks = b->blocks;
}

static int path_add(void *builder, const void *item)
{
	struct paths_builder *b = builder;
	const struct db_path_item *p = item;
	uint32_t image, event;
	bool is_new_group;
	int r = dict_builder_image(&b->head.names, p->image, &p->image_path, &image);

	if (!r)
		r = dict_builder_event(&b->head.names, p->event, &event);
	if (r)
		return r;
	is_new_group = !b->functions || image != b->image || event != b->event;
	if (is_new_group)
		group_end(b);
	if (is_new_group || p->function != b->last.function) {
		function_end(b);
		buf_append_varint(&b->streams[PATHS_FUNCTIONS],
				  p->function - (b->functions ? b->last.function : 0));
		b->functions++;
	}
	b->image = image;
	b->event = event;
	blocks_encode(b, p);
	sums_encode(b, p);
	last_keep(b, p, is_new_group);
	b->paths++;
	b->head.count++;
	return 0;
}

static int paths_encode(void *builder, struct buf *streams)
{
	struct paths_builder *b = builder;

	group_end(b);
	dict_builder_encode_images(&b->head.names, &streams[PATHS_DICT]);
	dict_encode(&streams[PATHS_DICT], b->head.names.events);
	buf_append_varint(&streams[PATHS_GROUPS], b->group_count);
	for (unsigned i = PATHS_GROUPS; i < PATHS_STREAMS; i++) {
		if (b->streams[i].error)
			return b->streams[i].error;
		buf_append(&streams[i], b->streams[i].data, b->streams[i].size);
	}
	return 0;
}

struct paths_cursor {
	struct kind_cursor head;
	uint32_t groups_left, functions_left, paths_left; /* the latter of the current ones */
	bool is_first_function, is_first_path;
	struct db_path_item last; /* its blocks are these: */
	uint64_t blocks[DB_PATH_BLOCKS_MAX];
};

static int paths_open(void *cursor, struct arena *a)
{
	struct paths_cursor *c = cursor;

	(void)a;
	c->last.blocks = c->blocks;
	c->groups_left = dict_count_decode(&c->head.at[PATHS_GROUPS], DICT_MAX);
	return c->head.at[PATHS_GROUPS].error;
}

static int group_next(struct paths_cursor *c)
{
	struct cursor *groups = &c->head.at[PATHS_GROUPS];
	uint64_t image = cursor_varint(groups), event = cursor_varint(groups),
		 functions = cursor_varint(groups);
	struct db_path_item next = {.blocks = c->blocks};

	if (groups->error || image >= c->head.images.count || event >= c->head.event_count ||
	    !functions || functions > c->head.count)
		return -EBADMSG;
	next.image = &c->head.images.ids[image];
	next.image_path = c->head.images.paths[image];
	next.event = &c->head.events[event];
	if (c->head.seen && compare_groups(&c->last, &next) >= 0)
		return -EBADMSG;
	c->last = next;
	c->groups_left--;
	c->functions_left = (uint32_t)functions;
	c->is_first_function = true;
	return 0;
}

static int function_next(struct paths_cursor *c)
{
	uint64_t step = dict_varint(&c->head.at[PATHS_FUNCTIONS]),
		 fanout = dict_varint(&c->head.at[PATHS_FANOUT]);

	if ((!step && !c->is_first_function) || step > UINT64_MAX - c->last.function ||
	    fanout >= c->head.count)
		return -EBADMSG;
	c->last.function += step;
	c->functions_left--;
	c->paths_left = (uint32_t)fanout + 1;
	c->is_first_function = false;
	c->is_first_path = true;
	return 0;
}

/* The blocks of the next path. If these alone do not tell that it is greater than the one before,
 * ret_equal. */
static int blocks_next(struct paths_cursor *c, bool *ret_equal)
{
	struct cursor *in = &c->head.at[PATHS_BLOCKS];
	uint64_t before = c->is_first_path ? 0 : c->last.block_count,
		 shared = c->is_first_path ? 0 : dict_varint(&c->head.at[PATHS_SHARED]),
		 fresh = dict_varint(in);
	uint64_t replaced;

	if (shared > before || fresh > DB_PATH_BLOCKS_MAX - shared || !(shared + fresh) ||
	    (!fresh && shared < before))
		return -EBADMSG;
	replaced = c->blocks[shared % DB_PATH_BLOCKS_MAX];
	for (uint64_t i = shared; i < shared + fresh; i++)
		c->blocks[i] =
			num_unzigzag(dict_varint(in)) + (i ? c->blocks[i - 1] : c->last.function);
	if (shared < before && c->blocks[shared] <= replaced)
		return -EBADMSG;
	c->last.block_count = (uint32_t)(shared + fresh);
	*ret_equal = !c->is_first_path && !fresh;
	return 0;
}

static int end_next(struct paths_cursor *c, bool is_equal)
{
	uint64_t end = dict_varint(&c->head.at[PATHS_ENDS]), to = 0;

	if (!end || end > DB_PATH_END_MAX)
		return -EBADMSG;
	if (db_path_goes_on((enum db_path_end)end))
		to = c->blocks[0] + num_unzigzag(dict_varint(&c->head.at[PATHS_TO]));
	if (is_equal && (end < c->last.end || (end == c->last.end && to <= c->last.to)))
		return -EBADMSG;
	c->last.end = (enum db_path_end)end;
	c->last.to = to;
	return 0;
}

static int sums_next(struct paths_cursor *c)
{
	struct db_path_item *p = &c->last;

	if (c->head.seen == c->head.count ||
	    kind_cursor_count(&c->head, PATHS_COUNTS, &p->count) < 0)
		return -EBADMSG;
	p->timed = dict_varint(&c->head.at[PATHS_TIMED]);
	p->time_ns = p->timed ? dict_varint(&c->head.at[PATHS_TIMES]) : 0;
	return p->timed > p->count || kind_cursor_failed(&c->head, PATHS_STREAMS) ? -EBADMSG : 0;
}

static int paths_next(void *cursor, void *ret_item)
{
	struct paths_cursor *c = cursor;
	bool is_equal;

	if (!c->paths_left && !c->functions_left) {
		if (!c->groups_left)
			return c->head.seen == c->head.count ? kind_cursor_end(&c->head) : -EBADMSG;
		if (group_next(c) < 0)
			return -EBADMSG;
	}
	if ((!c->paths_left && function_next(c) < 0) || blocks_next(c, &is_equal) < 0 ||
	    end_next(c, is_equal) < 0 || sums_next(c) < 0)
		return -EBADMSG;
	c->paths_left--;
	c->is_first_path = false;
	*(struct db_path_item *)ret_item = c->last;
	return 1;
}

const struct db_kind kind_paths = {
	.type = CHUNK_PATHS,
	.items = {"path", "paths"},
	.json = "paths",
	.total = {"path execution", "path executions"},
	.loss = {"execution of", "executions of"},
	.lost = "paths.damaged",
	.item_size = sizeof(struct db_path_item),
	.count_at = offsetof(struct db_path_item, count),
	.more_at = {offsetof(struct db_path_item, timed), offsetof(struct db_path_item, time_ns)},
	.is_labelled = true,
	.image_at = offsetof(struct db_path_item, image),
	.path_at = offsetof(struct db_path_item, image_path),
	.compare = paths_compare,
	.make = path_make,
	.room_size = sizeof(struct db_path_item),
	.chunk_target = PATHS_CHUNK_TARGET,
	.name_target = PATHS_CHUNK_TARGET,
	.dict_target = PATHS_DICT_TARGET,
	.takes = paths_take,
	.builder_size = sizeof(struct paths_builder),
	.builder_start = paths_builder_start,
	.builder_end = paths_builder_end,
	.add = path_add,
	.encode = paths_encode,
	.stream_count = PATHS_STREAMS,
	.chunk_max = PATHS_CHUNK_MAX,
	.has_events = true,
	.counts_stream = PATHS_COUNTS,
	.stepped = 1 << PATHS_GROUPS | 1 << PATHS_FUNCTIONS | 1 << PATHS_FANOUT |
		   1 << PATHS_SHARED | 1 << PATHS_BLOCKS | 1 << PATHS_COUNTS_MORE |
		   1 << PATHS_ENDS | 1 << PATHS_TO | 1 << PATHS_TIMED | 1 << PATHS_TIMES,
	.cursor_size = sizeof(struct paths_cursor),
	.open = paths_open,
	.next = paths_next,
};

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Chunks of stacks: what goes in comes out, and so it does of the forms that were written before.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "db/dict.h"
#include "db/stacks.h"
#include "db_help.h"
#include "kind_help.h"
#include "util/id_hash.h"

#define IMAGES 3

static const struct image_id images[IMAGES] = {
	{.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {1}},
	{.kind = IMAGE_BUILD_ID, .size = 2, .bytes = {2}},
	{.kind = IMAGE_KERNEL, .size = 2, .bytes = {1}},
};

static const struct db_event event = {.name = "cycles", .period = 1000};

/* A stack of numbers of frames: 100 to each image. */
struct numbers {
	uint32_t frame[8], count;
};

static struct db_stack_item make_stack(const struct numbers *n, const char *subject, uint64_t count,
				       struct db_frame_item *frames)
{
	for (uint32_t i = 0; i < n->count; i++)
		frames[i] = (struct db_frame_item){
			.image = &images[n->frame[i] / 100],
			.path = {"path", 4},
			.offset = 7 * (n->frame[i] % 100),
		};
	return (struct db_stack_item){.event = &event,
				      .subject = {subject, strlen(subject)},
				      .frames = frames,
				      .frame_count = n->count,
				      .count = count};
}

static void expect_stack(struct kind_chunk *c, const struct numbers *n, const char *subject,
			 uint64_t count)
{
	struct db_frame_item frames[8];
	struct db_stack_item wanted = make_stack(n, subject, count, frames);
	const struct db_stack_item *is = c->item;

	assert_int_equal(kind_chunk_next(c), 1);
	assert_int_equal(db_stack_compare(is, &wanted), 0);
	assert_int_equal(is->count, count);
}

/* Stacks that share frames, that are parts of others, that call the same in other places. */
static const struct numbers stacks[] = {
	{{1}, 1},
	{{1, 2}, 2},
	{{1, 2, 3, 201, 202}, 5},
	{{1, 2, 5, 3, 201}, 5},
	{{1, 5, 3, 201, 2}, 5},
	{{4, 5, 103, 4, 5, 104}, 6},
	{{4, 5, 107}, 3},
	{{99, 199, 299}, 3},
};
#define STACKS (sizeof(stacks) / sizeof(*stacks))

static const char *const subjects[] = {"a", "b"};

/* The stacks of one subject, then those of the other. */
static const void *get_stack(const void *items, size_t i)
{
	static struct db_frame_item frames[8];
	static struct db_stack_item s;

	(void)items;
	s = make_stack(&stacks[i % STACKS], subjects[i / STACKS], i + 1, frames);
	return &s;
}

static void what_goes_into_a_chunk_comes_out(void **state)
{
	struct db_bytes streams[CHUNK_STREAMS_MAX];
	struct arena *a = arena_new(1 << 20);
	struct kind_chunk c;
	struct buf raw;

	(void)state;
	buf_init(&raw, 1 << 20);
	kind_make_chunk(&kind_stacks, get_stack, NULL, 2 * STACKS, &raw, streams);
	assert_int_equal(kind_chunk_open(&kind_stacks, streams, 2 * STACKS, a, &c), 0);
	for (size_t i = 0; i < 2 * STACKS; i++)
		expect_stack(&c, &stacks[i % STACKS], subjects[i / STACKS], i + 1);
	assert_int_equal(kind_chunk_next(&c), 0);
	buf_free(&raw);
	arena_free(a);
}

/* Into a batch, whose numbers of images and subjects rise as they come. */
static void add_to_batch(struct db_batch *b, size_t i)
{
	const struct numbers *n = &stacks[i % STACKS];
	struct db_frame frames[8];
	uint32_t event_number, subject;

	assert_int_equal(db_batch_event(b, &event, &event_number), 0);
	assert_int_equal(db_batch_subject(b, subjects[i / STACKS], 1, &subject), 0);
	for (uint32_t f = 0; f < n->count; f++) {
		frames[f].offset = 7 * (n->frame[f] % 100);
		assert_int_equal(
			db_batch_image(b, &images[n->frame[f] / 100], "path", 4, &frames[f].image),
			0);
	}
	assert_int_equal(db_batch_stack(b, event_number, subject, frames, n->count, i + 1), 0);
}

static int expect_next(void *arg, const void *item)
{
	size_t *next = arg;

	assert_int_equal(db_stack_compare(item, get_stack(NULL, *next)), 0);
	assert_int_equal(((const struct db_stack_item *)item)->count, *next + 1);
	++*next;
	return 0;
}

/* They come out of a batch in the order of packs, however they went in. */
static void a_batch_tells_them_in_order(void **state)
{
	size_t next;

	(void)state;
	for (size_t first = 0; first < 2 * STACKS; first++) {
		struct db_batch *b = db_batch_new(1000);

		assert_non_null(b);
		for (size_t i = 2 * STACKS; i-- > 0;)
			add_to_batch(b, (first + i) % (2 * STACKS));
		next = 0;
		assert_int_equal(kind_each(&kind_stacks, b, expect_next, &next), 0);
		assert_int_equal(next, 2 * STACKS);
		db_batch_free(b);
	}
}

/* Streams of one image with frames 0 to 9, as all of them have it. */
static void put_names(struct buf *dict, struct buf *groups, struct buf *frames, unsigned count)
{
	struct db_bytes path = {"path", 4};

	buf_append_varint(dict, 1);
	dict_image_encode(dict, &images[0], &path);
	buf_append_varint(dict, 1);
	buf_append_string(dict, event.name, strlen(event.name));
	buf_append_varint(dict, event.period);
	buf_append_varint(dict, event.flags);
	buf_append_varint(dict, 1);
	buf_append_string(dict, "a", 1);
	for (uint64_t i = 0; i < 4; i++)
		buf_append_varint(groups, i == 0 ? 1 : i == 3 ? count : 0);
	buf_append_varint(frames, 10);
	for (unsigned i = 0; i < 10; i++)
		buf_append_varint(frames, i ? 7 : 0);
}

/* The streams of numbers, a digit each. */
struct digits {
	const char *unused, *firsts, *calls, *again;
};

/* What they say of count stacks of one sample each, that share and go on as three[] does. */
static int try_numbers(const struct digits *d, const struct numbers *wanted, unsigned count)
{
	const char *texts[STACKS_STREAMS] = {
		[STACKS_SHARED] = "010",     [STACKS_FRESH] = "212",	[STACKS_UNUSED] = d->unused,
		[STACKS_FIRSTS] = d->firsts, [STACKS_CALLS] = d->calls, [STACKS_AGAIN] = d->again};
	struct db_bytes streams[CHUNK_STREAMS_MAX] = {0};
	struct arena *a = arena_new(1 << 20);
	struct buf bufs[STACKS_STREAMS];
	struct kind_chunk c;
	int r;

	chunk_streams_init(bufs, STACKS_STREAMS);
	put_names(&bufs[STACKS_DICT], &bufs[STACKS_GROUPS], &bufs[STACKS_FRAMES], count);
	for (int i = 0; i < STACKS_STREAMS; i++) {
		for (const char *at = texts[i]; at && *at; at++)
			buf_append_u8(&bufs[i], (uint8_t)(*at - '0'));
		if (i == STACKS_COUNTS)
			for (unsigned n = 0; n < count; n += 2)
				buf_append_u8(&bufs[i], 0);
		streams[i] = (struct db_bytes){bufs[i].data, bufs[i].size};
	}
	r = kind_chunk_open(&kind_stacks, streams, count, a, &c);
	for (unsigned i = 0; wanted && i < count; i++)
		expect_stack(&c, &wanted[i], "a", 1);
	while (r == 0 && (r = kind_chunk_next(&c)) == 1)
		r = 0;
	chunk_streams_free(bufs, STACKS_STREAMS);
	arena_free(a);
	return r;
}

static const struct numbers three[] = {{{1, 3, 5}, 3}, {{1, 4, 5}, 3}, {{2, 3, 6}, 3}};

static void expect_numbers(const struct digits *good, const struct digits *bad, size_t bad_count)
{
	assert_int_equal(try_numbers(good, three, 3), 0);
	for (size_t i = 0; i < bad_count; i++)
		assert_int_equal(try_numbers(&bad[i], NULL, 3), -EBADMSG);
}

static void frames_stand_by_what_their_caller_called(void **state)
{
	/*
	 * 1, 3 from 1, 5 from 3; 4 for 3, and 5 from 4; 2 for 1, 3 from 2, and one more than 5,
	 * with which 3 began.
	 */
	static const struct digits good = {"", "00", "24422", "2"},
				   bad[] = {
					   {"", "09", "24422", "2"}, /* past the last */
					   {"", "00", "24422", ":"},
					   {"", "00", "2442@", "2"},
					   {"", "00", "24422", ";"}, /* below the first */
					   {"", "00", "1", ""},
					   {"", "000", "24422", "2"}, /* one too many */
					   {"", "00", "244222", "2"},
					   {"", "00", "24422", "22"},
					   {"1", "00", "24422", "2"}, /* nothing is there */
					   {"", "00", "2442", "2"},   /* one too few */
					   {"", "00", "24422", ""},
				   };

	(void)state;
	expect_numbers(&good, bad, sizeof(bad) / sizeof(*bad));
}

/* That of a script is a hash of its path, and so is not written; what is not that hash is. */
static void ids_of_scripts_follow_from_their_paths(void **state)
{
	struct db_bytes path = {"/usr/bin/meson", 14};
	struct image_id ids[3] = {image_id_hash(IMAGE_SCRIPT, path.data, path.size),
				  {.kind = IMAGE_SCRIPT, .size = 16, .bytes = {1}},
				  image_id_hash(IMAGE_JIT, path.data, path.size)};
	static const size_t sizes[3] = {2 + 15, 2 + 16 + 15, 2 + 16 + 15};
	struct arena *a = arena_new(1 << 20);
	struct dict_images found;
	struct cursor c;
	struct buf out;

	(void)state;
	buf_init(&out, 1 << 10);
	buf_append_varint(&out, 3);
	for (int i = 0; i < 3; i++) {
		size_t before = out.size;

		dict_image_encode(&out, &ids[i], &path);
		assert_int_equal(out.size - before, sizes[i]);
	}
	c = cursor_over(out.data, out.size);
	dict_images_decode(&c, a, &found);
	assert_int_equal(c.error, 0);
	assert_int_equal(cursor_left(&c), 0);
	assert_int_equal(found.count, 3);
	for (int i = 0; i < 3; i++)
		assert_memory_equal(&found.ids[i], &ids[i], sizeof(ids[i]));
	buf_free(&out);
	arena_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_into_a_chunk_comes_out),
		cmocka_unit_test(a_batch_tells_them_in_order),
		cmocka_unit_test(frames_stand_by_what_their_caller_called),
		cmocka_unit_test(ids_of_scripts_follow_from_their_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

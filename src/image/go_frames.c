/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/go_frames.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define GO_1_18 0xfffffff0u
#define GO_1_20 0xfffffff1u

/* Of the header, which has 8 bytes each. */
#define COUNT_AT 8
#define TEXT_AT	 24
#define STEPS_AT 56
#define LIST_AT	 64
#define HEADER	 72
/* Of a function. */
#define STEPS_OF 16
#define FLAGS_OF 37 /* 4 more since 1.20 */

/* Of its flags. */
#define STARTS_THREAD 1
#define WRITES_STACK  2
#define ASSEMBLY      4

#define DEPTH_MAX (1 << 30)

struct table {
	const uint8_t *bytes;
	size_t size;
	uint64_t text, count;
	uint64_t list;	/* of pairs of words: a function's address behind text, and its entry's */
	uint64_t steps; /* what entries point to */
	unsigned flags_of;
	go_frames_taker *f;
	void *arg;
};

static uint64_t read_word(const uint8_t *at, unsigned bytes)
{
	uint64_t word = 0;

	memcpy(&word, at, bytes);
	return word;
}

static bool read_header(struct table *t)
{
	uint32_t magic;

	if (t->size < HEADER)
		return false;
	magic = (uint32_t)read_word(t->bytes, 4);
	if ((magic != GO_1_18 && magic != GO_1_20) || t->bytes[4] || t->bytes[5] ||
	    t->bytes[6] != 1 || t->bytes[7] != 8)
		return false;
	t->count = read_word(t->bytes + COUNT_AT, 8);
	t->text = read_word(t->bytes + TEXT_AT, 8);
	t->steps = read_word(t->bytes + STEPS_AT, 8);
	t->list = read_word(t->bytes + LIST_AT, 8);
	t->flags_of = FLAGS_OF + (magic == GO_1_20 ? 4 : 0);
	/* Behind the last function comes where it ends. */
	return t->text && t->steps <= t->size && t->list + 4 <= t->size && t->list < t->size &&
	       t->count <= (t->size - t->list - 4) / 8;
}

/* Seven bits a byte, the lowest first. */
static bool read_number(const struct table *t, uint64_t *at, uint32_t *ret)
{
	uint32_t number = 0;

	for (unsigned shift = 0; shift < 35 && *at < t->size; shift += 7) {
		uint8_t byte = t->bytes[(*at)++];

		number |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = number;
			return true;
		}
	}
	return false;
}

/* Steps of the depth, each with the bytes of code that it holds for, up to a 0 or the end. */
static int take_steps(const struct table *t, uint64_t at, uint64_t start, uint64_t end)
{
	int64_t depth = -1;
	uint32_t change, bytes;
	int r = 0;

	for (bool first = true; !r && start < end; first = false) {
		if (!read_number(t, &at, &change) || (!change && !first) ||
		    !read_number(t, &at, &bytes) || bytes > end - start)
			break;
		depth += change & 1 ? -(int64_t)(change >> 1) - 1 : (int64_t)(change >> 1);
		if (depth < 0 || depth > DEPTH_MAX || depth % 8)
			break;
		if (bytes)
			r = t->f(t->arg, start, start + bytes, (uint32_t)depth);
		start += bytes;
	}
	return r;
}

int go_frames_each(const void *table, size_t size, go_frames_taker *f, void *arg)
{
	struct table t = {.bytes = table, .size = size, .f = f, .arg = arg};
	uint64_t done = 0;
	int r = 0;

	if (!read_header(&t))
		return -EBADMSG;
	for (uint64_t i = 0; !r && i < t.count; i++) {
		const uint8_t *pair = t.bytes + t.list + 8 * i;
		uint64_t start = t.text + read_word(pair, 4), end = t.text + read_word(pair + 8, 4);
		uint64_t entry = t.list + read_word(pair + 4, 4), steps;

		if (start < done || start >= end || entry + t.flags_of >= size)
			continue;
		done = end;
		steps = read_word(t.bytes + entry + STEPS_OF, 4);
		if (steps && steps < size - t.steps &&
		    !(t.bytes[entry + t.flags_of] & (STARTS_THREAD | WRITES_STACK | ASSEMBLY)))
			r = take_steps(&t, t.steps + steps, start, end);
	}
	return r;
}

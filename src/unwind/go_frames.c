/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "unwind/go_frames.h"

#include <errno.h>
#include <stdbool.h>
#include "unwind/go_table.h"

/* Of a function's record. */
#define STEPS_OF 16
#define FLAGS_OF 37 /* 4 more since 1.20 */

/* Of its flags. */
#define STARTS_THREAD 1
#define WRITES_STACK  2
#define ASSEMBLY      4

#define DEPTH_MAX (1 << 30)

struct walk {
	struct go_table table;
	go_frames_taker *f;
	void *arg;
};

/* Seven bits a byte, the lowest first. */
static bool read_number(const struct go_table *t, uint64_t *at, uint32_t *ret)
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
static int take_steps(const struct walk *w, uint64_t at, uint64_t start, uint64_t end)
{
	int64_t depth = -1;
	uint32_t change, bytes;
	int r = 0;

	for (bool first = true; !r && start < end; first = false) {
		if (!read_number(&w->table, &at, &change) || (!change && !first) ||
		    !read_number(&w->table, &at, &bytes) || bytes > end - start)
			break;
		depth += change & 1 ? -(int64_t)(change >> 1) - 1 : (int64_t)(change >> 1);
		if (depth < 0 || depth > DEPTH_MAX || depth % 8)
			break;
		if (bytes)
			r = w->f(w->arg, start, start + bytes, (uint32_t)depth);
		start += bytes;
	}
	return r;
}

static bool has_frames(const struct go_table *t, uint64_t flags)
{
	return flags < t->size && !(t->bytes[flags] & (STARTS_THREAD | WRITES_STACK | ASSEMBLY));
}

int go_frames_each(const void *table, size_t size, go_frames_taker *f, void *arg)
{
	struct walk w = {.f = f, .arg = arg};
	const struct go_table *t = &w.table;
	struct go_function function;
	uint64_t done = 0;
	int r = go_table_open(table, size, &w.table);

	if (r || t->quantum != 1)
		return -EBADMSG;
	for (uint64_t i = 0; !r && i < t->count; i++) {
		uint32_t steps;

		if (!go_table_function(t, i, &function) || function.start < done)
			continue;
		done = function.end;
		steps = go_table_read(t, function.record + STEPS_OF);
		if (steps && has_frames(t, function.record + FLAGS_OF + (t->is_1_20 ? 4 : 0)))
			r = take_steps(&w, t->pc_tables + steps, function.start, function.end);
	}
	return r;
}

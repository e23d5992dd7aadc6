/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "exchange/stacks.h"
#include "util/array.h"
#include "util/hash.h"
#include "util/identity.h"
#include "util/num.h"
#include "util/quote.h"

/* Folded stacks: a line a stack. */

#define LINES_MAX (64u << 20)

struct folder {
	const struct stack_set *set;
	struct intern *lines;
	uint64_t *counts;
	size_t room;
};

static void put_name(struct buf *b, const char *name, size_t size)
{
	if (b->size)
		buf_append_u8(b, ';');
	for (size_t i = quote_plain(b, name, size); i < b->size && !b->error; i++)
		if (b->data[i] == ';')
			b->data[i] = ':';
}

static void put_command(struct buf *b, const struct stack_set *s, uint32_t group)
{
	const char *comm = NULL;
	const void *subject;
	size_t size = 0;

	if (group != QUERY_NO_GROUP) {
		subject = intern_get(s->query->groups, group, &size);
		comm = subject_get(subject, size, "comm", &size);
	}
	if (comm)
		put_name(b, comm, size);
}

static int add_count(struct folder *f, uint32_t line, uint64_t count)
{
	if (array_reserve_zeroed(&f->counts, (size_t)line + 1, &f->room, sizeof(*f->counts), 1024))
		return -ENOMEM;
	f->counts[line] = num_add_sat(f->counts[line], count);
	return 0;
}

static int add_lines(struct folder *f)
{
	struct stack_levels levels = {0};
	struct buf line;
	int r = 0;

	buf_init(&line, 64u << 20);
	for (size_t i = 0; i < f->set->count_count && !r; i++) {
		const struct stack_count *c = &f->set->counts[i];
		uint32_t number;

		if (c->event)
			continue;
		buf_clear(&line);
		r = stack_levels_read(&levels, f->set, c->node);
		if (!r)
			put_command(&line, f->set, levels.group);
		for (size_t k = 0; k < levels.count && !r; k++) {
			const char *name = stack_level_function(f->set, &levels.list[k])->name;

			put_name(&line, name, strlen(name));
		}
		if (!r)
			r = line.error;
		if (!r)
			r = intern_add(f->lines, line.data, line.size, &number);
		if (!r)
			r = add_count(f, number, c->count);
	}
	buf_free(&line);
	free(levels.list);
	return r;
}

static int compare_lines(const void *a, const void *b, void *arg)
{
	size_t size;
	const char *x = intern_get(arg, *(const uint32_t *)a, &size);
	const char *y = intern_get(arg, *(const uint32_t *)b, &size);

	return strcmp(x, y);
}

static int print_lines(const struct folder *f, struct buf *out)
{
	uint32_t count = intern_count(f->lines);
	uint32_t *order = calloc(count + 1u, sizeof(*order));
	size_t size;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), compare_lines, f->lines);
	for (uint32_t i = 0; i < count; i++) {
		const char *line = intern_get(f->lines, order[i], &size);

		buf_append(out, line, size);
		buf_printf(out, " %" PRIu64 "\n", f->counts[order[i]]);
	}
	free(order);
	return out->error;
}

int stacks_write_folded(const struct stack_set *s, struct buf *out)
{
	struct folder f = {.set = s, .lines = intern_new(LINES_MAX)};
	int r = f.lines ? add_lines(&f) : -ENOMEM;

	if (!r)
		r = print_lines(&f, out);
	intern_free(f.lines);
	free(f.counts);
	if (r && !out->error)
		out->error = r;
	return r;
}

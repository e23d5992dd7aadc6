/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/symbol_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/array.h"
#include "util/num.h"

#define NAMES_MAX (UINT32_MAX / 2)

int symbol_set_init(struct symbol_set *s, size_t max_bytes)
{
	*s = (struct symbol_set){.max_bytes = max_bytes};
	buf_init(&s->names, max_bytes < NAMES_MAX ? max_bytes : NAMES_MAX);
	return buf_append_u8(&s->names, 0); /* offset 0 means "no name" */
}

void symbol_set_free(struct symbol_set *s)
{
	if (!s)
		return;
	free(s->list);
	buf_free(&s->names);
	s->list = NULL;
	s->count = s->room = 0;
}

/* The offset of the copied name, 0 when it was refused. */
static uint32_t set_name(struct symbol_set *s, const char *name)
{
	size_t size = strnlen(name, SYMBOL_NAME_MAX + 1);

	if (size == 0)
		return 0;
	size_t at = s->names.size;
	if (size > SYMBOL_NAME_MAX || size + 1 > s->names.max - at ||
	    buf_append(&s->names, name, size) < 0 || buf_append_u8(&s->names, 0) < 0) {
		s->names_refused++;
		return 0;
	}
	return (uint32_t)at;
}

int symbol_set_add(struct symbol_set *s, const struct symbol_candidate *c, const char *name)
{
	struct symbol_candidate *to;

	if (s->count >= s->max_bytes / sizeof(*s->list))
		return -EFBIG;
	if (array_grow(&s->list, s->count, &s->room, sizeof(*s->list), 256))
		return -ENOMEM;
	to = &s->list[s->count++];
	*to = *c;
	to->name = name ? set_name(s, name) : 0;
	return 0;
}

static unsigned leading_underscores(const char *name)
{
	return (unsigned)strspn(name, "_");
}

/* Of two names without other difference: fewer underscores, then shorter, then alphabetic. */
static int compare_names(const char *a, const char *b)
{
	unsigned underscores_a = leading_underscores(a), underscores_b = leading_underscores(b);

	if (underscores_a != underscores_b)
		return underscores_a < underscores_b ? -1 : 1;
	size_t size_a = strlen(a), size_b = strlen(b);
	return NUM_ORDER(size_a, size_b) ?: strcmp(a, b);
}

static int compare_candidates(const void *pa, const void *pb, void *names)
{
	const struct symbol_candidate *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (!a->name != !b->name) /* a name, however obscure, beats none */
		return a->name ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	if (a->name == b->name)
		return NUM_ORDER(a->size, b->size);
	return compare_names((const char *)names + a->name, (const char *)names + b->name);
}

/* One function while the sweep runs: open ones end where the next begins. */
struct sweep {
	struct symbol_row *rows;
	size_t count;
	struct symbol_candidate last; /* of rows[count - 1] */
	uint64_t end;		      /* of last; UINT64_MAX: open */
	bool any;
};

static uint64_t candidate_end(const struct symbol_candidate *c)
{
	uint64_t end = c->start + c->size;

	if (c->size == 0)
		return UINT64_MAX;
	if (end < c->start)
		end = UINT64_MAX - 1;
	return c->limit && end > c->limit ? c->limit : end;
}

/* Ends the last function at next (UINT64_MAX: there is none) or before. */
static void sweep_close(struct sweep *w, uint64_t next)
{
	if (!w->any)
		return;
	uint64_t end = w->end;
	if (end == UINT64_MAX) {
		if (w->last.limit)
			end = w->last.limit;
		else if (next == UINT64_MAX)
			end = (w->last.start | 4095) + 1 ? (w->last.start | 4095) + 1 : UINT64_MAX;
	}
	if (end > next)
		end = next;
	if (end <= w->last.start)
		return;
	uint64_t size = end - w->last.start;
	w->rows[w->count++] = (struct symbol_row){
		.start = w->last.start,
		.size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size,
		.name = w->last.name,
		.local = w->last.name && w->last.rank == SYMBOL_LOCAL,
	};
}

/*
 * Takes the next function in order of start. One that starts within the last: a mere label or a
 * start without name is part of it; a function with a size takes over until the end of both, so
 * that no address falls between rows.
 */
static void sweep_take(struct sweep *w, const struct symbol_candidate *c)
{
	uint64_t end = candidate_end(c);

	if (w->any && w->end != UINT64_MAX && c->start < w->end) {
		if (w->last.name && (!c->name || c->size == 0))
			return;
		if (end < w->end)
			end = w->end;
	}
	sweep_close(w, c->start);
	w->last = *c;
	w->end = end;
	w->any = true;
}

static size_t sweep_all(struct symbol_set *s, struct symbol_row *rows)
{
	struct sweep w = {.rows = rows};

	for (size_t i = 0; i < s->count;) {
		struct symbol_candidate best = s->list[i];

		for (i++; i < s->count && s->list[i].start == best.start; i++) {
			if (best.size == 0)
				best.size = s->list[i].size;
			if (best.limit == 0)
				best.limit = s->list[i].limit;
		}
		sweep_take(&w, &best);
	}
	sweep_close(&w, UINT64_MAX);
	return w.count;
}

int symbol_set_finish(struct symbol_set *s, const char *source, struct image_symbols **ret)
{
	struct symbol_rows rows = {.list = calloc(s->count + 1, sizeof(*rows.list)),
				   .names_size = s->names.size,
				   .names_refused = s->names_refused};
	char *names = (char *)s->names.data;

	if (!rows.list)
		return -ENOMEM;
	if (s->count)
		qsort_r(s->list, s->count, sizeof(*s->list), compare_candidates, names);
	rows.count = sweep_all(s, rows.list);
	struct symbol_row *shrunk = realloc(rows.list, (rows.count + 1) * sizeof(*rows.list));
	if (shrunk)
		rows.list = shrunk;
	rows.names = malloc(s->names.size);
	int r = rows.names ? 0 : -ENOMEM;
	if (!r) {
		memcpy(rows.names, names, s->names.size);
		r = image_symbols_new(&rows, source, ret);
	}
	if (r < 0) {
		free(rows.names);
		free(rows.list);
		return r;
	}
	symbol_set_free(s);
	return 0;
}

int image_symbols_build(const struct image_symbol *list, size_t count, const char *source,
			struct image_symbols **ret)
{
	struct symbol_set set;
	int r = symbol_set_init(&set, SIZE_MAX);

	for (size_t i = 0; i < count && !r; i++) {
		struct symbol_candidate c = {.start = list[i].start, .size = list[i].size};

		if (c.size)
			c.order = (uint32_t)(count - i);
		else
			c.rank = SYMBOL_LOCAL;
		r = symbol_set_add(&set, &c, list[i].name);
	}
	if (!r && set.names_refused)
		r = -EFBIG;
	if (!r)
		r = symbol_set_finish(&set, source, ret);
	symbol_set_free(&set);
	return r;
}

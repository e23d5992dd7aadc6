/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/stacks/unwind_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/array.h"
#include "util/hash.h"
#include "util/search.h"

#define PAGE_BYTES (1u << WIRE_UNWIND_PAGE_BITS)

/* A piece of an array, [first, first + count). */
struct piece {
	uint32_t first, count;
};

struct table {
	struct piece rows; /* all of it; its pages come first */
	uint32_t page_count;
	uint64_t used; /* when, by the clock of uses */
	bool there;
};

struct unwind_tables {
	struct unwind_memory memory;
	struct intern *rules;
	struct table *slots;
	uint32_t *order; /* slots of the tables that are there */
	size_t order_count;
	uint64_t clock;
	struct unwind_tables_counters counters;
};

/* A row by file offset, with the number of its rule, or the step to its original; kept until it is
 * placed. */
struct made_row {
	uint32_t offset, rule;
};

struct made {
	struct made_row *rows;
	size_t count, room;
	uint32_t width; /* words of each: 2 where the step to an original has one of its own */
};

struct unwind_tables *unwind_tables_new(const struct unwind_memory *memory)
{
	static const struct wire_unwind_rule none;
	struct unwind_tables *t = calloc(1, sizeof(*t));
	uint32_t number;

	if (!t)
		return NULL;
	t->memory = *memory;
	t->rules = intern_new(memory->rule_count);
	t->slots = calloc(memory->slot_count, sizeof(*t->slots));
	t->order = calloc(memory->slot_count, sizeof(*t->order));
	if (!t->rules || !t->slots || !t->order ||
	    intern_add(t->rules, &none, sizeof(none), &number)) {
		unwind_tables_free(t);
		return NULL;
	}
	memory->rules[0] = none;
	return t;
}

void unwind_tables_free(struct unwind_tables *t)
{
	if (!t)
		return;
	intern_free(t->rules);
	free(t->slots);
	free(t->order);
	free(t);
}

/* The number of a rule that all tables share; 0 when there are too many. */
static uint32_t number_rule(struct unwind_tables *t, const struct wire_unwind_rule *rule)
{
	uint32_t known = intern_count(t->rules), number;

	if (rule->cfa == WIRE_CFA_NONE && rule->ra == WIRE_LOCATION_UNDEFINED)
		return 0;
	if (intern_add(t->rules, rule, sizeof(*rule), &number)) {
		t->counters.refused++;
		return 0;
	}
	if (number == known)
		t->memory.rules[number] = *rule;
	return number;
}

static int add_made(struct made *m, uint64_t offset, uint32_t rule)
{
	if (m->count && m->rows[m->count - 1].rule == rule)
		return 0;
	if (m->count && m->rows[m->count - 1].offset == offset) {
		m->rows[m->count - 1].rule = rule;
		return 0;
	}
	if (array_grow(&m->rows, m->count, &m->room, sizeof(*m->rows), 1024))
		return -ENOMEM;
	m->rows[m->count++] = (struct made_row){(uint32_t)offset, rule};
	return 0;
}

/* The first row that ends after an address. */
static size_t first_row(const struct image_unwind *u, uint64_t address)
{
	size_t next = SEARCH_FIRST(u->row_count, i, u->base + u->rows[i].offset > address);

	return next ? next - 1 : 0;
}

static int make_segment(const struct image_unwind *u, const uint32_t *numbers,
			const struct image_segment *s, struct made *m)
{
	uint64_t end = s->address + s->file_size;
	int r = 0;

	for (size_t i = first_row(u, s->address); i < u->row_count && !r; i++) {
		uint64_t address = u->base + u->rows[i].offset;

		if (address >= end)
			break;
		if (address < s->address)
			address = s->address;
		r = add_made(m, address - s->address + s->file_offset, numbers[u->rows[i].rule]);
	}
	return r ? r : add_made(m, s->file_offset + s->file_size, 0);
}

static int compare_segments(const void *a, const void *b)
{
	const struct image_segment *p = a, *q = b;

	return p->file_offset < q->file_offset ? -1 : p->file_offset > q->file_offset;
}

/* All rows in order of file offset; segments that overlap or lie past 4 GiB are left out. */
static int make_rows(struct unwind_tables *t, const struct image_unwind *u,
		     const struct image_segment *segments, uint32_t count, struct made *m)
{
	uint32_t *numbers = reallocarray(NULL, u->rule_count + 1, sizeof(*numbers));
	struct image_segment sorted[IMAGE_SEGMENTS_MAX];
	uint64_t done = 0;
	int r = 0;

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < u->rule_count; i++)
		numbers[i] = number_rule(t, &u->rules[i]);
	count = count < IMAGE_SEGMENTS_MAX ? count : IMAGE_SEGMENTS_MAX;
	memcpy(sorted, segments, count * sizeof(*sorted));
	array_sort(sorted, count, sizeof(*sorted), compare_segments);
	for (uint32_t i = 0; i < count && !r; i++) {
		const struct image_segment *s = &sorted[i];

		if (s->file_offset < done || s->file_offset > UINT32_MAX ||
		    s->file_size > UINT32_MAX - s->file_offset ||
		    s->address > UINT64_MAX - s->file_size)
			continue;
		done = s->file_offset + s->file_size;
		r = make_segment(u, numbers, s, m);
	}
	free(numbers);
	return r;
}

static uint32_t made_pages(const struct made *m)
{
	return m->count ? m->rows[m->count - 1].offset / PAGE_BYTES + 1 : 0;
}

/* How many words the rows of each page take: its own, and one that begins it. Freed by the caller.
 */
static uint32_t *count_rows(const struct made *m, uint32_t pages)
{
	uint32_t *counts = calloc(pages + 1, sizeof(*counts));
	size_t next = 0;

	for (uint32_t page = 0; counts && page < pages; page++) {
		uint64_t begin = (uint64_t)page * PAGE_BYTES;

		counts[page] = next >= m->count || m->rows[next].offset != begin;
		for (; next < m->count && m->rows[next].offset < begin + PAGE_BYTES; next++)
			counts[page]++;
		counts[page] *= m->width;
	}
	return counts;
}

/* Where the rows of a page go that come after others: all of them into one chunk. */
static uint64_t page_place(uint64_t at, uint32_t count)
{
	uint64_t end = (at / WIRE_UNWIND_CHUNK_ROWS + 1) * WIRE_UNWIND_CHUNK_ROWS;

	return at + count > end ? end : at;
}

/* Where a table's rows begin, whose pages begin at a place, itself a page's. */
static uint64_t rows_place(uint64_t first, uint32_t pages)
{
	return first + (uint64_t)pages * WIRE_UNWIND_PAGE_ROWS;
}

/* The rows that a table takes from a place on. */
static uint64_t span(const uint32_t *counts, uint32_t pages, uint32_t first)
{
	uint64_t at = rows_place(first, pages);

	for (uint32_t page = 0; page < pages; page++)
		at = page_place(at, counts[page]) + counts[page];
	return (at - first + WIRE_UNWIND_PAGE_ROWS - 1) / WIRE_UNWIND_PAGE_ROWS *
	       WIRE_UNWIND_PAGE_ROWS;
}

static void take_away(struct unwind_tables *t, uint32_t slot)
{
	static const struct wire_unwind_table none;
	struct table *table = &t->slots[slot];

	for (size_t i = 0; i < t->order_count; i++)
		if (t->order[i] == slot) {
			t->order[i] = t->order[--t->order_count];
			break;
		}
	t->memory.put(t->memory.arg, slot, &none);
	t->counters.tables--;
	t->counters.rows -= table->rows.count;
	table->there = false;
}

static bool is_free(const struct unwind_tables *t, struct piece wanted, uint32_t *ret_next)
{
	for (size_t i = 0; i < t->order_count; i++) {
		const struct piece *p = &t->slots[t->order[i]].rows;

		if (wanted.first < p->first + p->count && p->first < wanted.first + wanted.count) {
			*ret_next = p->first + p->count;
			return false;
		}
	}
	return true;
}

/* The first gap that a table fits in, whose size depends on where it begins. */
static bool find_gap(const struct unwind_tables *t, const uint32_t *counts, uint32_t pages,
		     struct piece *ret)
{
	struct piece p = {0, 0};

	while (p.first <= t->memory.row_count) {
		uint64_t count = span(counts, pages, p.first);

		if (count > t->memory.row_count - p.first)
			return false;
		p.count = (uint32_t)count;
		if (is_free(t, p, &p.first)) {
			*ret = p;
			return true;
		}
	}
	return false;
}

static int make_room(struct unwind_tables *t, const uint32_t *counts, uint32_t pages,
		     struct table *ret)
{
	bool waits = false;

	if (span(counts, pages, 0) > t->memory.row_count)
		return -ENOSPC;
	while (!find_gap(t, counts, pages, &ret->rows)) {
		uint32_t oldest = t->order[0];

		for (size_t i = 1; i < t->order_count; i++)
			if (t->slots[t->order[i]].used < t->slots[oldest].used)
				oldest = t->order[i];
		take_away(t, oldest);
		t->counters.evicted++;
		waits = true;
	}
	int r = waits ? t->memory.quiesce(t->memory.arg) : 0;
	if (!r && t->memory.reach)
		r = t->memory.reach(t->memory.arg, ret->rows.first, ret->rows.count);
	return r;
}

static void write_row(uint32_t *row, uint32_t count, uint32_t in_page, uint32_t rule,
		      const struct made *m)
{
	*row = in_page << 16 | (m->width == 1 ? rule : 0);
	if (m->width == 2)
		row[count] = rule;
}

static void write_rows(struct unwind_tables *t, const struct table *table, const uint32_t *counts,
		       const struct made *m)
{
	uint32_t at = (uint32_t)rows_place(table->rows.first, table->page_count), rule = 0;
	uint32_t *rows = t->memory.rows, *entry = rows + table->rows.first, count;
	size_t next = 0;

	for (uint32_t page = 0; page < table->page_count; page++, entry += WIRE_UNWIND_PAGE_ROWS) {
		uint64_t begin = (uint64_t)page * PAGE_BYTES;

		at = (uint32_t)page_place(at, counts[page]);
		count = counts[page] / m->width;
		entry[0] = at;
		entry[1] = count;
		if (next >= m->count || m->rows[next].offset != begin)
			write_row(&rows[at++], count, 0, rule, m);
		for (; next < m->count && m->rows[next].offset < begin + PAGE_BYTES; next++) {
			rule = m->rows[next].rule;
			write_row(&rows[at++], count, m->rows[next].offset % PAGE_BYTES, rule, m);
		}
		at += count * (m->width - 1);
	}
}

static int place(struct unwind_tables *t, uint32_t slot, const struct made *m)
{
	uint32_t pages = made_pages(m), *counts = count_rows(m, pages);
	struct table table = {.used = ++t->clock, .there = true, .page_count = pages};
	struct wire_unwind_table wire = {.page_count = pages};
	int r = counts ? make_room(t, counts, pages, &table) : -ENOMEM;

	if (!r) {
		write_rows(t, &table, counts, m);
		wire.first_page = table.rows.first / WIRE_UNWIND_PAGE_ROWS;
		/* The program sees what was written: a map's update is a barrier. */
		r = t->memory.put(t->memory.arg, slot, &wire);
	}
	free(counts);
	if (r)
		return r;
	t->slots[slot] = table;
	t->order[t->order_count++] = slot;
	t->counters.tables++;
	t->counters.placed++;
	t->counters.rows += table.rows.count;
	return 0;
}

int unwind_tables_put(struct unwind_tables *t, uint32_t slot, const struct image_unwind *u,
		      const struct image_segment *segments, uint32_t segment_count)
{
	struct made m = {.width = 1};
	int r = 0;

	if (slot >= t->memory.slot_count)
		return -ERANGE;
	unwind_tables_drop(t, slot);
	if (u)
		r = make_rows(t, u, segments, segment_count, &m);
	/* So that the program sees that there is a table. */
	if (!r && !m.count)
		r = add_made(&m, 0, 0);
	if (!r)
		r = place(t, slot, &m);
	free(m.rows);
	return r;
}

int unwind_tables_put_originals(struct unwind_tables *t, uint32_t slot,
				const struct originals_run *runs, size_t count)
{
	struct made m = {.width = 2};
	int r = slot < t->memory.slot_count ? add_made(&m, 0, 0) : -ERANGE;

	if (!r)
		unwind_tables_drop(t, slot);
	for (size_t i = 0; i < count && !r; i++)
		r = add_made(&m, runs[i].offset,
			     runs[i].original == NO_ORIGINAL
				     ? 0
				     : runs[i].original - runs[i].offset + WIRE_UNWIND_STEP);
	if (!r)
		r = place(t, slot, &m);
	free(m.rows);
	return r;
}

void unwind_tables_drop(struct unwind_tables *t, uint32_t slot)
{
	if (slot >= t->memory.slot_count || !t->slots[slot].there)
		return;
	take_away(t, slot);
	t->memory.quiesce(t->memory.arg);
}

void unwind_tables_use(struct unwind_tables *t, uint32_t slot)
{
	if (slot < t->memory.slot_count)
		t->slots[slot].used = ++t->clock;
}

const struct wire_unwind_rule *unwind_tables_find(const struct unwind_tables *t, uint32_t slot,
						  uint32_t offset)
{
	const struct table *table = slot < t->memory.slot_count ? &t->slots[slot] : NULL;
	uint32_t page = offset >> WIRE_UNWIND_PAGE_BITS, low, high;
	const uint32_t *entry;

	if (!table || !table->there)
		return NULL;
	if (page >= table->page_count)
		return &t->memory.rules[0];
	entry = t->memory.rows + table->rows.first + (size_t)page * WIRE_UNWIND_PAGE_ROWS;
	low = entry[0];
	high = low + entry[1];
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (t->memory.rows[middle] >> 16 <= offset % PAGE_BYTES)
			low = middle;
		else
			high = middle;
	}
	return &t->memory.rules[t->memory.rows[low] & 0xffff];
}

void unwind_tables_count(const struct unwind_tables *t, struct unwind_tables_counters *ret)
{
	*ret = t->counters;
	ret->rules = intern_count(t->rules);
}

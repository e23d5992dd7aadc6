/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Live mappings are kept in falling order of address, not overlapping: the kernel hands out
 * addresses from the top down, so a new mapping is nearly always appended. They are in blocks, so
 * that a process with very many, in any order, costs no more for each of them than others do.
 */
#include "collect/process/space.h"
#include "util/array.h"
#include "util/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct list {
	struct mapping *at;
	size_t count, room;
};

#define BLOCK_MAPPINGS 128

struct space {
	uint32_t refs;
	struct list *blocks; /* of live mappings; none is empty */
	size_t block_count, block_room;
	size_t live; /* mappings in all of them */
	struct list dead;
};

/* Of a live mapping; block_count, 0: behind the last. */
struct place {
	size_t block, i;
};

struct space *space_new(void)
{
	struct space *s = calloc(1, sizeof(*s));

	if (s)
		s->refs = 1;
	return s;
}

struct space *space_ref(struct space *s)
{
	s->refs++;
	return s;
}

static void list_free(struct list *l)
{
	for (size_t i = 0; i < l->count; i++)
		file_unref(l->at[i].file);
	free(l->at);
}

void space_unref(struct space *s)
{
	if (!s || --s->refs)
		return;
	for (size_t i = 0; i < s->block_count; i++)
		list_free(&s->blocks[i]);
	free(s->blocks);
	list_free(&s->dead);
	free(s);
}

static int list_grow(struct list *l, size_t count)
{
	return array_reserve(&l->at, count, &l->room, sizeof(*l->at), 4);
}

static int list_copy(struct list *to, const struct list *from)
{
	if (from->count == 0)
		return 0;
	if (list_grow(to, from->count))
		return -ENOMEM;
	memcpy(to->at, from->at, from->count * sizeof(*from->at));
	to->count = from->count;
	for (size_t i = 0; i < to->count; i++)
		file_ref(to->at[i].file);
	return 0;
}

static int copy_live(struct space *to, const struct space *from)
{
	to->blocks = calloc(from->block_count + 1, sizeof(*to->blocks));
	if (!to->blocks)
		return -ENOMEM;
	to->block_room = from->block_count + 1;
	to->live = from->live;
	for (; to->block_count < from->block_count; to->block_count++)
		if (list_copy(&to->blocks[to->block_count], &from->blocks[to->block_count]))
			return -ENOMEM;
	return 0;
}

/* A shared space is about to change: gives *s a copy of its own. */
static int make_private(struct space **s)
{
	struct space *copy;

	if ((*s)->refs == 1)
		return 0;
	copy = space_new();
	if (!copy || copy_live(copy, *s) || list_copy(&copy->dead, &(*s)->dead)) {
		space_unref(copy);
		return -ENOMEM;
	}
	space_unref(*s);
	*s = copy;
	return 0;
}

/* The first live mapping that starts below the address. */
static struct place first_below(const struct space *s, uint64_t address)
{
	struct place p = {0};
	const struct list *l;

	p.block = SEARCH_FIRST(s->block_count, i,
			       s->blocks[i].at[s->blocks[i].count - 1].start < address);
	if (p.block < s->block_count) {
		l = &s->blocks[p.block];
		p.i = SEARCH_FIRST(l->count, i, l->at[i].start < address);
	}
	return p;
}

/* NULL: there is none. */
static struct mapping *mapping_at(const struct space *s, struct place p)
{
	return p.block < s->block_count ? &s->blocks[p.block].at[p.i] : NULL;
}

/* A new block before that number, with what the one before has from the i-th on. */
static int add_block(struct space *s, size_t block, size_t i)
{
	struct list fresh = {0}, *before = block ? &s->blocks[block - 1] : NULL;
	size_t moved = before ? before->count - i : 0;

	if (list_grow(&fresh, moved + 1))
		return -ENOMEM;
	if (array_grow(&s->blocks, s->block_count, &s->block_room, sizeof(fresh), 1)) {
		free(fresh.at);
		return -ENOMEM;
	}
	if (moved) {
		before = &s->blocks[block - 1];
		memcpy(fresh.at, &before->at[i], moved * sizeof(*fresh.at));
		fresh.count = moved;
		before->count = i;
	}
	memmove(&s->blocks[block + 1], &s->blocks[block], (s->block_count - block) * sizeof(fresh));
	s->blocks[block] = fresh;
	s->block_count++;
	return 0;
}

/* A place where one more can stand: there, if its block has room. What is behind the last goes to
 * the last block, or to a new one, so that blocks are full where mappings come in order. */
static int find_room(struct space *s, struct place *p)
{
	const size_t half = BLOCK_MAPPINGS / 2;

	if (p->block == s->block_count && p->block)
		*p = (struct place){p->block - 1, s->blocks[p->block - 1].count};
	if (p->block < s->block_count && s->blocks[p->block].count < BLOCK_MAPPINGS)
		return 0;
	if (p->block == s->block_count || p->i == BLOCK_MAPPINGS) {
		size_t next = s->block_count ? p->block + 1 : 0;

		*p = (struct place){next, 0};
		return add_block(s, next, BLOCK_MAPPINGS);
	}
	if (add_block(s, p->block + 1, half))
		return -ENOMEM;
	if (p->i > half)
		*p = (struct place){p->block + 1, p->i - half};
	return 0;
}

static int insert(struct space *s, struct place p, const struct mapping *m)
{
	struct list *l;

	if (find_room(s, &p))
		return -ENOMEM;
	l = &s->blocks[p.block];
	if (list_grow(l, l->count + 1))
		return -ENOMEM;
	memmove(&l->at[p.i + 1], &l->at[p.i], (l->count - p.i) * sizeof(*m));
	l->at[p.i] = *m;
	l->count++;
	s->live++;
	return 0;
}

static void remove_at(struct space *s, struct place p)
{
	struct list *l = &s->blocks[p.block];

	s->live--;
	l->count--;
	memmove(&l->at[p.i], &l->at[p.i + 1], (l->count - p.i) * sizeof(*l->at));
	if (l->count)
		return;
	free(l->at);
	s->block_count--;
	memmove(l, l + 1, (s->block_count - p.block) * sizeof(*l));
}

/* Cuts [start, end) out of the live mapping there: it goes to the dead, and what is left of it on
 * either side lives on. */
static int cut(struct space *s, struct place p, uint64_t start, uint64_t end, uint64_t time_ns)
{
	struct mapping old = *mapping_at(s, p), low = old, *m;
	bool has_low = old.start<start, has_high = old.end> end;

	if (list_grow(&s->dead, s->dead.count + 1))
		return -ENOMEM;
	if (has_low && has_high) {
		low.end = start;
		if (insert(s, (struct place){p.block, p.i + 1}, &low))
			return -ENOMEM;
		file_ref(low.file);
		p = first_below(s, end);
	}
	/* A process that remaps without end costs only its own history. */
	if (s->dead.count < SPACE_MAPPINGS_MAX) {
		file_ref(old.file);
		s->dead.at[s->dead.count] = old;
		s->dead.at[s->dead.count++].died_ns = time_ns;
	}
	m = mapping_at(s, p);
	if (has_high) {
		m->start = end;
		m->file_offset += end - old.start;
	} else if (has_low) {
		m->end = start;
	} else {
		file_unref(old.file);
		remove_at(s, p);
	}
	return 0;
}

static int make_room(struct space *s, uint64_t start, uint64_t end, uint64_t time_ns)
{
	for (;;) {
		struct place p = first_below(s, end);
		const struct mapping *m = mapping_at(s, p);

		if (!m || m->end <= start)
			return 0;
		if (s->live >= SPACE_MAPPINGS_MAX)
			return -ENOSPC;
		int r = cut(s, p, start, end, time_ns);

		if (r)
			return r;
	}
}

int space_add(struct space **s, uint64_t start, uint64_t end, uint64_t file_offset,
	      struct mapped_file *file, uint64_t born_ns)
{
	struct mapping m = {
		.start = start,
		.end = end,
		.file_offset = file_offset,
		.born_ns = born_ns,
		.died_ns = UINT64_MAX,
		.file = file,
	};
	int r = start < end ? make_private(s) : -EINVAL;

	if (!r)
		r = make_room(*s, start, end, born_ns);
	if (!r && (*s)->live >= SPACE_MAPPINGS_MAX)
		r = -ENOSPC;
	if (!r)
		r = insert(*s, first_below(*s, start), &m);
	if (r)
		file_unref(file);
	return r;
}

struct mapping *space_find(struct space *s, uint64_t pc, uint64_t time_ns)
{
	/* The dead are few: they go within seconds. The first to die after the sample had it. */
	for (size_t i = 0; i < s->dead.count; i++) {
		struct mapping *m = &s->dead.at[i];

		if (pc >= m->start && pc < m->end && m->born_ns <= time_ns && time_ns < m->died_ns)
			return m;
	}
	struct mapping *m = pc == UINT64_MAX ? NULL : mapping_at(s, first_below(s, pc + 1));

	return m && pc < m->end ? m : NULL;
}

bool space_has(const struct space *s, uint64_t start, uint64_t end, uint64_t file_offset,
	       const char *path, size_t path_size)
{
	const struct mapping *m = mapping_at(s, first_below(s, start + 1));

	return m && m->start == start && m->end == end && m->file_offset == file_offset &&
	       m->file->path_size == path_size && !memcmp(m->file->path, path, path_size);
}

bool space_changed(const struct space *s, uint64_t start, uint64_t end, uint64_t since_ns)
{
	while (s && start < end) {
		const struct mapping *m = mapping_at(s, first_below(s, end));

		if (!m || m->end <= start)
			break;
		if (m->born_ns > since_ns)
			return true;
		end = m->start;
	}
	return false;
}

void space_collect(struct space *s, uint64_t before_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->dead.count; i++) {
		if (s->dead.at[i].died_ns < before_ns)
			file_unref(s->dead.at[i].file);
		else
			s->dead.at[kept++] = s->dead.at[i];
	}
	s->dead.count = kept;
	if (kept == 0 && s->dead.room) {
		free(s->dead.at);
		s->dead = (struct list){0};
	}
}

size_t space_mappings(const struct space *s)
{
	return s->live;
}

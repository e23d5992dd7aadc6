/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Live mappings are kept in falling order of address, not overlapping: the kernel hands out
 * addresses from the top down, so a new mapping is nearly always appended.
 */
#include "collect/space.h"
#include "util/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct list {
	struct mapping *at;
	size_t count, room;
};

struct space {
	uint32_t refs;
	struct list live, dead;
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
	list_free(&s->live);
	list_free(&s->dead);
	free(s);
}

static int list_grow(struct list *l, size_t count)
{
	size_t room = l->room ?: 4;

	while (room < count)
		room *= 2;
	if (room == l->room)
		return 0;
	struct mapping *at = reallocarray(l->at, room, sizeof(*at));

	if (!at)
		return -ENOMEM;
	l->at = at;
	l->room = room;
	return 0;
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

/* A shared space is about to change: gives *s a copy of its own. */
static int make_private(struct space **s)
{
	struct space *copy;

	if ((*s)->refs == 1)
		return 0;
	copy = space_new();
	if (!copy || list_copy(&copy->live, &(*s)->live) || list_copy(&copy->dead, &(*s)->dead)) {
		space_unref(copy);
		return -ENOMEM;
	}
	space_unref(*s);
	*s = copy;
	return 0;
}

/* Index of the first live mapping that starts below the address. */
static size_t first_below(const struct space *s, uint64_t address)
{
	return SEARCH_FIRST(s->live.count, i, s->live.at[i].start < address);
}

static int insert_at(struct list *l, size_t i, struct mapping m)
{
	if (list_grow(l, l->count + 1))
		return -ENOMEM;
	memmove(&l->at[i + 1], &l->at[i], (l->count - i) * sizeof(m));
	l->at[i] = m;
	l->count++;
	return 0;
}

/* Cuts [start, end) out of the live mapping at i: it goes to the dead, and what is left of it on
 * either side lives on. */
static int cut(struct space *s, size_t i, uint64_t start, uint64_t end, uint64_t time_ns)
{
	struct mapping old = s->live.at[i], low = old, high = old, dead = old;
	bool has_low = old.start<start, has_high = old.end> end;

	if (list_grow(&s->live, s->live.count + 1) || list_grow(&s->dead, s->dead.count + 1))
		return -ENOMEM;
	/* A process that remaps without end costs only its own history. */
	if (s->dead.count < SPACE_MAPPINGS_MAX) {
		dead.died_ns = time_ns;
		file_ref(dead.file);
		s->dead.at[s->dead.count++] = dead;
	}

	low.end = start;
	high.start = end;
	high.file_offset += end - old.start;
	if (has_low && has_high) {
		s->live.at[i] = high;
		file_ref(low.file);
		return insert_at(&s->live, i + 1, low);
	}
	if (has_low || has_high) {
		s->live.at[i] = has_low ? low : high;
		return 0;
	}
	file_unref(old.file);
	memmove(&s->live.at[i], &s->live.at[i + 1], (s->live.count - i - 1) * sizeof(old));
	s->live.count--;
	return 0;
}

static int make_room(struct space *s, uint64_t start, uint64_t end, uint64_t time_ns)
{
	for (;;) {
		size_t i = first_below(s, end);

		if (i == s->live.count || s->live.at[i].end <= start)
			return 0;
		if (s->live.count >= SPACE_MAPPINGS_MAX)
			return -ENOSPC;
		int r = cut(s, i, start, end, time_ns);

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
	if (!r && (*s)->live.count >= SPACE_MAPPINGS_MAX)
		r = -ENOSPC;
	if (!r)
		r = insert_at(&(*s)->live, first_below(*s, start), m);
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
	size_t i = pc == UINT64_MAX ? s->live.count : first_below(s, pc + 1);

	return i < s->live.count && pc < s->live.at[i].end ? &s->live.at[i] : NULL;
}

bool space_has(const struct space *s, uint64_t start, uint64_t end, uint64_t file_offset,
	       const char *path, size_t path_size)
{
	size_t i = first_below(s, start + 1);
	const struct mapping *m = i < s->live.count ? &s->live.at[i] : NULL;

	return m && m->start == start && m->end == end && m->file_offset == file_offset &&
	       m->file->path_size == path_size && !memcmp(m->file->path, path, path_size);
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
	return s->live.count;
}

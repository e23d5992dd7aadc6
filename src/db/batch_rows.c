/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/batch_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "util/num.h"

/*
 * The table must stay as it is, so slot numbers are sorted: profiles first (there are far fewer
 * than rows), then slots by counting into groups of equal (image, event), then each group by
 * (offset, subject). Costs 4 bytes a row.
 */
struct sorter {
	const struct db_batch *b;
	uint32_t *image_rank, *event_rank, *subject_rank, *profile_rank;
	uint32_t *group_of; /* of a profile */
	uint32_t *group_at; /* where each group starts in order; one more at the end */
	uint32_t *order;    /* slot numbers */
	uint32_t group_count, profile_count;
};

static int compare_images(const void *x, const void *y, void *arg)
{
	const struct sorter *s = arg;

	return memcmp(intern_get(s->b->images, *(const uint32_t *)x, NULL),
		      intern_get(s->b->images, *(const uint32_t *)y, NULL),
		      sizeof(struct image_id));
}

static int compare_events(const void *x, const void *y, void *arg)
{
	const struct sorter *s = arg;

	return db_event_compare(&s->b->event_list[*(const uint32_t *)x],
				&s->b->event_list[*(const uint32_t *)y]);
}

static int compare_subjects(const void *x, const void *y, void *arg)
{
	const struct sorter *s = arg;
	struct db_bytes a, b;

	a.data = intern_get(s->b->subjects, *(const uint32_t *)x, &a.size);
	b.data = intern_get(s->b->subjects, *(const uint32_t *)y, &b.size);
	return db_bytes_compare(&a, &b);
}

static const struct db_batch_profile *profile_get(const struct sorter *s, uint32_t index)
{
	return intern_get(s->b->profiles, index, NULL);
}

static int compare_profiles(const void *x, const void *y, void *arg)
{
	const struct sorter *s = arg;
	const struct db_batch_profile *p = profile_get(s, *(const uint32_t *)x);
	const struct db_batch_profile *q = profile_get(s, *(const uint32_t *)y);

	if (p->image != q->image)
		return s->image_rank[p->image] < s->image_rank[q->image] ? -1 : 1;
	if (p->event != q->event)
		return s->event_rank[p->event] < s->event_rank[q->event] ? -1 : 1;
	if (p->subject != q->subject)
		return s->subject_rank[p->subject] < s->subject_rank[q->subject] ? -1 : 1;
	return 0;
}

static int compare_slots(const void *x, const void *y, void *arg)
{
	const struct sorter *s = arg;
	const struct db_batch_slot *p = &s->b->slots[*(const uint32_t *)x];
	const struct db_batch_slot *q = &s->b->slots[*(const uint32_t *)y];
	uint32_t a = s->profile_rank[p->profile & ~DB_PROFILE_HIGH];
	uint32_t b = s->profile_rank[q->profile & ~DB_PROFILE_HIGH];
	int order = NUM_ORDER(p->offset, q->offset) ?: NUM_ORDER(a, b);

	return order ?: NUM_ORDER(p->profile, q->profile);
}

/* The entries of a dictionary in order, by their numbers; free() it. */
static uint32_t *order_new(struct sorter *s, uint32_t count,
			   int (*compare)(const void *, const void *, void *))
{
	uint32_t *order = malloc((count + 1) * sizeof(*order));

	for (uint32_t i = 0; order && i < count; i++)
		order[i] = i;
	if (order && count)
		qsort_r(order, count, sizeof(*order), compare, s);
	return order;
}

/* rank[i] is the place of entry i in the order. */
static int rank_make(struct sorter *s, const struct intern *dict,
		     int (*compare)(const void *, const void *, void *), uint32_t **ret_rank)
{
	uint32_t count = intern_count(dict);
	uint32_t *order = order_new(s, count, compare);

	*ret_rank = malloc((count + 1) * sizeof(**ret_rank));
	for (uint32_t i = 0; order && *ret_rank && i < count; i++)
		(*ret_rank)[order[i]] = i;
	free(order);
	return order && *ret_rank ? 0 : -ENOMEM;
}

/* Numbers the groups in their order. */
static int group_profiles(struct sorter *s)
{
	const struct db_batch_profile *last = NULL, *p;
	uint32_t *order = order_new(s, s->profile_count, compare_profiles);

	s->profile_rank = malloc((s->profile_count + 1) * sizeof(*s->profile_rank));
	s->group_of = malloc((s->profile_count + 1) * sizeof(*s->group_of));
	if (!order || !s->profile_rank || !s->group_of) {
		free(order);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < s->profile_count; i++) {
		p = profile_get(s, order[i]);
		s->group_count += !last || last->image != p->image || last->event != p->event;
		s->profile_rank[order[i]] = i;
		s->group_of[order[i]] = s->group_count - 1;
		last = p;
	}
	free(order);
	return 0;
}

static uint32_t slot_group(const struct sorter *s, size_t slot)
{
	return s->group_of[s->b->slots[slot].profile & ~DB_PROFILE_HIGH];
}

static int sort_slots(struct sorter *s)
{
	const struct db_batch *b = s->b;
	uint32_t *next;

	s->group_at = calloc(s->group_count + 1, sizeof(*s->group_at));
	next = malloc((s->group_count + 1) * sizeof(*next));
	s->order = malloc((b->used + 1) * sizeof(*s->order));
	if (!s->group_at || !next || !s->order) {
		free(next);
		return -ENOMEM;
	}
	for (size_t i = 0; i < b->slot_count; i++)
		if (b->slots[i].profile != DB_SLOT_FREE)
			s->group_at[slot_group(s, i) + 1]++;
	for (uint32_t g = 0; g < s->group_count; g++)
		s->group_at[g + 1] += s->group_at[g];
	memcpy(next, s->group_at, (s->group_count + 1) * sizeof(*next));
	for (size_t i = 0; i < b->slot_count; i++)
		if (b->slots[i].profile != DB_SLOT_FREE)
			s->order[next[slot_group(s, i)]++] = (uint32_t)i;
	free(next);
	for (uint32_t g = 0; g < s->group_count; g++)
		qsort_r(s->order + s->group_at[g], s->group_at[g + 1] - s->group_at[g],
			sizeof(*s->order), compare_slots, s);
	return 0;
}

static int show_rows(const struct sorter *s, int (*f)(void *arg, const void *item), void *arg)
{
	const struct db_batch *b = s->b;
	int r = 0;

	for (size_t i = 0; i < b->used && r == 0; i++) {
		const struct db_batch_slot *at = &b->slots[s->order[i]], *next = at;
		const struct db_batch_profile *p = profile_get(s, at->profile);
		struct db_row row = {
			.image = intern_get(b->images, p->image, NULL),
			.path = db_batch_image_path(b, p->image),
			.event = &b->event_list[p->event],
			.offset = at->offset,
			.count = at->count,
		};

		row.subject.data = intern_get(b->subjects, p->subject, &row.subject.size);
		if (i + 1 < b->used)
			next = &b->slots[s->order[i + 1]];
		if (next->profile == (at->profile | DB_PROFILE_HIGH) &&
		    next->offset == at->offset) {
			row.count |= (uint64_t)next->count << 32;
			i++;
		}
		r = f(arg, &row);
	}
	return r;
}

int db_batch_each_row(const struct db_batch *b, int (*f)(void *arg, const void *item), void *arg)
{
	struct sorter s = {.b = b};

	db_batch_settle(b);
	if (!b->used)
		return 0;
	s.profile_count = intern_count(b->profiles);
	int r = rank_make(&s, b->images, compare_images, &s.image_rank);
	if (r == 0)
		r = rank_make(&s, b->events, compare_events, &s.event_rank);
	if (r == 0)
		r = rank_make(&s, b->subjects, compare_subjects, &s.subject_rank);
	if (r == 0)
		r = group_profiles(&s);
	if (r == 0)
		r = sort_slots(&s);
	if (r == 0)
		r = show_rows(&s, f, arg);
	free(s.image_rank);
	free(s.event_rank);
	free(s.subject_rank);
	free(s.profile_rank);
	free(s.group_of);
	free(s.group_at);
	free(s.order);
	return r;
}

void db_batch_each_sample(const struct db_batch *b,
			  void (*f)(void *arg, uint32_t image, uint64_t offset, uint64_t count),
			  void *arg)
{
	db_batch_settle(b);
	for (size_t i = 0; i < b->slot_count; i++) {
		const struct db_batch_slot *at = &b->slots[i];
		const bool high = at->profile & DB_PROFILE_HIGH;

		if (at->profile == DB_SLOT_FREE)
			continue;
		const struct db_batch_profile *p =
			intern_get(b->profiles, at->profile & ~DB_PROFILE_HIGH, NULL);

		f(arg, p->image, at->offset, (uint64_t)at->count << (high ? 32 : 0));
	}
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "values/hotlist.h"

#include <math.h>
#include <string.h>
#include "util/array.h"
#include "util/hash.h"
#include "util/num.h"

#define WEYL	   0x9e3779b97f4a7c15u /* so that hashes of 0, 1, 2, ... begin apart */
#define STEP_PARTS 16		       /* a raised threshold is larger by one of so many parts */

void value_hotlist_init(struct value_hotlist *h, uint32_t room)
{
	*h = (struct value_hotlist){.room = room, .threshold = 1, .chance = WEYL};
}

void value_hotlist_settle(struct value_hotlist *h)
{
	h->chance = hash_u64(h->samples + WEYL);
	for (uint32_t i = 0; i < h->used; i++)
		h->chance = hash_u64(hash_u64(h->chance + h->list[i].value) + h->list[i].count);
}

/* A number below limit that x chooses. */
static uint64_t below(uint64_t x, uint64_t limit)
{
	return (uint64_t)((unsigned __int128)x * limit >> 64);
}

static void raise_to(struct value_hotlist *h, uint64_t threshold)
{
	const uint64_t chance = hash_u64(h->chance + threshold * WEYL);
	uint32_t used = 0;

	for (uint32_t i = 0; i < h->used; i++) {
		struct value_count e = h->list[i];

		if (e.count < threshold) {
			if (below(hash_u64(e.value + chance), threshold) >= e.count)
				continue;
			e.count = threshold;
		}
		h->list[used++] = e;
	}
	h->used = used;
	h->threshold = threshold;
}

/* Raises the threshold until the values have room. */
static void make_room(struct value_hotlist *h)
{
	while (h->used > h->room && h->threshold < VALUES_THRESHOLD_MAX)
		raise_to(h, h->threshold + h->threshold / STEP_PARTS + 1);
	if (h->used > h->room)
		h->used = h->room;
}

/* Where a value is, or would be. */
static uint32_t find(const struct value_hotlist *h, uint64_t value)
{
	uint32_t low = 0, high = h->used;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (h->list[middle].value < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The list has one more than its room: the new value stands beside it while counts are thinned. */
static void add_full(struct value_hotlist *h, uint64_t value, uint32_t at)
{
	union {
		struct value_hotlist hot;
		char bytes[sizeof(struct value_hotlist) +
			   (VALUES_MANY + 1) * sizeof(struct value_count)];
	} wide;
	struct value_hotlist *w = &wide.hot;

	*w = *h;
	memcpy(w->list, h->list, at * sizeof(*h->list));
	w->list[at] = (struct value_count){value, h->threshold};
	memcpy(w->list + at + 1, h->list + at, (h->used - at) * sizeof(*h->list));
	w->used = h->used + 1;
	make_room(w);
	*h = *w;
	memcpy(h->list, w->list, w->used * sizeof(*w->list));
}

void value_hotlist_add(struct value_hotlist *h, uint64_t value)
{
	const uint64_t coin = hash_u64(h->chance);
	const uint32_t at = find(h, value);

	h->samples = num_add_sat(h->samples, 1);
	h->chance = hash_u64(h->chance + value * WEYL + 1);
	if (at < h->used && h->list[at].value == value) {
		h->list[at].count = num_add_sat(h->list[at].count, 1);
		return;
	}
	if (below(coin, h->threshold) != 0)
		return;
	if (h->used == h->room) {
		add_full(h, value, at);
		return;
	}
	memmove(h->list + at + 1, h->list + at, (h->used - at) * sizeof(*h->list));
	h->list[at] = (struct value_count){value, h->threshold};
	h->used++;
}

static uint32_t join(const struct value_hotlist *a, const struct value_hotlist *b,
		     struct value_count *to)
{
	uint32_t i = 0, j = 0, used = 0;

	while (i < a->used || j < b->used) {
		if (j == b->used || (i < a->used && a->list[i].value < b->list[j].value)) {
			to[used++] = a->list[i++];
		} else if (i == a->used || b->list[j].value < a->list[i].value) {
			to[used++] = b->list[j++];
		} else {
			to[used++] = (struct value_count){
				a->list[i].value, num_add_sat(a->list[i].count, b->list[j].count)};
			i++;
			j++;
		}
	}
	return used;
}

void value_hotlist_merge(struct value_hotlist *to, const struct value_hotlist *from)
{
	union {
		struct value_hotlist hot;
		char bytes[sizeof(struct value_hotlist) +
			   2 * VALUES_MANY * sizeof(struct value_count)];
	} other, sum;
	uint64_t threshold = to->threshold > from->threshold ? to->threshold : from->threshold;

	memcpy(&other, from, value_hotlist_bytes(from->used));
	value_hotlist_settle(&other.hot);
	value_hotlist_settle(to);
	sum.hot = *to;
	/* Two equal lists shall not meet the same chance. */
	sum.hot.chance += other.hot.chance * WEYL;
	sum.hot.room = to->room > from->room ? to->room : from->room;
	sum.hot.samples = num_add_sat(to->samples, from->samples);
	sum.hot.used = join(to, &other.hot, sum.hot.list);
	raise_to(&sum.hot, threshold);
	make_room(&sum.hot);
	value_hotlist_settle(&sum.hot);
	memcpy(to, &sum, value_hotlist_bytes(sum.hot.used));
}

double value_hotlist_share(const struct value_hotlist *h, uint32_t i)
{
	const double count = (double)h->list[i].count, all = (double)h->samples;

	return count < all ? count / all : 1;
}

double value_hotlist_error(const struct value_hotlist *h, uint32_t i)
{
	const double n = (double)h->samples, share = value_hotlist_share(h, i),
		     list = h->threshold > 1 ? (double)h->threshold / n : 0;

	return sqrt(share * (1 - share) / n + list * list);
}

struct ranked {
	struct value_count entry;
	uint8_t number;
};

static int compare_ranked(const void *x, const void *y)
{
	const struct ranked *a = x, *b = y;

	return NUM_ORDER(b->entry.count, a->entry.count)
		       ?: NUM_ORDER(a->entry.value, b->entry.value);
}

void value_hotlist_rank(const struct value_hotlist *h, uint8_t ret[VALUES_MANY])
{
	struct ranked list[VALUES_MANY];

	for (uint32_t i = 0; i < h->used; i++)
		list[i] = (struct ranked){h->list[i], (uint8_t)i};
	array_sort(list, h->used, sizeof(*list), compare_ranked);
	for (uint32_t i = 0; i < h->used; i++)
		ret[i] = list[i].number;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "values/hotlist.h"

#include <math.h>
#include <string.h>
#include "util/array.h"
#include "util/hash.h"
#include "util/num.h"

#define THIN_SHIFT 4 /* a step keeps 15/16 */
#define THIN_PARTS (1u << THIN_SHIFT)
#define WEYL	   0x9e3779b97f4a7c15u /* so that hashes of 0, 1, 2, ... begin apart */

void value_hotlist_init(struct value_hotlist *h, uint32_t room)
{
	*h = (struct value_hotlist){.room = room, .keep = UINT64_MAX, .chance = WEYL};
}

void value_hotlist_settle(struct value_hotlist *h)
{
	h->keep = UINT64_MAX;
	for (uint32_t i = 0; i < h->exponent; i++)
		h->keep -= h->keep >> THIN_SHIFT;
	h->chance = hash_u64(h->samples + WEYL);
	for (uint32_t i = 0; i < h->used; i++)
		h->chance = hash_u64(hash_u64(h->chance + h->list[i].value) + h->list[i].count);
}

/* Brings the counts from their probability to the next smaller one. */
static void thin(struct value_hotlist *h)
{
	const uint64_t chance = hash_u64(h->chance + h->exponent * WEYL);
	uint32_t used = 0;

	for (uint32_t i = 0; i < h->used; i++) {
		const uint64_t c = h->list[i].count, rest = (c % THIN_PARTS) * (THIN_PARTS - 1),
			       coin = hash_u64(h->list[i].value + chance) >> (64 - THIN_SHIFT);
		const uint64_t kept = c / THIN_PARTS * (THIN_PARTS - 1) + rest / THIN_PARTS +
				      (coin < rest % THIN_PARTS);

		if (kept)
			h->list[used++] = (struct value_count){h->list[i].value, kept};
	}
	h->used = used;
	h->exponent++;
	h->keep -= h->keep >> THIN_SHIFT;
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
	w->list[at] = (struct value_count){value, 1};
	memcpy(w->list + at + 1, h->list + at, (h->used - at) * sizeof(*h->list));
	w->used = h->used + 1;
	while (w->used > w->room && w->exponent < VALUES_EXPONENT_MAX)
		thin(w);
	if (w->used > w->room)
		return;
	*h = *w;
	memcpy(h->list, w->list, w->used * sizeof(*w->list));
}

void value_hotlist_add(struct value_hotlist *h, uint64_t value)
{
	const uint64_t coin = hash_u64(h->chance);
	uint32_t at;

	h->samples = num_add_sat(h->samples, 1);
	h->chance = hash_u64(h->chance + value * WEYL + 1);
	if (h->exponent && coin >= h->keep)
		return;
	at = find(h, value);
	if (at < h->used && h->list[at].value == value) {
		h->list[at].count++;
		return;
	}
	if (h->used == h->room) {
		add_full(h, value, at);
		return;
	}
	memmove(h->list + at + 1, h->list + at, (h->used - at) * sizeof(*h->list));
	h->list[at] = (struct value_count){value, 1};
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

	memcpy(&other, from, value_hotlist_bytes(from->used));
	value_hotlist_settle(&other.hot);
	value_hotlist_settle(to);
	/* Two equal lists shall not meet the same chance. */
	to->chance += other.hot.chance * WEYL;
	while (other.hot.exponent < to->exponent)
		thin(&other.hot);
	while (to->exponent < other.hot.exponent)
		thin(to);
	sum.hot = *to;
	sum.hot.room = to->room > from->room ? to->room : from->room;
	sum.hot.samples = num_add_sat(to->samples, from->samples);
	sum.hot.used = join(to, &other.hot, sum.hot.list);
	while (sum.hot.used > sum.hot.room && sum.hot.exponent < VALUES_EXPONENT_MAX)
		thin(&sum.hot);
	if (sum.hot.used > sum.hot.room)
		sum.hot.used = sum.hot.room;
	value_hotlist_settle(&sum.hot);
	memcpy(to, &sum, value_hotlist_bytes(sum.hot.used));
}

double value_hotlist_estimate(const struct value_hotlist *h, uint32_t i)
{
	return (double)h->list[i].count * pow((double)THIN_PARTS / (THIN_PARTS - 1), h->exponent);
}

double value_hotlist_share(const struct value_hotlist *h, uint32_t i)
{
	const double estimate = value_hotlist_estimate(h, i), all = (double)h->samples;

	return estimate < all ? estimate / all : 1;
}

double value_hotlist_error(const struct value_hotlist *h, uint32_t i)
{
	const double p = pow((double)(THIN_PARTS - 1) / THIN_PARTS, h->exponent),
		     n = (double)h->samples, share = value_hotlist_share(h, i);

	return sqrt((share * (1 - share) + share * (1 - p) / p) / n);
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

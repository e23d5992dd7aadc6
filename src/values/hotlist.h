/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_VALUES_HOTLIST_H
#define CULPRIT_VALUES_HOTLIST_H

#include <stddef.h>
#include <stdint.h>

/*
 * The most frequent values of a stream, in a fixed space: counting samples (Gibbons and Matias,
 * SIGMOD 1998; "Value sampling for profiling", section 2.2, uses the other of their two ways). A
 * value that is not in the list gets into it with probability 1/threshold, where it counts as
 * threshold samples; from then on each time that it comes is counted. Whenever there are more
 * values than the list has room for, the threshold is raised: a value whose count is below the new
 * one stays with probability count/threshold and then has that count (threshold sampling: Duffield,
 * Lund and Thorup, 2005). So a count is at any time an unbiased estimate of how often its value
 * came, a frequent value's is nearly exact, and the sum of two lists is unbiased too.
 *
 * Chance is a hash of the values that came, so that equal samples in equal order give equal lists,
 * on any machine, and others have other chances.
 */
#define VALUES_FEW	     16 /* entries of a list */
#define VALUES_MANY	     64 /* ... of a place that was chosen */
#define VALUES_THRESHOLD_MAX (UINT64_C(1) << 56)

struct value_count {
	uint64_t value, count; /* count: the list's threshold or more */
};

struct value_hotlist {
	uint64_t samples;   /* exactly how many values came */
	uint64_t threshold; /* 1: all counts are exact */
	uint64_t chance;    /* what chance is made of; value_hotlist_settle makes it of the rest */
	uint32_t room, used;
	struct value_count list[]; /* ascending by value */
};

static inline size_t value_hotlist_bytes(uint32_t room)
{
	return sizeof(struct value_hotlist) + room * sizeof(struct value_count);
}

/* Room for the largest list. */
union value_hotlist_room {
	struct value_hotlist hot;
	char bytes[sizeof(struct value_hotlist) + VALUES_MANY * sizeof(struct value_count)];
};

/* Makes an empty list; room is VALUES_FEW or VALUES_MANY, and h has the bytes for it. */
void value_hotlist_init(struct value_hotlist *h, uint32_t room);
/* Sets what is not stored of a list that is otherwise complete. */
void value_hotlist_settle(struct value_hotlist *h);
void value_hotlist_add(struct value_hotlist *h, uint64_t value);
/*
 * Adds another list; the larger threshold is the sum's, and so is the larger room: to must have the
 * bytes for it.
 */
void value_hotlist_merge(struct value_hotlist *to, const struct value_hotlist *from);

/* The share of entry i among all samples, 0 to 1. */
double value_hotlist_share(const struct value_hotlist *h, uint32_t i);
/* The standard error of that share, as an estimate for the stream that the samples were taken from:
 * of drawing them, and, as an upper bound, of the list. */
double value_hotlist_error(const struct value_hotlist *h, uint32_t i);
/* The numbers of the entries, the most frequent first; equal ones by value. */
void value_hotlist_rank(const struct value_hotlist *h, uint8_t ret[VALUES_MANY]);

#endif

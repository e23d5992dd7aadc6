/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_VALUES_HOTLIST_H
#define CULPRIT_VALUES_HOTLIST_H

#include <stddef.h>
#include <stdint.h>

/*
 * The most frequent values of a stream, in a fixed space: counting samples (Gibbons and Matias,
 * SIGMOD 1998, as "Value sampling for profiling", section 2.2, uses them). A value that comes is
 * counted with a probability that begins with 1; whenever there are more values than the list has
 * room for, the probability is divided by 16/15, and the counts are thinned to it. A count divided
 * by the probability is an unbiased estimate of how often its value came, at any time.
 *
 * Two things differ from the paper. A count c is not thinned by c coins, but to c * 15/16 rounded
 * up or down at random: that has the same mean and a smaller variance, takes one step for a count
 * of any size, and still loses single ones. And chance is a hash of the values that came, so that
 * equal samples in equal order give equal lists, on any machine, and others have other chances.
 */
#define VALUES_FEW	    16 /* entries of a list */
#define VALUES_MANY	    64 /* ... of a place that was chosen */
#define VALUES_EXPONENT_MAX 640

struct value_count {
	uint64_t value, count; /* count: 1 or more */
};

struct value_hotlist {
	uint64_t samples; /* exactly how many values came */
	/* Made of the rest by value_hotlist_settle: the probability times 2^64; what chance is made
	 * of, into which each value that comes goes. */
	uint64_t keep, chance;
	uint32_t exponent; /* the probability is (15/16)^exponent */
	uint32_t room, used;
	uint32_t unused;
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
/* Sets what is not stored of a list that is otherwise complete; its exponent is at most
 * VALUES_EXPONENT_MAX. */
void value_hotlist_settle(struct value_hotlist *h);
void value_hotlist_add(struct value_hotlist *h, uint64_t value);
/*
 * Adds another list, by thinning both to the smaller probability. The larger room is the sum's: to
 * must have the bytes for it.
 */
void value_hotlist_merge(struct value_hotlist *to, const struct value_hotlist *from);

/* The estimate of how often entry i came: the count itself while the exponent is 0. */
double value_hotlist_estimate(const struct value_hotlist *h, uint32_t i);
/* Its share of all samples, 0 to 1. */
double value_hotlist_share(const struct value_hotlist *h, uint32_t i);
/*
 * The standard error of that share, as an estimate for the stream that the samples were taken from:
 * of drawing the samples, and of the list. The list's part is an upper bound, that of coins.
 */
double value_hotlist_error(const struct value_hotlist *h, uint32_t i);
/* The numbers of the entries, the most frequent first; equal ones by value. */
void value_hotlist_rank(const struct value_hotlist *h, uint8_t ret[VALUES_MANY]);

#endif

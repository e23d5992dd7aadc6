/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_NUM_H
#define CULPRIT_UTIL_NUM_H

#include <stddef.h>
#include <stdint.h>

/*
 * Numbers as users write them. The whole text must be a number: 0 (success), -EINVAL, or -ERANGE.
 * Those with a unit may have a fraction ("1.5k") when the result is a whole number. Units of time:
 * ns, us, ms, s, m, h, d, w.
 */
int num_parse_u64(const char *text, uint64_t *ret);   /* decimal, or hex after 0x */
int num_parse_count(const char *text, uint64_t *ret); /* k, M, G: powers of 1000 */
int num_parse_bytes(const char *text, uint64_t *ret); /* B, K, M, G, T (powers of 1024), KB, KiB */
int num_parse_duration_ns(const char *text, uint64_t *ret); /* ns to w; or "0" */
int num_parse_percent(const char *text, double *ret);	    /* 0 < x <= 100, with or without % */

/* a + b and a * b, at most UINT64_MAX. */
uint64_t num_add_sat(uint64_t a, uint64_t b);
uint64_t num_mul_sat(uint64_t a, uint64_t b);

/* For sorting: negative, 0 or positive, as x is less than, equal to or greater than y. */
#define NUM_ORDER(x, y) (((x) > (y)) - ((x) < (y)))
/* For array_sort() of numbers, or of structures that begin with one. */
int num_compare_u32(const void *a, const void *b);
int num_compare_u64(const void *a, const void *b);
int num_compare_double(const void *a, const void *b);
/* Sorts the numbers and removes duplicates. Returns how many are left. */
size_t num_sort_unique(uint64_t *list, size_t count);

/* Zigzag code: differences modulo 2^64 that are small, of either sign, become small numbers. 0, -1,
 * 1, -2, 2, ... become 0, 1, 2, 3, 4, ... */
static inline uint64_t num_zigzag(uint64_t distance)
{
	return distance << 1 ^ (0 - (distance >> 63));
}

static inline uint64_t num_unzigzag(uint64_t code)
{
	return code >> 1 ^ (0 - (code & 1));
}

#endif

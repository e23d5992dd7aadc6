/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_EXCHANGE_TUPLES_H
#define CULPRIT_EXCHANGE_TUPLES_H

#include <stdint.h>

/*
 * Counts pairs of 64-bit numbers: equal pairs get the same small number, from 0 in order of
 * arrival, and one count. An import adds up such pairs.
 */
struct tuples;

struct tuple {
	uint64_t a, b, count;
};

struct tuples *tuples_new(uint32_t max_entries); /* NULL when out of memory */
void tuples_free(struct tuples *t);
/* Adds to a pair's count. ret may be NULL. 0, -ENOSPC past the maximum, -ENOMEM. */
int tuples_add(struct tuples *t, uint64_t a, uint64_t b, uint64_t count, uint32_t *ret);
uint32_t tuples_count(const struct tuples *t);
/* Valid until the next addition. */
const struct tuple *tuples_at(const struct tuples *t, uint32_t number);

#endif

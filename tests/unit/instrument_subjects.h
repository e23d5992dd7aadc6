/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_TESTS_INSTRUMENT_SUBJECTS_H
#define CULPRIT_TESTS_INSTRUMENT_SUBJECTS_H

/* Functions of this program that are counted, and work that runs them all. */

#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include "cfg/function_graph.h"
#include "util/hash.h"

#define SHAPES(X)           \
	X(tiny)             \
	X(leaf)             \
	X(flags)            \
	X(pushes)           \
	X(carry)            \
	X(red_zone)         \
	X(kept_flags)       \
	X(short_branches)   \
	X(relative)         \
	X(loop_at_entry)    \
	X(calls)            \
	X(conditional_tail) \
	X(runs_on)          \
	X(table)            \
	X(threaded)
#define DECLARE(name) uint64_t counted_##name(uint64_t x);
SHAPES(DECLARE)
DECLARE(segment)
DECLARE(segment_base)
DECLARE(no_room)
extern uint64_t counted_word[2];

#define PLAIN __attribute__((noipa, no_sanitize("address", "undefined")))

/* Functions as a compiler makes them. */

static PLAIN uint64_t collatz(uint64_t n)
{
	uint64_t steps = 0;

	for (; n > 1; steps++)
		n = n & 1 ? 3 * n + 1 : n / 2;
	return steps;
}

static PLAIN uint64_t fibonacci(uint64_t n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static PLAIN uint64_t dispatch(uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		switch (i * 7 % 11) {
		case 0:
			sum += 3;
			break;
		case 1:
			sum ^= i;
			break;
		case 2:
			sum = collatz(sum & 15);
			break;
		case 3:
			sum *= 5;
			/* fall through */
		case 4:
			sum -= 9;
			break;
		case 6:
			sum <<= 1;
			break;
		case 7:
			sum = ~sum;
			break;
		case 9:
			sum += collatz(i);
			break;
		default:
			sum++;
		}
	return sum;
}

static PLAIN int compare(const void *pa, const void *pb)
{
	const uint32_t *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

static PLAIN uint64_t sorts(uint64_t n)
{
	uint32_t list[12];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 12; i++)
		list[i] = (uint32_t)(i * n * 2654435761u) >> 8;
	qsort(list, 12, sizeof(*list), compare);
	for (uint32_t i = 0; i < 12; i++)
		sum = sum * 31 + list[i];
	return sum;
}

static jmp_buf way_out;

static PLAIN uint64_t descends(uint64_t n)
{
	if (n == 0)
		longjmp(way_out, 7);
	return n > 1000 ? 0 : 1 + descends(n - 1);
}

/* Calls that never return. */
static PLAIN uint64_t leaps(uint64_t n)
{
	volatile uint64_t sum = 0;

	for (volatile uint64_t i = 0; i < n; i++) {
		if (setjmp(way_out) == 0)
			sum += descends(i);
		else
			sum += 100;
	}
	return sum;
}

static PLAIN uint64_t tails(uint64_t n)
{
	return n & 1 ? collatz(n) : fibonacci(n & 7);
}

static PLAIN uint64_t passes(uint64_t n)
{
	/* Two loops, one in the other, and a way around. */
	static const uint32_t from[] = {0, 1, 2, 2, 3, 3, 0}, to[] = {1, 2, 2, 3, 1, 4, 4};
	struct cfg_graph *g = NULL;
	struct cfg_equivalence *e = NULL;
	struct cfg_loops *l = NULL;
	uint64_t sum = n;

	if (cfg_graph_new(5, 0, 4, from, to, 7, &g) == 0 && cfg_loops_new(g, &l) == 0)
		for (uint32_t i = 0; i < l->loop_count; i++)
			sum = sum * 31 + l->loops[i].header + l->loops[i].depth;
	if (g && cfg_equivalence_new(g, &e) == 0)
		sum += hash_u64(sum);
	cfg_loops_free(l);
	cfg_equivalence_free(e);
	if (g)
		cfg_graph_free(g);
	return sum;
}

typedef uint64_t (*function)(uint64_t x);

#define ADDRESS_OF(name) counted_##name,
static const function subjects[] = {SHAPES(ADDRESS_OF) collatz,	  fibonacci, dispatch, sorts,
				    (function)(uintptr_t)compare, leaps,     descends, tails};
#define SUBJECTS (sizeof(subjects) / sizeof(*subjects))

static PLAIN uint64_t work(void)
{
	uint64_t sum = 0;

	for (uint64_t n = 1; n < 7; n++) {
		counted_word[0] = n & 1 ? 5 : n;
		counted_word[1] = 0x1122334455667788;
		for (size_t i = 0; i < SUBJECTS; i++)
			if (subjects[i] != (function)(uintptr_t)compare && subjects[i] != descends)
				sum = sum * 31 + subjects[i](n);
	}
	return sum;
}

static PLAIN uint64_t work_in_library(void)
{
	uint64_t sum = 0;

	for (uint64_t n = 1; n < 3; n++)
		sum = sum * 31 + passes(n);
	return sum;
}

#endif

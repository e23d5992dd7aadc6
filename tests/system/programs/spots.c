/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Built several times, with other names but the same layout: one build spins in its first function
 * only, the other in its second. So of two builds at the same addresses, a sample in the function
 * that a build does not call was charged to the wrong one.
 *
 *	spots US [COUNT OTHER]	spins for so much processor time, then becomes OTHER; COUNT times in
 *				all
 */
#include "spin.h"

#define JOIN(a, b) a##b
#define NAME(a, b) JOIN(a, b)
#define SPOT_A	   NAME(PREFIX, _first)
#define SPOT_B	   NAME(PREFIX, _second)
#define TEXT(x)	   TEXT_OF(x)
#define TEXT_OF(x) #x

DEFINE_SPIN(SPOT_A)
DEFINE_SPIN(SPOT_B)

#ifdef LIBRARY
/* The library's only entry; the same name in both. */
void run(uint64_t ticks);
void run(uint64_t ticks)
{
	(SECOND ? SPOT_B : SPOT_A)(ticks);
}
#else
int main(int argc, char **argv)
{
	uint64_t us = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
	int left = argc > 2 ? atoi(argv[2]) : 0;
	/* Not measured each time: a life may be shorter than that takes. */
	const char *given = getenv("TICKS_A_US");
	uint64_t ticks = given ? strtoull(given, NULL, 10) : (uint64_t)(ticks_a_ns() * 1e3);
	uint64_t end = clock_now_ns(CLOCK_THREAD_CPUTIME_ID) + us * 1000;
	void (*volatile spot[2])(uint64_t) = {SPOT_A, SPOT_B};
	char count[16];

	/* In steps of 0.1 ms. */
	while (clock_now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		spot[SECOND](100 * ticks);
	if (left <= 0)
		return 0;
	snprintf(count, sizeof(count), "%d", left - 1);
	execl(argv[3], argv[3], argv[1], count, argv[0], NULL);
	perror(argv[3]);
	return 1;
}
#endif

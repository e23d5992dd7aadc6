/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * callers SECONDS: one function, called in many ways, in turns of random length. Prints the
 *processor time that it took in each, in ns, by the clock of the thread:
 *
 *	left.1, left.2	from two places of one function, the first about a third of the second
 *	right		through an inlined function, seldom, but for long
 *	recurse		from the innermost of five calls of one function by itself
 *	thread		as right, from other threads than main
 */
#include <pthread.h>
#include "spin.h"

#define NOINLINE __attribute__((noinline, noclone))
#define THREADS	 2

DEFINE_SPIN(spin)

static volatile unsigned long sink; /* so that no call is a jump */
static double rate;
static uint64_t end;

NOINLINE static void shared(double ns, uint64_t *spent)
{
	uint64_t before = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);

	spin((uint64_t)(ns * rate));
	*spent += clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - before;
}

NOINLINE static void left(double ns, uint64_t *first, uint64_t *second)
{
	shared(ns, first);
	sink++;
	shared(3 * ns, second);
	sink++;
}

static inline __attribute__((always_inline)) void step(double ns, uint64_t *spent)
{
	shared(ns, spent);
	sink++;
}

NOINLINE static void right(double ns, uint64_t *spent)
{
	step(ns, spent);
	sink++;
}

NOINLINE static void recurse(int depth, double ns, uint64_t *spent)
{
	if (depth == 1)
		shared(ns, spent);
	else
		recurse(depth - 1, ns, spent);
	sink++;
}

static void *work(void *arg)
{
	uint64_t *spent = arg;
	unsigned short random[3] = {1, 2, (unsigned short)*spent};

	*spent = 0;
	while (clock_now_ns(CLOCK_MONOTONIC) < end)
		right(1e6 * (0.5 + erand48(random)), spent);
	return NULL;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"left.1", "left.2", "right", "recurse"};
	uint64_t spent[4] = {0}, thread[THREADS] = {1, 2};
	pthread_t threads[THREADS];

	rate = ticks_a_ns();
	end = clock_now_ns(CLOCK_MONOTONIC) + (uint64_t)((argc > 1 ? atof(argv[1]) : 1) * 1e9);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, &thread[i]))
			return 1;
	srand48(1);
	for (int turn = 0; clock_now_ns(CLOCK_MONOTONIC) < end; turn++) {
		left(200e3 * (0.5 + drand48()), &spent[0], &spent[1]);
		recurse(5, 400e3 * (0.5 + drand48()), &spent[3]);
		if (turn % 8 == 0)
			right(6e6 * (0.5 + drand48()), &spent[2]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4; i++)
		printf("%s %llu\n", names[i], (unsigned long long)spent[i]);
	printf("thread %llu\n", (unsigned long long)(thread[0] + thread[1]));
	return 0;
}

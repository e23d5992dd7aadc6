/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

/* As counted.c: exceptions that are thrown through counted_work(). */
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include "counted.h"

COUNTED_WORK;

static long throw_some(long sum)
{
	if (sum % 3 == 0)
		throw std::runtime_error("thrown");
	return sum;
}

long (*volatile counted_hook)(long) = throw_some;

int main(int argc, char **argv)
{
	long rounds = argc > 2 ? std::atol(argv[2]) : 0, turns = 0, sum = 0;

	for (long i = 0; i < rounds; i++) {
		long n = 1 + i * 7919 % 97;

		turns += n;
		try {
			sum += counted_work(n);
		} catch (const std::exception &) {
			sum++;
		}
	}
	std::printf("sum %ld\ncalls %ld turns %ld\n", sum, rounds, turns);
}

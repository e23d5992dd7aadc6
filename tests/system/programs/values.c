/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * values COUNT: functions that see known values, COUNT times each, by independent random numbers.
 *   argument_mix   its first argument is 42 in half, 7 in a quarter, another each time in the rest;
 *                  its second is always 99
 *   return_mix     returns 1 in three quarters, else 0
 *   load_byte      loads 'A' or 'B', from addresses that are one apart
 *   walk_lines     loads 0 from addresses that are 64 apart; its result grows by a constant
 *   store_same     stores 12345 to always the same address
 *   store_far      stores a number of 40 bits that is never the same, with its sign
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile uint64_t sink;
static uint64_t lines[8 * 512];
static char letters[256];
static volatile int same;
static volatile int64_t far;

NOINLINE static uint64_t argument_mix(uint64_t mixed, uint64_t constant)
{
	return mixed * 3 + constant;
}

NOINLINE static uint64_t return_mix(uint64_t random)
{
	return random % 4 != 0;
}

NOINLINE static uint64_t load_byte(const char *from)
{
	uint64_t sum = 0;

	for (int i = 0; i < 64; i++)
		sum += (unsigned char)from[i];
	return sum;
}

NOINLINE static uint64_t walk_lines(const uint64_t *from)
{
	uint64_t sum = 0;

	for (int i = 0; i < 512; i++)
		sum += from[8 * i] + 3;
	return sum;
}

NOINLINE static void store_same(void)
{
	same = 12345;
}

NOINLINE static void store_far(uint64_t random)
{
	far = (int64_t)random >> 24;
}

static uint64_t next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 1000000;
	uint64_t state = 1;

	for (int i = 0; i < 256; i++)
		letters[i] = i & 1 ? 'B' : 'A';
	for (long i = 0; i < count; i++) {
		uint64_t r = next(&state);

		sink += argument_mix(r & 1 ? 42 : r & 2 ? 7 : r >> 16, 99);
		sink += return_mix(next(&state));
		store_same();
		store_far(next(&state));
		if (i % 64 == 0)
			sink += load_byte(letters + (r & 63));
		if (i % 512 == 0)
			sink += walk_lines(lines);
	}
	return (int)(sink & 1);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A hash join: loads that miss the caches, and a scan beside it that does not. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SLOTS  (1u << 21)
#define BUILD  600000u
#define PROBES 900000u

struct slot {
	uint32_t key, value;
};

static uint32_t mix(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x7feb352du;
	x ^= x >> 15;
	x *= 0x846ca68bu;
	return x ^ x >> 16;
}

static void build(struct slot *table)
{
	for (uint32_t i = 1; i <= BUILD; i++) {
		uint32_t at = mix(i) % SLOTS;

		while (table[at].key)
			at = (at + 1) % SLOTS;
		table[at] = (struct slot){i, i * 5};
	}
}

static uint64_t probe(const struct slot *table, uint32_t seed)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < PROBES; i++) {
		uint32_t key = mix(i + seed) % (BUILD * 2) + 1, at = mix(key) % SLOTS;

		while (table[at].key && table[at].key != key)
			at = (at + 1) % SLOTS;
		if (table[at].key)
			sum += table[at].value;
	}
	return sum;
}

static uint64_t scan(const struct slot *table)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < SLOTS; i++)
		if (table[i].key & 1)
			sum += table[i].value;
	return sum;
}

int main(void)
{
	struct slot *table = calloc(SLOTS, sizeof(*table));
	uint64_t sum = 0;

	if (!table)
		return 1;
	build(table);
	for (uint32_t i = 0; i < 5; i++)
		sum += probe(table, i) + scan(table);
	printf("%llu\n", (unsigned long long)sum);
	free(table);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Primes below a million and a half: short loops, branches that are hard to foretell at first. */
#include <stdio.h>
#include <string.h>

#define LIMIT 1500000

static unsigned char composite[LIMIT];

static int count_primes(void)
{
	int found = 0;

	memset(composite, 0, sizeof(composite));
	for (int i = 2; i < LIMIT; i++) {
		if (composite[i])
			continue;
		found++;
		for (long j = (long)i * i; j < LIMIT; j += i)
			composite[j] = 1;
	}
	return found;
}

static int count_twins(void)
{
	int twins = 0;

	for (int i = 5; i < LIMIT; i += 2)
		if (!composite[i] && !composite[i - 2])
			twins += i % 7 == 3 ? 2 : 1;
	return twins;
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 12; i++)
		sum += count_primes() + count_twins();
	printf("%d\n", sum);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * libraries COUNT US LIBRARY OTHER: loads, runs and unloads them in turns, the second for three
 * times as long. Prints how often one was at the address where the other had been, and the
 * processor time that each took, in ns.
 */
#include <dlfcn.h>
#include "spin.h"

int main(int argc, char **argv)
{
	int count = argc > 4 ? atoi(argv[1]) : 0, same = 0;
	uint64_t ticks =
		(uint64_t)(ticks_a_ns() * 1e3) * (argc > 4 ? strtoull(argv[2], NULL, 10) : 0);
	uint64_t spent[2] = {0};
	void *before = NULL;

	for (int i = 0; i < count; i++) {
		void *library = dlopen(argv[3 + i % 2], RTLD_NOW);
		void *symbol = library ? dlsym(library, "run") : NULL;
		void (*run)(uint64_t);

		if (!symbol) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		memcpy(&run, &symbol, sizeof(run));
		uint64_t begin = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);

		run(i % 2 ? 3 * ticks : ticks);
		spent[i % 2] += clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
		same += symbol == before;
		before = symbol;
		dlclose(library);
	}
	printf("%d %llu %llu\n", same, (unsigned long long)spent[0], (unsigned long long)spent[1]);
	return 0;
}

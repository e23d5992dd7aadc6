/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * shares SECONDS: four functions, in turns of random length, about 10, 20, 30 and 40% of so much
 * processor time.
 * Prints the processor time that each really took, in ns, by the clock of this thread.
 */
#include "spin.h"

DEFINE_SPIN(share_10)
DEFINE_SPIN(share_20)
DEFINE_SPIN(share_30)
DEFINE_SPIN(share_40)

int main(int argc, char **argv)
{
	void (*const run[4])(uint64_t) = {share_10, share_20, share_30, share_40};
	static const char *const name[4] = {"share_10", "share_20", "share_30", "share_40"};
	uint64_t spent[4] = {0}, all = (uint64_t)((argc > 1 ? atof(argv[1]) : 1) * 1e9);
	double rate = ticks_a_ns();

	srand48(1);
	while (clock_now_ns(CLOCK_PROCESS_CPUTIME_ID) < all) {
		for (int i = 0; i < 4; i++) {
			/* Nothing that a sampling period could be in step with. */
			double ns = 200e3 * (i + 1) * (0.5 + drand48());
			uint64_t before = clock_now_ns(CLOCK_THREAD_CPUTIME_ID);

			run[i]((uint64_t)(ns * rate));
			spent[i] += clock_now_ns(CLOCK_THREAD_CPUTIME_ID) - before;
		}
	}
	for (int i = 0; i < 4; i++)
		printf("%s %llu\n", name[i], (unsigned long long)spent[i]);
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Binds functions late for some seconds of CPU time: lazy LIBRARY SECONDS. The library, which is
 * made of this file as well, calls 800 functions of its own through the linkage table.
 */
/* clang-format off */
#define TEN(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8) m(n##9)
#define EIGHTY(m, n) \
	TEN(m, n##1) TEN(m, n##2) TEN(m, n##3) TEN(m, n##4) \
	TEN(m, n##5) TEN(m, n##6) TEN(m, n##7) TEN(m, n##8)
#define ALL(m) \
	EIGHTY(m, 1) EIGHTY(m, 2) EIGHTY(m, 3) EIGHTY(m, 4) EIGHTY(m, 5) \
	EIGHTY(m, 6) EIGHTY(m, 7) EIGHTY(m, 8) EIGHTY(m, 9) EIGHTY(m, 10)
#define DECLARE(n) int lazy_##n(int x);
#define DEFINE(n) int lazy_##n(int x) { return x * n; }
#define CALL(n) +lazy_##n(x)
/* clang-format on */

int call_all(int x);

#ifdef LIBRARY
/* clang-format off */
ALL(DECLARE)
ALL(DEFINE)
/* clang-format on */

int call_all(int x)
{
	return 0 ALL(CALL);
}
#else
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	double seconds = argc == 3 ? atof(argv[2]) : 0;

	while ((double)clock() / CLOCKS_PER_SEC < seconds) {
		void *library = dlopen(argv[1], RTLD_LAZY);
		int (*call)(int) = library ? (int (*)(int))dlsym(library, "call_all") : NULL;

		if (!call)
			return 1;
		call(1);
		dlclose(library);
	}
	return argc != 3;
}
#endif

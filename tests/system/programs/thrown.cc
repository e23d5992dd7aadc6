/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Throws exceptions through frames that have something to destroy: thrown SECONDS. */
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

namespace
{
volatile unsigned long sink;

struct guard {
	std::string name;

	explicit guard(unsigned depth) : name(depth % 40, 'x')
	{
	}

	~guard()
	{
		sink += name.size();
	}
};

__attribute__((noinline)) void descend(unsigned depth)
{
	guard g(depth);

	if (depth == 0)
		throw std::runtime_error("bottom");
	descend(depth - 1);
	sink++;
}

__attribute__((noinline)) void rethrow(unsigned depth)
{
	try {
		descend(depth);
	} catch (const std::exception &e) {
		sink += e.what()[0];
		throw;
	}
}

double now()
{
	struct timespec t;

	syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &t);
	return double(t.tv_sec) + double(t.tv_nsec) / 1e9;
}
} // namespace

int main(int argc, char **argv)
{
	double seconds = argc == 2 ? std::atof(argv[1]) : 0;

	for (unsigned i = 0; now() < seconds; i++) {
		try {
			rethrow(i % 30);
		} catch (const std::runtime_error &) {
			sink++;
		}
	}
	return 0;
}

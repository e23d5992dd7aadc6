/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyze/query/event_mode.h"

#include <string.h>

struct parts {
	size_t base; /* bytes of the name without modifiers */
	bool user, kernel;
};

/* Modifiers are one of perf's letters or more behind the last colon; others (S, W, e: of groups; G:
 * guests alone) make another event. */
static struct parts split(const char *name, size_t size)
{
	struct parts p = {size, false, false};
	size_t at = size;

	while (at && memchr("ukhpPHD", name[at - 1], 7))
		at--;
	if (at < size && at > 1 && name[at - 1] == ':') {
		p.base = at - 1;
		p.user = memchr(name + at, 'u', size - at);
		p.kernel = memchr(name + at, 'k', size - at);
	}
	if (!p.user && !p.kernel)
		p.user = p.kernel = true;
	return p;
}

bool event_mode_same(const char *a, const char *b)
{
	struct parts x = split(a, strlen(a)), y = split(b, strlen(b));

	return x.base == y.base && !memcmp(a, b, x.base) && x.user == y.user &&
	       x.kernel == y.kernel;
}

size_t event_mode_clock_size(const char *name, size_t size)
{
	struct parts p = split(name, size);
	bool clock = (p.base == 9 && !memcmp(name, "cpu-clock", 9)) ||
		     (p.base == 10 && !memcmp(name, "task-clock", 10));

	return clock && p.user && p.kernel ? p.base : size;
}

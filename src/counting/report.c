/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "counting/report.h"

#include <errno.h>

void counting_miss(struct counting_report *r, enum counting_miss cause, uint64_t count,
		   const char *path, const char *why)
{
	if (count && !r->missed[cause]) {
		r->of_why[cause] = count;
		diag_fail(&r->why[cause], EINVAL, "%.200s%s%.700s", path ? path : "",
			  path ? ": " : "", why);
	}
	r->missed[cause] += count;
}

bool counting_is_whole(const struct counting_report *r)
{
	bool whole = true;

	for (int i = 0; i < COUNTING_MISSES; i++)
		if (i != COUNTING_MISS_FILE && i != COUNTING_MISS_SUMS)
			whole &= !r->missed[i];
	return whole;
}

const char *counting_left_text(unsigned left)
{
	switch (left) {
	case COUNTING_LEFT_FILE:
		return "the copies of the file could not be put into any process";
	case COUNTING_LEFT_NOT:
		return "counted";
	case COUNTING_LEFT_COPY:
		return "no copy could be made that is near enough and not too large";
	default:
		return attach_taken_name((enum attach_taken)(left - COUNTING_LEFT_TAKEN));
	}
}

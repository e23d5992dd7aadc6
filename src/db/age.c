/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "db/age.h"

#include <string.h>
#include "util/num.h"

struct age_clock age_begin(const struct io_time *now)
{
	return (struct age_clock){.ns = now->wall_ns, .last = *now};
}

/* The time that has certainly passed. */
static uint64_t passed_ns(const struct io_time *then, const struct io_time *now)
{
	if (!strcmp(then->boot_id, now->boot_id))
		return now->boot_ns > then->boot_ns ? now->boot_ns - then->boot_ns : 0;
	/* It was started after that; how long it was off is not known. */
	return *then->boot_id && *now->boot_id ? now->boot_ns : 0;
}

void age_advance(struct age_clock *c, const struct io_time *now)
{
	uint64_t passed = passed_ns(&c->last, now), behind, most;

	c->ns = num_add_sat(c->ns, passed);
	behind = now->wall_ns > c->ns ? now->wall_ns - c->ns : 0;
	most = num_mul_sat(passed, AGE_RATE - 1);
	c->ns = num_add_sat(c->ns, behind < most ? behind : most);
	c->last = *now;
}

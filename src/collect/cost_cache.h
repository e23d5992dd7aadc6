/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_COST_CACHE_H
#define CULPRIT_COLLECT_COST_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/event.h"
#include "collect/governor.h"

/*
 * What a sample was measured to cost, remembered (remembered.h, where directory is explained) for
 * this boot of this kernel on this processor, this kind of event and this version's program, and no
 * longer than COST_CACHE_S: a virtual machine may have gone to another host.
 */
#define COST_CACHE_S 86400

/* 0 with its age, or -ENOENT. */
int cost_cache_read(const char *directory, const struct event *e, bool scoped,
		    struct governor_cost *ret, uint64_t *ret_age_s);
/* Of a cost that was measured. 0 or a negative errno, which costs a measurement next time. */
int cost_cache_write(const char *directory, const struct event *e, bool scoped,
		     const struct governor_cost *cost);

#endif

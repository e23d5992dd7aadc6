/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_COST_COST_CACHE_H
#define CULPRIT_COLLECT_COST_COST_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/events/event.h"
#include "collect/cost/governor.h"

/*
 * What a sample was measured to cost, remembered (remembered.h, where directory is explained) for
 * this boot of this kernel on this processor, this kind of event and this version's program, and no
 * longer than COST_CACHE_S: a virtual machine may have gone to another host. What was measured on a
 * busy machine is kept only for COST_CACHE_BUSY_S: long enough for commands that follow one
 * another, not for what is recorded when the machine is quiet again.
 */
#define COST_CACHE_S	  86400
#define COST_CACHE_BUSY_S 600

/* 0 with its age, or -ENOENT. */
int cost_cache_read(const char *directory, const struct event *e, bool scoped,
		    struct governor_cost *ret, uint64_t *ret_age_s);
/* For a cost that was measured. 0 or a negative errno, which means measuring again next time. */
int cost_cache_write(const char *directory, const struct event *e, bool scoped,
		     const struct governor_cost *cost);

#endif

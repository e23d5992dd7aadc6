/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_UNWIND_MAKER_H
#define CULPRIT_COLLECT_UNWIND_MAKER_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/allowance.h"
#include "collect/unwind_cache.h"
#include "image/python.h"
#include "image/unwind.h"
#include "image/worker.h"

/*
 * Makes unwind tables in a thread and a worker of their own, so that no sample waits for one. What
 * was made takes its way back to the maker, which keeps it on disk when nobody waits for anything,
 * and when it ends. A file whose table could not be had for want of time or of means, as on a busy
 * machine, is tried again, later each time.
 */
struct unwind_maker;

struct unwind_maker_config {
	struct image_worker_limits limits; /* of one try */
	const char *cache;		   /* a directory; NULL: this user's own */
	uint64_t again_ns; /* from the first try to the second, then twice that... */
	unsigned tries;
	struct allowance *allowance; /* of its thread and worker; borrowed; NULL: no limit */
};

/* Done, or asked for. */
struct unwind_made {
	uint64_t wish;		/* as was asked */
	struct image_unwind *u; /* NULL: there is none */
	uint64_t took_ns;
	bool is_kept; /* an earlier recording had made it */
	bool is_python;
	struct image_python python; /* if it is one */
};

/* NULL when out of memory or descriptors. */
struct unwind_maker *unwind_maker_new(const struct unwind_maker_config *config);
/* What was asked for is made and kept, but within finish_ns. */
void unwind_maker_free(struct unwind_maker *m, uint64_t finish_ns);

/* Asks for the table of an open file, which stays the caller's. 0, -ENOMEM or -EMFILE, or -EAGAIN:
 * there is no thread. */
int unwind_maker_ask(struct unwind_maker *m, uint64_t wish, int fd);
/* One that is done, until it is given back; NULL: none is. */
struct unwind_made *unwind_maker_take(struct unwind_maker *m);
void unwind_maker_give_back(struct unwind_maker *m, struct unwind_made *made);
int unwind_maker_fd(const struct unwind_maker *m); /* readable while there is one to take */

struct unwind_maker_counters {
	uint64_t late; /* tries that failed for want of time or of means */
	struct unwind_cache_counters cache;
};
void unwind_maker_count(struct unwind_maker *m, struct unwind_maker_counters *ret);

#endif

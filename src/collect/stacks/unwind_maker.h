/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_STACKS_UNWIND_MAKER_H
#define CULPRIT_COLLECT_STACKS_UNWIND_MAKER_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/cost/allowance.h"
#include "collect/stacks/unwind_cache.h"
#include "image/python.h"
#include "unwind/unwind.h"
#include "image/worker/worker.h"

/*
 * Makes unwind tables in a thread and a worker of their own, so that no sample waits for one. What
 * was made goes back to the maker, which keeps it on disk when nobody waits for anything, and when
 * it ends. A file whose table could not be made for lack of time or resources, as on a busy
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
	bool is_kept;		    /* an earlier recording had made it */
	struct image_python python; /* of version 0: it has none */
};

/* NULL when out of memory or descriptors. */
struct unwind_maker *unwind_maker_new(const struct unwind_maker_config *config);
/* First makes and keeps what was asked for, within finish_ns at most. */
void unwind_maker_free(struct unwind_maker *m, uint64_t finish_ns);

/* Asks for the table of an open file, which stays the caller's. 0, -ENOMEM or -EMFILE, or -EAGAIN:
 * there is no thread. */
int unwind_maker_ask(struct unwind_maker *m, uint64_t wish, int fd);
/* Drops what was asked for and is not begun: nobody wants it any more. */
void unwind_maker_forget(struct unwind_maker *m);
/* One that is done, until it is given back; NULL: none is. */
struct unwind_made *unwind_maker_take(struct unwind_maker *m);
void unwind_maker_give_back(struct unwind_maker *m, struct unwind_made *made);
int unwind_maker_fd(const struct unwind_maker *m); /* readable while there is one to take */

struct unwind_maker_counters {
	uint64_t late; /* tries that failed for lack of time or resources */
	struct unwind_cache_counters cache;
};
void unwind_maker_count(struct unwind_maker *m, struct unwind_maker_counters *ret);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_PROCESS_LOOKS_H
#define CULPRIT_COLLECT_PROCESS_LOOKS_H

#include <stdbool.h>
#include <stdint.h>
#include "collect/process/file_look.h"
#include "image/worker/worker.h"

/*
 * Looks at files, done in threads, so that the thread that drains waits for none. The users of the
 * machine take turns, however much each of them has to be looked at, and what may be queued for
 * each is limited. At most one look of a user is under way: a file system of his that does not
 * answer holds up himself, and a further thread serves the others.
 */
struct looks;

#define LOOKS_USER_MAX 256  /* queued for one user */
#define LOOKS_MAX      4096 /* and for all */

/* limits may be NULL. NULL when out of memory or descriptors. */
struct looks *looks_new(const struct image_worker_limits *limits);
/* Gives up what is queued. Waits a second for looks that are under way. False: one hangs in the
 * kernel, so what it uses, the name of its file too, is left behind. */
bool looks_free(struct looks *q);

/* Takes the look over. 0; -EAGAIN: the user's share, or the queue, is full. */
int looks_ask(struct looks *q, struct file_look *look);
/* A look that is done, now the caller's; NULL: there is none now. */
struct file_look *looks_take(struct looks *q);
int looks_fd(const struct looks *q); /* readable when there is any */

struct looks_counters {
	uint64_t queued; /* and under way */
	unsigned threads;
	uint64_t worker_ns; /* that its worker processes took of the processor */
};
void looks_count(struct looks *q, struct looks_counters *ret);

#endif

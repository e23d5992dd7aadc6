/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_PROCESS_TURNS_H
#define CULPRIT_COLLECT_PROCESS_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * A queue in which the users of the machine take turns, however much each of them has in it; what
 * is one user's stays in order. The first member of what is queued is a struct turn. Not safe
 * between threads.
 */
struct turns;

struct turn {
	struct turn *next; /* the queue's */
	uid_t user;
};

/* Room for user_max of one user, and max of all. NULL when out of memory. */
struct turns *turns_new(size_t user_max, size_t max);
void turns_free(struct turns *t); /* what is queued is the caller's: take it first */

/* Takes it over. 0; -EAGAIN: the user's share, or the queue, is full; -ENOMEM. */
int turns_add(struct turns *t, struct turn *job);
/*
 * The oldest job of the first user, in turn, whose oldest job may begin, as may says (NULL:
 * always); the user then goes behind the others. NULL: there is none.
 */
struct turn *turns_take(struct turns *t, bool (*may)(void *arg, const struct turn *job), void *arg);
size_t turns_count(const struct turns *t);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_FOLLOW_FOLLOWERS_H
#define CULPRIT_COLLECT_FOLLOW_FOLLOWERS_H

#include <poll.h>
#include <stddef.h>
#include "collect/follow/follower.h"

/* The followers of a session: each call goes to all that could be opened (follower.h). */

#define FOLLOWERS_MAX 4
#define FOLLOWERS_FDS (FOLLOWERS_MAX * FOLLOWER_FDS)

struct followers {
	struct follower {
		struct follower_wish wish;
		void *self;
		struct diag why; /* it could not be opened */
	} list[FOLLOWERS_MAX];	 /* those that could be opened come first */
	size_t count, asked;
};

/* Opens what is wished for, in a thread each. Fails where one that is needed cannot be opened;
 * followers_close is due in any case. */
int followers_open(struct followers *f, const struct follower_wish *wishes, size_t count,
		   const struct follower_config *config, struct diag *diag);
void followers_close(struct followers *f);
/* The open follower of a kind, NULL: none. ret_why, which may be NULL: why it could not be opened,
 * "" where it was not asked for. */
void *followers_find(const struct followers *f, const struct follower_ops *ops,
		     const char **ret_why);

/* The plan of all. Followers that have a rate count as if each had the highest. */
struct follower_plan followers_plan(const struct followers *f);
int followers_start(struct followers *f, const struct follower_start *start);
void followers_set_pace(struct followers *f, double factor, double hz);
void followers_drain(struct followers *f, uint64_t now_ns);
/* Drains those that wanted it by now. */
void followers_drain_due(struct followers *f, uint64_t now_ns);
/* When the first wants to be drained; UINT64_MAX: there is none. */
uint64_t followers_next_ns(const struct followers *f);
void followers_each_counter(const struct followers *f, const struct counter_taker *to);
void followers_flush(struct followers *f);
int followers_begin_batch(struct followers *f);
/* Adds what they cost, each to its part. */
void followers_charge(const struct followers *f, double spent_ns[BUDGET_PARTS]);

/* Fills all FOLLOWERS_FDS; returns when they are to be filled again. */
uint64_t followers_poll(const struct followers *f, uint64_t now_ns, struct pollfd *fds);
void followers_wake(struct followers *f, const struct pollfd *fds);
uint64_t followers_oldest_ns(const struct followers *f);
void followers_finish(struct followers *f);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COUNTING_PLANNER_H
#define CULPRIT_COUNTING_PLANNER_H

#include <sys/stat.h>
#include "counting/plans.h"

/*
 * Processes that plan, one for each image: they alone understand the code of foreign files
 * (plans.h), and what they answer is checked like any foreign input. They may read files, and
 * nothing else; each has limits of memory and time, and a file that takes more, or kills its
 * process, costs only itself. Images are numbered as they are planned, and kept to the end.
 */
struct planner;

/* What files may have programs wait: each for an answer, and all together for their plans and for
 * copies that take long, and as long for their counts. */
struct planner_limits {
	uint64_t answer_ns; /* default 2 minutes */
	uint64_t all_ns;    /* default 10 minutes */
};

/* limits: NULL, or 0 in it, for the defaults. To be called while there is one thread, and before
 * anything is opened that a planner needs not have. -ENOMEM and others with the reason. */
int planner_new(const struct planner_limits *limits, struct planner **ret, struct diag *diag);
void planner_free(struct planner *p); /* ends the processes; NULL is fine */
/* For any thread: what is planned or copied, and all that is to be from then on, fails soon. What
 * was counted is still to be had. */
void planner_cancel(struct planner *p);

/*
 * As plans_new, plans_copy, plans_count, of the image that was planned as the number'th. file:
 * which the path led to when it was looked at. When the process is gone, answers nonsense or takes
 * too long: -EPIPE, -EBADMSG, -ETIMEDOUT.
 */
int planner_plan(struct planner *p, const char *path, const struct stat *file,
		 const struct plans_request *request, struct plans_facts *ret, struct diag *diag);
int planner_copy(struct planner *p, uint32_t number, const struct plans_facts *facts,
		 const struct instrument_destination *at, struct instrument_code *codes);
int planner_count(struct planner *p, uint32_t number, const struct plans_facts *facts,
		  const uint64_t *counters, const uint8_t *left, struct buf *edges);

#endif

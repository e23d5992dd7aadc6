/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_COUNTS_H
#define CULPRIT_CMD_COUNTS_H

#include <stdbool.h>
#include "collect/session.h"
#include "counting/counting.h"

/* record --counts: what it does besides sampling. */

/* Has samples in copies charged to their originals, and the cost of counting not charged to
 * sampling. */
void counts_fill_config(struct counting *c, struct session_config *config);
/* Gives bursts what was sampled up to now, if they wait for that and it is enough to choose by. */
void counts_give_samples(struct counting *c, struct session *s);
/* The run is over: ends counting, and puts into the session what was counted. all: the session has
 * samples of others, too. -ENOMEM, -ENOSPC. */
int counts_store(struct counting *c, struct session *s, bool all, struct counting_report *ret,
		 struct diag *diag);
/* To stderr: what was counted; verbose: also which functions were not and why; in any case what ran
 * uncounted although counts were asked for. */
void counts_tell(const struct counting_report *r, bool quiet, bool verbose);

#endif

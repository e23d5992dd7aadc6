/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_FREQUENCY_FREQUENCY_WEB_H
#define CULPRIT_ANALYZE_FREQUENCY_FREQUENCY_WEB_H

#include <stdbool.h>
#include "analyze/frequency/frequency_flow.h"

/*
 * A web: indirect jumps with the same targets, as in an interpreter's loop in which every operation
 * may follow every other. Its ways, jumps times targets, fill the matrix of the flow, and where no
 * window passed nothing tells them apart. So they lead through one unknown, the hub, which is the
 * sum of the jumps and the sum of one way to each target.
 */

/* Marks the blocks of a function that end in such a jump; 1 if there are any, 0, or -ENOMEM. */
int flow_web_find(const struct cfg_function *f, bool *ret_jumps);

/* Numbers the hub and the ways from it of function number i, whose ways from the blocks marked in
 * jumps become FLOW_HUB. */
void flow_web_number(struct logsum *m, const struct evidence *e, size_t i, const bool *jumps,
		     struct flow_unknowns *u);

/* The two sums. terms has room for the function's blocks. */
void flow_web_equations(struct logsum *m, const struct evidence *e, size_t i,
			const struct flow_unknowns *u, double sigma, struct logsum_term *terms);

/* The ways through the hub: a jump's share of each target is that of all jumps. */
void flow_web_results(const struct logsum *m, const struct evidence *e, size_t i,
		      const struct flow_unknowns *u, const double *variances,
		      struct frequency_guess *ways);

#endif

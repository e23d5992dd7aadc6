/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_FREQUENCY_FREQUENCY_FLOW_H
#define CULPRIT_ANALYZE_FREQUENCY_FREQUENCY_FLOW_H

#include "analyze/frequency/frequency_state.h"
#include "analyze/frequency/logsum.h"

/*
 * The unknowns of a program: one for each set of blocks and edges of a function that run equally
 * often (frequency equivalence; a block's only way out or in). None for what windows would have
 * seen if it ran (in a function that they passed, sets without any evidence); and none for a
 * function of a few samples that no window passed: only samples tell of these. In a function that
 * was counted whole, none for what did not run, nor for ways that its counts do not tell.
 */
#define FLOW_NONE UINT32_MAX
#define FLOW_HUB  (UINT32_MAX - 1) /* a way sharing one unknown with others (frequency_web.h) */
#define FLOW_SEEN_LEAST                                                          \
	0.5 /* visits of a function, for windows to tell what does not run in it \
	     */
#define FLOW_SAMPLES_LEAST 10
#define FLOW_LEAST	   0.3 /* visits that stand for none */

struct flow_unknowns {
	uint32_t *blocks, *ways; /* their unknowns, as in the evidence, or FLOW_NONE or FLOW_HUB */
	uint32_t *hubs;		 /* by function, of its web, or FLOW_NONE */
	uint32_t *entries;	 /* by block, of the way from the hub to it, or FLOW_NONE */
};

static inline bool flow_is_unknown(uint32_t u)
{
	return u < FLOW_HUB;
}

/* Makes the lists, all FLOW_NONE; flow_unknowns_free also when it fails. */
int flow_unknowns_init(struct flow_unknowns *u, const struct evidence *e);
void flow_unknowns_free(struct flow_unknowns *u);

/* Numbers them in m, with starts from the evidence. scale: visits for one sample per cycle of cost;
 * counted_start: likewise for an execution that was counted, as a logarithm. */
int flow_unknowns_add(struct logsum *m, const struct evidence *e, double scale,
		      double counted_start, struct flow_unknowns *u);

#endif

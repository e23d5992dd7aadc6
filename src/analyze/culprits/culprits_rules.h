/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CULPRITS_CULPRITS_RULES_H
#define CULPRIT_ANALYZE_CULPRITS_CULPRITS_RULES_H

#include "analyze/culprits/culprits.h"

/*
 * The rules for dynamic causes, one file per kind. Each looks at one stall and adds the causes that
 * it cannot rule out: with a bound, a weight (how likely it is beside the others: 1 is what such an
 * instruction usually waits for) and the instruction to blame.
 */

#define CULPRIT_SUSPECTS_MAX 32

struct culprit_suspect {
	struct culprit culprit; /* low, high and likely are not set yet */
	double bound, weight;	/* cycles per execution; relative */
	double likely_most; /* the bound, or less where more is known of what it usually costs */
};

/* Cycles of one instruction that await their explanation. */
struct culprit_case {
	const struct culprit_view *view;
	uint32_t at;   /* the instruction that stalls */
	bool fresh;    /* it had yet to arrive: the front end may be to blame */
	double cycles; /* per execution */
	struct culprit_suspect suspects[CULPRIT_SUSPECTS_MAX];
	uint32_t count;
};

/* Adds one. Those of the same cause and blame become one, with the sum of the bounds and the
 * greatest weight. Refused (NULL) when bound or weight is 0. */
struct culprit_suspect *culprit_suspect(struct culprit_case *c, enum culprit_cause cause,
					double bound, double weight, uint64_t blame);

/* The data of one instruction: caches, translation, stores before it. share: of the stalled
 * instruction's executions, for one of several ways it was reached. */
void culprit_suspect_data(struct culprit_case *c, uint32_t at, double share, double weight);
/* What the stalled instruction's operands wait for, when it loads nothing itself. */
void culprit_suspect_producers(struct culprit_case *c);
/* Stores that find the store buffer full. */
void culprit_suspect_stores(struct culprit_case *c, uint32_t at, double share);
/* Locked operations, fences, assists, faults, system calls. */
void culprit_suspect_rare(struct culprit_case *c, uint32_t at, double share);
/* The same, of the few instructions before: what they hold up shows later. */
void culprit_suspect_barriers(struct culprit_case *c);
/* Latencies that the best case hides. */
void culprit_suspect_latency(struct culprit_case *c);
/* Instruction caches and mispredicted branches on the ways into a block. */
void culprit_suspect_arrival(struct culprit_case *c);
/* The same, of a branch itself: until the code it leads to is there, the first instruction of that
 * code is the oldest, and its samples are charged to the branch. */
void culprit_suspect_departure(struct culprit_case *c);
/* The same, some instructions after a branch: a wait for operands that is otherwise hidden shows
 * when nothing older is under way. */
void culprit_suspect_refill(struct culprit_case *c);
/* How likely a way out of a block is to have come as a surprise: 0 where no branch chose it. */
double culprit_mispredict_weight(const struct culprit_view *v, uint32_t edge);
/* Lines of code that straight-line execution enters. */
void culprit_suspect_line(struct culprit_case *c);

#endif

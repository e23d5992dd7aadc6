/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_CALL_CYCLES_H
#define CULPRIT_ANALYZE_CALL_CYCLES_H

#include "analyze/call_graph.h"

/* Finds cycles (functions that call each other in a circle), and the order of functions from
 * callees to callers. 0 or -ENOMEM. */
int call_cycles_find(struct call_graph *g);
/* gprof's rule: shares the time of functions and cycles among their callers. */
void call_cycles_share(struct call_graph *g);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_FUNCTION_GRAPH_H
#define CULPRIT_CFG_FUNCTION_GRAPH_H

#include "cfg/cfg.h"
#include "cfg/equivalence.h"
#include "cfg/graph.h"
#include "cfg/loops.h"

/*
 * A function's graph for the passes: the nodes are its blocks with their numbers, then its entry
 * (number block_count), then its exit; the edges are its edges with their numbers: those from
 * CFG_OUTSIDE leave the entry, those to it enter the exit. -EINVAL: larger than CFG_GRAPH_MAX;
 * -ENOMEM.
 */
int cfg_graph_of_function(const struct cfg_function *f, struct cfg_graph **ret);

/*
 * The loops of a function, by its blocks' numbers. Landing pads count as entered from inside of the
 * loops that they lead back into, which is where exceptions are thrown, so that a loop with a
 * handler in it is not irreducible.
 */
int cfg_loops_of_function(const struct cfg_function *f, struct cfg_loops **ret);

/* The classes of a function; each block and edge its own when the function is not complete. */
int cfg_equivalence_of_function(const struct cfg_function *f, const struct cfg_graph *g,
				struct cfg_equivalence **ret);

#endif

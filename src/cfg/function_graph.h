/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CFG_FUNCTION_GRAPH_H
#define CULPRIT_CFG_FUNCTION_GRAPH_H

#include "cfg/cfg.h"
#include "cfg/equivalence.h"
#include "cfg/graph.h"
#include "cfg/loops.h"

/*
 * Makes a function's graph for the passes. Its nodes are the function's blocks, with their numbers,
 * then its entry (number block_count), then its exit. Its edges are the function's edges, with
 * their numbers: those from CFG_OUTSIDE leave the entry, those to it enter the exit. 0, -EINVAL if
 * it is larger than CFG_GRAPH_MAX, -ENOMEM.
 */
int cfg_graph_of_function(const struct cfg_function *f, struct cfg_graph **ret);

/*
 * Finds the loops of a function, in the numbers of its blocks. Landing pads count as entered from
 * inside the loops that they lead back to, which is where exceptions are thrown, so that a loop
 * that contains a handler is not irreducible.
 */
int cfg_loops_of_function(const struct cfg_function *f, struct cfg_loops **ret);

/* Finds the classes of a function; each block and edge has its own if the function is not
 * complete. */
int cfg_equivalence_of_function(const struct cfg_function *f, const struct cfg_graph *g,
				struct cfg_equivalence **ret);

#endif

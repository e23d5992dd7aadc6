/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_ANALYZE_EVIDENCE_PLACE_H
#define CULPRIT_ANALYZE_EVIDENCE_PLACE_H

#include "analyze/evidence_graph.h"

/* Lays samples and edges on the blocks and edges of a graph whose functions are numbered. 0 or
 * -ENOMEM. */
int evidence_place_all(struct evidence *e);

#endif

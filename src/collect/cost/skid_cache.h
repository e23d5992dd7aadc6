/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_COST_SKID_CACHE_H
#define CULPRIT_COLLECT_COST_SKID_CACHE_H

#include "collect/cost/skid.h"

/* What was measured, remembered for each processor model, kernel and event (remembered.h, where
 * directory is explained). Read: 0, or -ENOENT. */
int skid_cache_read(const char *directory, const char *event, struct skid_facts *ret);
int skid_cache_write(const char *directory, const char *event, const struct skid_facts *facts);

#endif

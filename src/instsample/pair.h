/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_INSTSAMPLE_PAIR_H
#define CULPRIT_INSTSAMPLE_PAIR_H

#include "instsample/record.h"

/* What two halves of a pair were to one another: ProfileMe, section 5.2. */

/* Cycles from its fetch until it was ready to retire, or, of one that was thrown away, as far as it
 * came. Waiting for those before it is not its own doing. */
uint64_t inst_progress(const struct inst_record *r);
/* Useful overlap (5.2.3): while one is in progress the other is issued, and later retires. cycles:
 * from the fetch of the one to that of the other. */
bool inst_overlaps(const struct inst_record *r, const struct inst_record *other, int64_t cycles);

#endif

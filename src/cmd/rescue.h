/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_RESCUE_H
#define CULPRIT_CMD_RESCUE_H

#include "collect/session.h"
#include "util/diag.h"

/*
 * The last flush of a recording failed, as diag says: nothing will try it again. Writes what is
 * left to a database of its own in $TMPDIR, /var/tmp or /dev/shm, and adds to the sentence where
 * that is, or how many samples are lost.
 */
void rescue_samples(struct session *s, struct diag *diag);

#endif

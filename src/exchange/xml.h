/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_EXCHANGE_XML_H
#define CULPRIT_EXCHANGE_XML_H

#include "analyze/rank.h"
#include "util/buf.h"

/*
 * A profile as XML in the form of HPCToolkit's PROFILE documents: one table of metrics (the
 * events), then load modules, files, procedures, loops and statements, and at the statements the
 * metrics' values in event units (samples times period). Sums are the reader's. Loops are of the
 * machine code: lines of their first and last sampled statement, and the header's address. k: by
 * RANK_LINE, with loops. target:
 * what was profiled. 0, or the buffer's error.
 */
int xml_write_profile(const struct query *q, const struct rank *k, const char *target,
		      struct buf *out);

#endif

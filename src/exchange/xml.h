/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_EXCHANGE_XML_H
#define CULPRIT_EXCHANGE_XML_H

#include <stdbool.h>
#include <stdint.h>
#include "analyze/query/rank.h"
#include "util/buf.h"

/*
 * A profile as XML in the form of HPCToolkit's PROFILE documents: one table of metrics (the
 * events), then load modules, files, procedures, loops and statements, and at the statements the
 * metrics' values in event units (samples times period). Sums are left to the reader. Loops are
 * those of the machine code: the lines of their first and last sampled statement, and the header's
 * address. k: by RANK_LINE, with loops. modules: NULL: their attributes are not known. target: what
 * was profiled. 0, or the buffer's error.
 */
struct xml_modules {
	/* Where the code of an image begins, by the image's own addresses, and the bytes up to its
	 * end. False: not known. */
	bool (*extent)(void *arg, const struct query_image *image, uint64_t *ret_start,
		       uint64_t *ret_length);
	void *arg;
};

int xml_write_profile(const struct query *q, const struct rank *k,
		      const struct xml_modules *modules, const char *target, struct buf *out);

#endif

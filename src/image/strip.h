/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_STRIP_H
#define CULPRIT_IMAGE_STRIP_H

#include <stddef.h>
#include <stdint.h>
#include "bpf/wire_edges.h"
#include "util/buf.h"
#include "util/diag.h"

/*
 * A strip of a file's code as micro-operations for the interpreter of edge samples: the bytes
 * [begin, begin + size) of the file are decoded from the last start that is not past the strip's
 * begin (micro/translate.h).
 */
#define IMAGE_STRIP_BYTES_MAX (16u << 10)

struct image_strip_wanted {
	uint64_t begin;		/* file offset */
	uint32_t size;		/* at most IMAGE_STRIP_BYTES_MAX */
	uint32_t number;	/* of the strip */
	const uint64_t *starts; /* where instructions begin: ascending file offsets */
	size_t start_count;
};

/*
 * Appends a struct wire_strip (first: 0) and its count of struct wire_micro. -ENODATA: the file
 * ends before. Foreign bytes: privileged callers go through image/worker/worker.h.
 */
int image_strip_describe(int fd, const struct image_strip_wanted *wanted, struct buf *out,
			 struct diag *diag);

#endif

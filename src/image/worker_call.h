/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_WORKER_CALL_H
#define CULPRIT_IMAGE_WORKER_CALL_H

#include "image/worker.h"
#include "image/worker_wire.h"
#include "util/buf.h"
#include "util/diag.h"

/*
 * One request (its serial is set here) and its answer, appended to out, which has the maximum that
 * the answer may have. Every failure that is not the child's own word costs the child its life.
 */
int worker_call(struct image_worker *w, struct worker_request request, const int *files,
		const void *payload, struct buf *out, struct diag *diag);
/* For an answer that makes no sense: ends the child. Returns -EBADMSG. */
int worker_refuse(struct image_worker *w, struct diag *diag);
uint64_t worker_memory_bytes(const struct image_worker *w);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_WORKER_WORKER_CALL_H
#define CULPRIT_IMAGE_WORKER_WORKER_CALL_H

#include "image/worker/worker.h"
#include "image/worker/worker_wire.h"
#include "util/buf.h"
#include "util/diag.h"

/*
 * One request (its serial is set here) and its answer, appended to out, whose maximum is the most
 * the answer may have. Every failure that the child did not report itself costs the child its life.
 */
int worker_call(struct image_worker *w, struct worker_request request, const int *files,
		const void *payload, struct buf *out, struct diag *diag);
/* For an invalid answer: ends the child. Returns -EBADMSG. */
int worker_refuse(struct image_worker *w, struct diag *diag);
uint64_t worker_memory_bytes(const struct image_worker *w);

#endif

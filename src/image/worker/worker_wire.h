/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_WORKER_WORKER_WIRE_H
#define CULPRIT_IMAGE_WORKER_WORKER_WIRE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "image/worker/worker_jail.h"
#include "util/buf.h"
#include "util/diag.h"

/*
 * What the worker's parent and its child say to each other, over a stream socket, one request and
 * one reply at a time; both are the same program, so structures go as they are. Internal to the
 * worker*.c files. The parent treats every reply as hostile.
 */
#define WORKER_NAME	  "culprit-image-worker"
#define WORKER_FILES_MAX  2
#define WORKER_REASON_MAX 1024
#define WORKER_SPENT	  SIGPROF /* what a child dies of when a request used up its time */

enum worker_kind {
	WORKER_FACTS = 1,
	WORKER_IDENTITY,
	WORKER_SYMBOLS,
	WORKER_DATA_SYMBOLS,
	WORKER_LINES,
	WORKER_CODE,
	WORKER_DEBUG_LINK,
	WORKER_PERF_MAP,
	WORKER_JITDUMP,
	WORKER_LAYOUT,
	WORKER_STARTS,
	WORKER_UNWIND,
	WORKER_PYTHON,
	WORKER_LINE_TABLE, /* payload: ranges */
	WORKER_STRIP,	   /* arguments: begin; number and size; payload: starts */
};

struct worker_request {
	uint64_t serial;
	uint32_t kind;
	uint32_t file_count; /* descriptors that come with it */
	uint64_t arguments[2];
	uint64_t payload_size; /* bytes that follow */
};

struct worker_reply {
	uint64_t serial; /* of the request */
	int32_t status;
	uint32_t reason_size;  /* bytes of text that follow, when status is not 0 */
	uint64_t payload_size; /* bytes that follow, when status is 0 */
};

/*
 * The parent's side, deadlines in ns of CLOCK_MONOTONIC. -ETIMEDOUT at the deadline, -EPIPE when
 * the child is gone. For a reply: its payload (at most max_bytes) goes to out; returns its status,
 * with its text in diag; -EPROTO for nonsense. *ret_told is true when the status is the child's own
 * and it can go on.
 */
int worker_send_request(int socket, uint64_t deadline_ns, const struct worker_request *request,
			const int *files, const void *payload);
int worker_receive_reply(int socket, uint64_t deadline_ns, uint64_t serial, struct buf *out,
			 bool *ret_told, struct diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_CONTROL_H
#define CULPRIT_COLLECT_CONTROL_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include "util/buf.h"
#include "util/diag.h"

/*
 * The daemon's control socket. A request is one line, the answer is one line, then the connection
 * is closed. Who may ask is decided by the socket file's permissions (mode 0660, in a directory of
 * the daemon's own). A client that is slow or says too much is dropped; it never holds up the
 * daemon.
 */
struct control;

#define CONTROL_CLIENTS_MAX 16
#define CONTROL_REQUEST_MAX 1024
#define CONTROL_ANSWER_MAX  (256u << 10)
#define CONTROL_PATIENCE_NS UINT64_C(5000000000) /* with a client whose request has no end */

/*
 * Listens at path. A socket file that nobody listens on any more is replaced; -EADDRINUSE when a
 * daemon is there.
 */
int control_new(const char *path, struct control **ret, struct diag *diag);
void control_free(struct control *c); /* removes the socket file */

/* Descriptors to wait for: at most CONTROL_CLIENTS_MAX + 1. */
size_t control_poll_fds(const struct control *c, struct pollfd *fds, size_t max);
/*
 * Accepts, reads and answers whatever is ready. answer gets a request (terminated, without the
 * newline) and appends the answer's line. now_ns: of the monotonic clock.
 */
void control_serve(struct control *c, uint64_t now_ns,
		   void (*answer)(void *arg, const char *request, struct buf *out), void *arg);

/* The client's side: sends one request, waits for the answer at most timeout_ms. free() it. */
int control_ask(const char *path, const char *request, int timeout_ms, char **ret,
		struct diag *diag);

#endif

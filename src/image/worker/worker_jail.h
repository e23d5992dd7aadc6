/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_WORKER_WORKER_JAIL_H
#define CULPRIT_IMAGE_WORKER_WORKER_JAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORKER_SOCKET	   3   /* the child's end */
#define WORKER_EXIT_UNSAFE 100 /* and more: the step of the confinement that failed */

/* Takes away from this process everything but the descriptors up to WORKER_SOCKET, memory and time.
 * It may send through the socket alone. 0 or the step that failed, from 1. */
int worker_jail_enter(uint64_t memory_bytes);
/* Sends all of it through the socket; false when the parent is gone. */
bool worker_jail_send(const void *data, size_t size);

#endif

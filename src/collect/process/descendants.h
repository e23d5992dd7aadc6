/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_PROCESS_DESCENDANTS_H
#define CULPRIT_COLLECT_PROCESS_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "collect/process/process.h"
#include "util/diag.h"

/* The descendants of processes, by who forked whom as far as that is known: a process whose parent
 * has ended is still its child. */
struct descendants;

#define DESCENDANTS_ROOTS_MAX 2048

/* Both borrowed. NULL when out of memory. */
struct descendants *descendants_new(struct processes *processes, const pid_t *roots, size_t count);
void descendants_free(struct descendants *d);

/* Looks for more, by what is known of processes now; hands each to take once. -ENOMEM, or what take
 * returns if it is not 0. */
int descendants_find(struct descendants *d, int (*take)(void *arg, pid_t pid), void *arg);
size_t descendants_count(const struct descendants *d); /* found by now, without the roots */
/* Calls drop for those found whose PID none of them has any more. */
void descendants_ended(struct descendants *d, void (*drop)(void *arg, pid_t pid), void *arg);

#endif

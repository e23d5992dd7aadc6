/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_EVENTS_EVENT_TRACEPOINT_H
#define CULPRIT_COLLECT_EVENTS_EVENT_TRACEPOINT_H

#include <linux/perf_event.h>
#include "util/diag.h"

/*
 * A tracepoint "subsystem:name" by its id file under tracefs, at ROOT/sys/kernel/tracing or
 * ROOT/sys/kernel/debug/tracing. -ENOENT: no such tracepoint; -EOPNOTSUPP: tracefs is not mounted;
 * -EACCES: it may not be read (both with the command that fixes it).
 */
int event_tracepoint_encode(const char *root, const char *name, struct perf_event_attr *attr,
			    struct diag *diag);

/* Where tracefs is, below root: a static string, NULL when it is not mounted. *ret_denied is set
 * when it may be mounted but cannot be looked into. */
const char *event_tracepoint_folder(const char *root, int *ret_denied);

/* Calls f for each tracepoint, as "subsystem:name". */
void event_tracepoint_each(const char *root, void (*f)(void *arg, const char *name), void *arg);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_EVENTS_EVENT_GENERIC_H
#define CULPRIT_COLLECT_EVENTS_EVENT_GENERIC_H

#include <linux/perf_event.h>

/*
 * The names that perf gives to the kernel's generic events, on every machine: hardware, software,
 * cache ("L1-dcache-load-misses", with perf's synonyms) and raw ("rNNN", hexadecimal). Sets type
 * and config. 0, or -ENOENT when it is none of these.
 */
int event_generic_encode(const char *name, struct perf_event_attr *attr);

/* Calls f for each name, aliases too; cache events in perf's canonical spelling. */
void event_generic_each(void (*f)(void *arg, const char *kind, const char *name), void *arg);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_EVENTS_EVENT_PFM_H
#define CULPRIT_COLLECT_EVENTS_EVENT_PFM_H

#include <linux/perf_event.h>
#include "util/diag.h"

/*
 * A name of libpfm4, in its own spelling ("RETIRED_INSTRUCTIONS", "skl::UOPS_RETIRED:ALL"), on this
 * machine's PMUs. -ENOENT: no event of any processor has this name; -EOPNOTSUPP: it is one of
 * another processor (which is said), or the library is not installed; -EINVAL: the event is right,
 * its unit mask or attribute is not (those it has are listed).
 */
int event_pfm_encode(const char *name, struct perf_event_attr *attr, struct diag *diag);

/* Calls f for each event of the PMUs of this machine, as "pmu::EVENT"; bare is the event's own. */
void event_pfm_each(void (*f)(void *arg, const char *full_name, const char *bare_name), void *arg);

#endif

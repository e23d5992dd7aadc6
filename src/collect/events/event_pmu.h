/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_EVENTS_EVENT_PMU_H
#define CULPRIT_COLLECT_EVENTS_EVENT_PMU_H

#include "collect/events/event.h"

/*
 * "pmu/term,term=value,.../" by the files under ROOT/sys/bus/event_source/devices (kernel's
 * Documentation/ABI/testing/sysfs-bus-event_source-devices-*). A term is a field of the PMU's
 * format directory (alone it means 1), config, config1, config2, period, name, an event of its
 * events directory, or a generic hardware event ("cpu_atom/cycles/"). text: as written, without
 * anything after the last slash. Sets in ret: attr's type and configs, period, cpus, and name when
 * a name= term gives one (the caller frees these with event_free, also on failure). -ENOENT: no
 * such PMU or term; -EINVAL: a value that does not fit.
 */
int event_pmu_encode(const char *root, const char *text, struct event *ret, struct diag *diag);

/* An event of some PMU's events directory by its bare name ("mem-loads"), as above; -ENOENT. */
int event_pmu_encode_alias(const char *root, const char *name, struct event *ret,
			   struct diag *diag);

/* Calls f for each event of each PMU, as "pmu/event/"; bare is the event's own name. */
void event_pmu_each(const char *root,
		    void (*f)(void *arg, const char *full_name, const char *bare_name), void *arg);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_EVENTS_EVENT_NAME_H
#define CULPRIT_COLLECT_EVENTS_EVENT_NAME_H

#include "collect/events/event.h"

/*
 * What event_parse does before it opens anything: the text to an event, by the tables and by the
 * files of ROOT/sys ("" for the machine's own). Same errors, as far as names tell.
 */
int event_name_parse(const char *root, const char *text, struct event *ret, struct diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_NOTIFY_H
#define CULPRIT_UTIL_NOTIFY_H

/*
 * Tells the service manager, if one has started this program and wants to know, a state as in
 * sd_notify(3): "READY=1", "STOPPING=1". Nobody waits for it, so failures are of no interest.
 */
void notify_manager(const char *state);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_NOTIFY_H
#define CULPRIT_UTIL_NOTIFY_H

/*
 * Sends a state as in sd_notify(3) ("READY=1", "STOPPING=1") to the service manager, if one started
 * this program and asked for it. Failures are ignored: nothing depends on it.
 */
void notify_manager(const char *state);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_SIM_LAUNCH_H
#define CULPRIT_SIM_LAUNCH_H

#include <sys/types.h>
#include "util/diag.h"

/*
 * Starts a program under qemu's emulation of a user process, with our plugin, which tells the trace
 * what it does. Refused, with the reason: no qemu, no plugin, what is no x86-64 program.
 */
#define LAUNCH_PATH 4096

/* What runs: found along PATH, as a shell does; scripts are not programs. -ENOENT, -ENOEXEC. */
int launch_find(const char *name, char out[LAUNCH_PATH], struct diag *diag);
/* trace: the path that the plugin opens. argv[0] is what launch_find() was given. 0 and the process
 * (the caller waits for it), or a negative errno. */
int launch(const char *program, char *const *argv, const char *trace, pid_t *ret,
	   struct diag *diag);

#endif

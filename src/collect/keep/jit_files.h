/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_KEEP_JIT_FILES_H
#define CULPRIT_COLLECT_KEEP_JIT_FILES_H

#include "collect/process/process.h"

/*
 * The files in which a process says what code it made at run time: its perf map, and its jitdump
 * file where one was mapped.
 */
struct jit_files {
	int held_end; /* descriptors that are held are below it; 0: none yet */
};

/* Holds those of a process open, as far as there are any, while it lives: what only it can see is
 * gone with it. Cheap, however often. */
void jit_files_hold(struct jit_files *j, struct process *life);
/* New descriptors of both, the caller's; one that cannot be had (any more) is negative, one that
 * the process never had stays as it is. */
void jit_files_open(const struct process *life, int *ret_map, int *ret_dump);

#endif

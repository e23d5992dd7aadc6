/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_HOST_HOST_H
#define CULPRIT_COLLECT_HOST_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "util/diag.h"

/*
 * What the files of /proc and /sys say about this machine. root is "" for the real one; tests put a
 * tree of files under a directory and name that.
 */

/* A small file's text without trailing white space: its length, or a negative errno. */
long host_read_text(const char *root, const char *path, char *out, size_t room);
/* A file that holds one number: 0 or a negative errno (-EINVAL when it is not a number). */
int host_read_number(const char *root, const char *path, long long *ret);
bool host_exists(const char *root, const char *path);
/* True when the processor says that it runs under a hypervisor. */
bool host_is_virtual(const char *root);
/* True when the kernel found hardware counters of the processor's cores. */
bool host_has_core_pmu(const char *root);
/* Whether a kernel-style list of CPUs ("0-3,8,10-11") holds a CPU. */
bool host_list_has_cpu(const char *list, int cpu);
bool host_cpu_is_online(const char *root, int cpu);
/* How long all CPUs together were idle since the boot; 0 where the kernel does not say. */
uint64_t host_idle_ns(const char *root);
/* Interrupts that all CPUs together took since the boot, timers' too; likewise. */
uint64_t host_interrupts(const char *root);
/* The first online CPU that a list holds (NULL: any); -ENODEV when there is none. */
int host_first_cpu(const char *root, const char *list);

/*
 * Whether processes have the numbers here that the kernel's own programs see: 0; -EOPNOTSUPP in a
 * PID namespace of a container; -ENOENT when there is no /proc to identify processes.
 */
int host_check_pids(const char *root, struct diag *diag);

/* The path of the running program, for commands that change its rights. Returns out. */
const char *host_program_path(char *out, size_t room);

#endif

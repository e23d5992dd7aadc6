/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_PROCESS_PROCFS_H
#define CULPRIT_COLLECT_PROCESS_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "collect/process/files.h"
#include "util/diag.h"

/* What /proc says of processes. All functions: -ENOENT or -ESRCH when the process is gone. */

struct procfs_status {
	pid_t parent;
	bool is_kernel; /* a thread of the kernel */
	char comm[64];
	size_t comm_size;
};

struct procfs_mapping {
	uint64_t start, end, file_offset;
	struct file_name name; /* path as /proc prints it, escapes undone; valid in the call only */
};

int procfs_each_process(void (*f)(void *arg, pid_t pid), void *arg, struct diag *diag);
int procfs_read_status(pid_t pid, struct procfs_status *ret);
/* Each executable mapping, out of at most this many (before Linux 6.11, of any kind): -E2BIG where
 * there are more. */
#define PROCFS_MAPPINGS_MAX 131072
int procfs_each_mapping(pid_t pid, void (*f)(void *arg, const struct procfs_mapping *m), void *arg);
/* Parses one line of /proc/PID/maps, which it may change. 0, -ENOMSG: not executable, -EBADMSG. */
int procfs_parse_mapping(char *line, struct procfs_mapping *ret);

/*
 * The cgroup of a process: of the unified hierarchy if it is in a group there, else the deepest
 * path of the older ones. free() the result. NULL when the process is gone.
 */
char *procfs_read_cgroup(pid_t pid);
/* Picks it from the text of /proc/PID/cgroup. */
char *procfs_parse_cgroup(const char *text);

/* The user who runs the process (the real one, whatever it has become). */
int procfs_read_user(pid_t pid, uid_t *ret);

/* The process that a thread belongs to; 0 when neither is there. */
pid_t procfs_process_of(pid_t tid);

/* The process's number in its innermost PID namespace; pid itself when that is not known. */
pid_t procfs_inner_pid(pid_t pid);

#endif

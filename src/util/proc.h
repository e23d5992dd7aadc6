/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_PROC_H
#define CULPRIT_UTIL_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Parsers of what /proc tells of processes and threads. */

/* A line of /proc/PID/maps. */
struct proc_mapping {
	uint64_t start, end, offset, inode;
	uint32_t device_major, device_minor; /* 0:0 with inode 0: not a file */
	bool readable, writable, executable, private;
	const char *path; /* points into the line, unescaped; "" where there is none */
	size_t path_size;
};

/* Parses such a line, with or without its newline, and changes it in place. 0 or -EBADMSG. */
int proc_parse_mapping(char *line, struct proc_mapping *ret);

/*
 * The value of `key:` in /proc/PID/status or, where tid is not 0, in that of one of the process's
 * threads. The caller frees it. NULL when the process is gone or there is no such line.
 */
char *proc_read_status(pid_t pid, pid_t tid, const char *key);

/* From /proc/PID/stat, in clock ticks (sysconf(_SC_CLK_TCK) a second). */
struct proc_stat {
	uint64_t start_ticks;	 /* since boot; identifies the process, with its PID */
	uint64_t children_ticks; /* processor time of children waited for */
	unsigned flags;		 /* the kernel's PF_ ones */
};
/* Of a process, or a thread. 0; -ENOENT or -ESRCH when it is gone; -EBADMSG; or why the file could
 * not be read. */
int proc_read_stat(pid_t pid, struct proc_stat *ret);

#endif

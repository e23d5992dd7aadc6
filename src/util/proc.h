/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_PROC_H
#define CULPRIT_UTIL_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How /proc writes what it says of processes and threads. */

/* A line of /proc/PID/maps. */
struct proc_mapping {
	uint64_t start, end, offset, inode;
	uint32_t device_major, device_minor; /* 0:0, and inode 0: no file */
	bool readable, writable, executable, private;
	const char *path; /* in the line, its escapes undone; "" for none */
	size_t path_size;
};

/* Parses such a line, with or without its newline, and changes it. 0, -EBADMSG. */
int proc_parse_mapping(char *line, struct proc_mapping *ret);

/*
 * What follows `key:` and space in /proc/PID/status, or, where tid is not 0, that of one of the
 * process's threads; free() it. NULL: it is gone, or has no such line.
 */
char *proc_read_status(pid_t pid, pid_t tid, const char *key);

/* Of /proc/PID/stat, in ticks of sysconf(_SC_CLK_TCK). */
struct proc_stat {
	uint64_t start_ticks;	 /* since the machine's start: with its number a process is known by
				    that */
	uint64_t children_ticks; /* of the processor, by children that have ended and their own */
	unsigned flags;		 /* the kernel's PF_ ones */
};
/* Of a process, or a thread. 0, -ENOENT or -ESRCH when it is gone, -EBADMSG. */
int proc_read_stat(pid_t pid, struct proc_stat *ret);

#endif

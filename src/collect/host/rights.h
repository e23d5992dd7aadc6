/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_HOST_RIGHTS_H
#define CULPRIT_COLLECT_HOST_RIGHTS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/types.h>
#include "util/diag.h"

/*
 * The capabilities of a long-running collector. Some kernels (Debian's and Ubuntu's, with their
 * kernel.perf_event_paranoid above 2) open no event without CAP_SYS_ADMIN, which is all but root;
 * once the events are open nothing needs it. So a daemon may be started with it, and gives it away
 * for good before it looks at anything that another user has made.
 */

/* What is of use all the time. */
#define RIGHTS_LEAST 6
struct rights_capability {
	int number;
	const char *name; /* "cap_bpf" */
	const char *use;  /* "load the in-kernel program" */
	bool by_file;	  /* of use as a capability of the program's file too: see rights_begin */
};
extern const struct rights_capability rights_least[RIGHTS_LEAST];

enum rights_stage {
	RIGHTS_TO_OPEN, /* and CAP_SYS_ADMIN, for rights_open_event only, if this kernel wants it */
	RIGHTS_TO_RUN,	/* no more than rights_least */
};

/*
 * For the start of a command, before it opens anything: what the program's file has given to
 * everyone who runs it (getauxval(3) AT_SECURE) is given up. A set-user-ID or set-group-ID program
 * becomes its caller for good. Of the capabilities of a file (setcap) nothing stays when samples is
 * false; else only what opens no file that the caller may not read: CAP_BPF, CAP_PERFMON and
 * CAP_SYSLOG in use, and, permitted but not in use, CAP_SYS_PTRACE for rights_open_maps alone and,
 * until rights_settle, CAP_SYS_ADMIN for rights_open_event alone. Does nothing to rights that the
 * caller has himself: root's, a service's. May be called again, to give up what is left. Removes
 * $DEBUGINFOD_URLS while something is left: network libraries get none of it.
 */
int rights_begin(bool samples, struct diag *diag);
/*
 * For a process that reads foreign files, and executes image workers, for its parent: root becomes
 * nobody. Of all capabilities only CAP_DAC_READ_SEARCH stays, if it is held, and nothing gives
 * others back.
 */
int rights_keep_reading(struct diag *diag);
/* The last event is open: what the file gave for that alone is given up. */
int rights_settle(struct diag *diag);

/* Whether kernel.perf_event_paranoid is so high that events want CAP_SYS_ADMIN. root: host.h. */
bool rights_want_admin(const char *root);

/*
 * Gives up every capability of this thread but those of the stage, in all sets: none stays
 * inheritable or ambient, and where CAP_SETPCAP is held none in the bounding set. For the only
 * thread, so that later ones have no more. Root stays as it is: what it gives up, the files that it
 * executes give back.
 */
int rights_limit(const char *root, enum rights_stage stage, struct diag *diag);

/*
 * perf_event_open, with CAP_SYS_ADMIN for the time of the call where it is refused without and
 * rights_limit has kept it. The descriptor, closed by an exec, or a negative errno.
 */
int rights_open_event(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd);

/*
 * Opens /proc/PID/maps to be read, with CAP_SYS_PTRACE for the time of the call where it is refused
 * without and rights_begin has kept it: names and addresses, which the kernel's records of mappings
 * also have, but never what they lead to. The descriptor, closed by an exec, or a negative errno.
 */
int rights_open_maps(pid_t pid);

#endif

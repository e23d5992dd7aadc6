/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_HOST_CPUS_H
#define CULPRIT_COLLECT_HOST_CPUS_H

#include "util/diag.h"

#define CPUS_MAX 8192 /* the kernel's own limit */

struct cpu_list {
	unsigned count;
	unsigned short number[CPUS_MAX]; /* ascending */
};

/* Parses the kernel's list form, "0-3,8". -EINVAL when it is not one. */
int cpus_parse(const char *text, struct cpu_list *ret);
/* The CPUs that are online now. */
int cpus_read_online(struct cpu_list *ret, struct diag *diag);

#endif

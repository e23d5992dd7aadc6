/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_SUBJECT_H
#define CULPRIT_COLLECT_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collect/process.h"
#include "util/diag.h"

/*
 * Whom samples are charged to: command name always, cgroup and container where there is one, the
 * process on request, and the user's labels.
 */
#define SUBJECT_LABELS_MAX   32
#define SUBJECT_LABELS_BYTES 2048 /* of all, so that there is room for the rest of a subject */

struct subject_labels {
	char *key[SUBJECT_LABELS_MAX]; /* with the "label." before it */
	char *value[SUBJECT_LABELS_MAX];
	size_t count;
	uint64_t version; /* grows with each change: subjects made before are stale */
};

/* Adds, replaces, or with an empty value removes a label given as "key=value". -EINVAL, -ENOSPC. */
int subject_labels_set(struct subject_labels *l, const char *text, struct diag *diag);
void subject_labels_free(struct subject_labels *l); /* what it owns */

/* The canonical subject of a life of a process, made once and kept in it. 0, 1 when it is made
 * without the cgroup, whose name is too long, or -ENOMEM. */
int subject_of(struct process *life, bool with_pid, const struct subject_labels *labels);

/* The container's id in a cgroup path: the last part that holds 64 hex digits. 0 size when none. */
size_t subject_container(const char *cgroup, const char **ret);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_PROCESS_SUBJECT_H
#define CULPRIT_COLLECT_PROCESS_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "bpf/wire.h"
#include "collect/process/process.h"
#include "util/diag.h"
#include "util/identity.h"

/*
 * Whom samples are charged to: command name always, the thread's where it has another, cgroup and
 * container where there is one, the process on request, and the user's labels.
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

/* Names of threads of one life. */
#define SUBJECT_THREADS_MAX 64

/* A name that threads of a life have and the life itself has not. */
struct thread_subject {
	char name[WIRE_NAME_BYTES + 1];
	uint32_t batch_number, index; /* of the subject that includes it */
};

/* The number of a thread's name in its life, from 1 on; 0: it is the life's own, or empty; -ENOSPC,
 * -ENOMEM: no room for another. */
long subject_thread(struct process *life, const struct wire_name *name);
/* The subject of a life's threads whose name has that number, which is not 0. Its size, or a
 * negative errno. */
long subject_of_thread(const struct process *life, uint32_t thread, bool with_pid,
		       const struct subject_labels *labels, char ret[SUBJECT_MAX_BYTES]);
/* What was made for a life is void: its name or the labels have changed. */
void subject_forget(struct process *life);
/* Frees what subject_...() keep in a life. */
void subject_free(struct process *life);

/* The container's id in a cgroup path: the last part that holds 64 hex digits. 0 size when none. */
size_t subject_container(const char *cgroup, const char **ret);

#endif

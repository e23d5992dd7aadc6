/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/subject.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/procfs.h"
#include "util/identity.h"

#define LABEL_MAX     256
#define CONTAINER_HEX 64

int subject_labels_set(struct subject_labels *l, const char *text, struct diag *diag)
{
	const char *equals = strchr(text, '=');
	size_t i, key_size = equals ? (size_t)(equals - text) : 0;
	char *key, *value;

	if (key_size == 0 || key_size > LABEL_MAX || strlen(equals + 1) > LABEL_MAX)
		return diag_fail(diag, EINVAL,
				 "label '%s' is not KEY=VALUE with at most %d bytes each", text,
				 LABEL_MAX);
	if (asprintf(&key, "label.%.*s", (int)key_size, text) < 0)
		return diag_fail(diag, ENOMEM, "out of memory");
	for (i = 0; i < l->count && strcmp(l->key[i], key); i++)
		;
	value = strdup(equals + 1);
	if (!value || i == SUBJECT_LABELS_MAX) {
		free(key);
		free(value);
		return diag_fail(diag, ENOSPC, "more than %d labels", SUBJECT_LABELS_MAX);
	}
	l->version++;
	if (i == l->count) {
		l->key[l->count++] = key;
	} else {
		free(key);
		free(l->value[i]);
	}
	l->value[i] = value;
	if (*value == 0) {
		free(l->key[i]);
		free(value);
		l->count--;
		l->key[i] = l->key[l->count];
		l->value[i] = l->value[l->count];
	}
	return 0;
}

void subject_labels_free(struct subject_labels *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free(l->key[i]);
		free(l->value[i]);
	}
	l->count = 0;
}

size_t subject_container(const char *cgroup, const char **ret)
{
	size_t found = 0, run = 0;

	for (const char *p = cgroup;; p++) {
		if (isxdigit((unsigned char)*p)) {
			run++;
			continue;
		}
		if (run == CONTAINER_HEX) {
			*ret = p - run;
			found = run;
		}
		run = 0;
		if (!*p)
			return found;
	}
}

static void add(struct subject_pair *pairs, size_t *count, const char *key, const char *value,
		size_t value_size)
{
	pairs[(*count)++] = (struct subject_pair){
		.key = key, .key_size = strlen(key), .value = value, .value_size = value_size};
}

int subject_of(struct process *life, bool with_pid, const struct subject_labels *labels)
{
	struct subject_pair pairs[SUBJECT_LABELS_MAX + 4];
	char pid[16], bytes[SUBJECT_MAX_BYTES];
	const char *container;
	size_t count = 0, size;
	long total;

	if (life->subject)
		return 0;
	/* Usually inherited, and the kernel tells when it changes. */
	if (!life->cgroup)
		life->cgroup = procfs_read_cgroup(life->pid);
	add(pairs, &count, "comm", life->comm, life->comm_size);
	if (life->cgroup && strcmp(life->cgroup, "/")) {
		add(pairs, &count, "cgroup", life->cgroup, strlen(life->cgroup));
		size = subject_container(life->cgroup, &container);
		if (size)
			add(pairs, &count, "container", container, size);
	}
	if (with_pid)
		add(pairs, &count, "pid", pid,
		    (size_t)snprintf(pid, sizeof(pid), "%d", (int)life->pid));
	for (size_t i = 0; i < labels->count; i++)
		add(pairs, &count, labels->key[i], labels->value[i], strlen(labels->value[i]));
	total = subject_build(pairs, count, bytes, sizeof(bytes));
	if (total == -EFBIG) {
		/* Labels and a very long cgroup together: the command name must stay. */
		count = 0;
		add(pairs, &count, "comm", life->comm, life->comm_size);
		total = subject_build(pairs, count, bytes, sizeof(bytes));
	}
	if (total < 0)
		return (int)total;
	free(life->subject);
	life->subject = malloc((size_t)total ?: 1);
	if (!life->subject)
		return -ENOMEM;
	memcpy(life->subject, bytes, (size_t)total);
	life->subject_size = (size_t)total;
	life->subject_number = 0;
	memset(life->memo, 0, sizeof(life->memo));
	return 0;
}

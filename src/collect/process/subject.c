/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/process/subject.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/process/procfs.h"
#include "util/array.h"

#define LABEL_MAX     256
#define CONTAINER_HEX 64

/* Bytes of all but one. */
static size_t labels_size(const struct subject_labels *l, size_t without)
{
	size_t size = 0;

	for (size_t i = 0; i < l->count; i++)
		if (i != without)
			size += strlen(l->key[i]) + strlen(l->value[i]);
	return size;
}

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
	if (!value || i == SUBJECT_LABELS_MAX ||
	    labels_size(l, i) + strlen(key) + strlen(equals + 1) > SUBJECT_LABELS_BYTES) {
		free(key);
		free(value);
		return diag_fail(diag, ENOSPC, "more than %d labels, or %d bytes of them",
				 SUBJECT_LABELS_MAX, SUBJECT_LABELS_BYTES);
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

/* What a process, or its threads of a name, are charged to; as subject_build. */
static long build_with(const struct process *life, const char *thread, const char *cgroup,
		       const char *pid, const struct subject_labels *labels,
		       char bytes[SUBJECT_MAX_BYTES])
{
	struct subject_pair pairs[SUBJECT_LABELS_MAX + 5];
	const char *container;
	size_t count = 0, size;

	add(pairs, &count, "comm", life->comm, life->comm_size);
	if (thread)
		add(pairs, &count, "thread", thread, strlen(thread));
	if (cgroup)
		add(pairs, &count, "cgroup", cgroup, strlen(cgroup));
	size = life->cgroup ? subject_container(life->cgroup, &container) : 0;
	if (size)
		add(pairs, &count, "container", container, size);
	if (pid)
		add(pairs, &count, "pid", pid, strlen(pid));
	for (size_t i = 0; i < labels->count; i++)
		add(pairs, &count, labels->key[i], labels->value[i], strlen(labels->value[i]));
	return subject_build(pairs, count, bytes, SUBJECT_MAX_BYTES);
}

/* Without the cgroup where its name is too long, which sets *ret_too_long. */
static long build(const struct process *life, const char *thread, bool with_pid,
		  const struct subject_labels *labels, char bytes[SUBJECT_MAX_BYTES],
		  bool *ret_too_long)
{
	const char *cgroup = life->cgroup && strcmp(life->cgroup, "/") ? life->cgroup : NULL;
	char pid[16];
	long total;

	snprintf(pid, sizeof(pid), "%d", (int)life->pid);
	total = build_with(life, thread, cgroup, with_pid ? pid : NULL, labels, bytes);
	*ret_too_long = total == -EFBIG;
	if (*ret_too_long)
		total = build_with(life, thread, NULL, with_pid ? pid : NULL, labels, bytes);
	return total;
}

int subject_of(struct process *life, bool with_pid, const struct subject_labels *labels)
{
	char bytes[SUBJECT_MAX_BYTES];
	bool too_long;
	long total;

	if (life->subject)
		return 0;
	/* Usually inherited, and the kernel tells when it changes. */
	if (!life->cgroup)
		life->cgroup = procfs_read_cgroup(life->pid);
	total = build(life, NULL, with_pid, labels, bytes, &too_long);
	if (total < 0)
		return (int)total;
	life->subject = malloc((size_t)total ?: 1);
	if (!life->subject)
		return -ENOMEM;
	memcpy(life->subject, bytes, (size_t)total);
	life->subject_size = (size_t)total;
	life->subject_number = 0;
	memset(life->memo, 0, sizeof(life->memo));
	return too_long;
}

long subject_thread(struct process *life, const struct wire_name *name)
{
	char text[WIRE_NAME_BYTES + 1] = "";
	size_t size = strnlen((const char *)name->half, WIRE_NAME_BYTES);

	memcpy(text, name->half, size);
	if (!size || (size == life->comm_size && !memcmp(text, life->comm, size)))
		return 0;
	for (uint32_t i = 0; i < life->thread_count; i++)
		if (!strcmp(life->threads[i].name, text))
			return i + 1;
	if (life->thread_count == SUBJECT_THREADS_MAX)
		return -ENOSPC;
	if (array_grow_short(&life->threads, life->thread_count, sizeof(*life->threads)))
		return -ENOMEM;
	life->threads[life->thread_count] = (struct thread_subject){.batch_number = 0};
	memcpy(life->threads[life->thread_count].name, text, sizeof(text));
	return ++life->thread_count;
}

long subject_of_thread(const struct process *life, uint32_t thread, bool with_pid,
		       const struct subject_labels *labels, char ret[SUBJECT_MAX_BYTES])
{
	bool too_long;

	return build(life, life->threads[thread - 1].name, with_pid, labels, ret, &too_long);
}

void subject_forget(struct process *life)
{
	free(life->subject);
	life->subject = NULL;
	life->subject_number = 0;
	for (uint32_t i = 0; i < life->thread_count; i++)
		life->threads[i].batch_number = 0;
	memset(life->memo, 0, sizeof(life->memo));
}

void subject_free(struct process *life)
{
	free(life->subject);
	free(life->threads);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/descendants.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/hash.h"

#define FOUND_MAX   262144
#define FOUND_FIRST 64

enum { ROOT, FOUND };

struct descendants {
	struct processes *processes;
	struct map64 *members; /* PID -> which of the above */
	pid_t *found;
	size_t count, room, taken; /* of found: the first so many were handed out */
	int error;
};

struct descendants *descendants_new(struct processes *processes, const pid_t *roots, size_t count)
{
	struct descendants *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->processes = processes;
	d->members = map64_new(FOUND_MAX);
	for (size_t i = 0; d->members && i < count; i++)
		if (map64_put(d->members, (uint64_t)roots[i], ROOT))
			d->error = -ENOMEM;
	if (d->members && !d->error)
		return d;
	descendants_free(d);
	return NULL;
}

void descendants_free(struct descendants *d)
{
	if (!d)
		return;
	map64_free(d->members);
	free(d->found);
	free(d);
}

static bool is_member(const struct descendants *d, pid_t pid)
{
	uint64_t kind;

	return pid > 0 && map64_get(d->members, (uint64_t)pid, &kind) == 0;
}

/* Also of lives that are over: whoever they forked may go on. */
static void look_at(void *arg, struct process *life)
{
	struct descendants *d = arg;

	if (d->error || !is_member(d, life->parent) || is_member(d, life->pid))
		return;
	if (array_grow(&d->found, d->count, &d->room, sizeof(*d->found), FOUND_FIRST) < 0)
		d->error = -ENOMEM;
	else
		d->error = map64_put(d->members, (uint64_t)life->pid, FOUND);
	if (!d->error)
		d->found[d->count++] = life->pid;
}

int descendants_find(struct descendants *d, int (*take)(void *arg, pid_t pid), void *arg)
{
	size_t before;

	/* In no order: once for each generation, at most. */
	do {
		before = d->count;
		processes_each(d->processes, look_at, d);
	} while (d->count > before && !d->error);
	while (d->taken < d->count && !d->error)
		d->error = take(arg, d->found[d->taken++]);
	return d->error;
}

size_t descendants_count(const struct descendants *d)
{
	return d->count;
}

void descendants_ended(struct descendants *d, void (*drop)(void *arg, pid_t pid), void *arg)
{
	for (size_t i = 0; i < d->count; i++) {
		pid_t pid = d->found[i];
		struct process *newest = processes_newest(d->processes, pid);

		if ((kill(pid, 0) && errno == ESRCH) || !newest || !is_member(d, newest->parent))
			drop(arg, pid);
	}
}

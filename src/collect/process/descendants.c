/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/process/descendants.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/hash.h"
#include "util/num.h"
#include "util/search.h"

#define FOUND_MAX  262144
#define LIST_FIRST 64

struct descendants {
	struct processes *processes;
	struct map64 *members;		  /* PIDs of the list */
	pid_t *list;			  /* the roots, then who was found */
	size_t roots, count, room, taken; /* taken: the first so many were handed out */
	int error;
};

static bool is_member(const struct descendants *d, pid_t pid)
{
	uint64_t kind;

	return pid > 0 && map64_get(d->members, (uint64_t)pid, &kind) == 0;
}

static int add(struct descendants *d, pid_t pid)
{
	if (array_grow(&d->list, d->count, &d->room, sizeof(*d->list), LIST_FIRST) < 0 ||
	    map64_put(d->members, (uint64_t)pid, 0))
		return -ENOMEM;
	d->list[d->count++] = pid;
	return 0;
}

struct descendants *descendants_new(struct processes *processes, const pid_t *roots, size_t count)
{
	struct descendants *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->processes = processes;
	d->members = map64_new(FOUND_MAX);
	for (size_t i = 0; d->members && i < count && !d->error; i++)
		d->error = is_member(d, roots[i]) ? 0 : add(d, roots[i]);
	d->roots = d->taken = d->count;
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
	free(d->list);
	free(d);
}

struct birth {
	pid_t parent, pid;
};

struct births {
	struct birth *list;
	size_t count, room;
	const struct descendants *of;
	int error;
};

/* Also of lives that are over: whoever they forked may go on. */
static void note_birth(void *arg, struct process *life)
{
	struct births *b = arg;

	if (b->error || life->parent <= 0 || is_member(b->of, life->pid))
		return;
	b->error = array_grow(&b->list, b->count, &b->room, sizeof(*b->list), LIST_FIRST);
	if (!b->error)
		b->list[b->count++] = (struct birth){life->parent, life->pid};
}

static int compare_births(const void *a, const void *b)
{
	const struct birth *x = a, *y = b;

	return NUM_ORDER(x->parent, y->parent);
}

/* Each once, after who had it: a chain of thousands is as quick as as many side by side. */
static int find(struct descendants *d, const struct births *b)
{
	for (size_t i = 0; i < d->count; i++) {
		size_t at = SEARCH_FIRST(b->count, n, b->list[n].parent >= d->list[i]);

		for (; at < b->count && b->list[at].parent == d->list[i]; at++)
			if (!is_member(d, b->list[at].pid) && add(d, b->list[at].pid))
				return -ENOMEM;
	}
	return 0;
}

int descendants_find(struct descendants *d, int (*take)(void *arg, pid_t pid), void *arg)
{
	struct births b = {.of = d};

	processes_each(d->processes, note_birth, &b);
	array_sort(b.list, b.count, sizeof(*b.list), compare_births);
	if (!d->error)
		d->error = b.error ? -ENOMEM : find(d, &b);
	free(b.list);
	while (d->taken < d->count && !d->error)
		d->error = take(arg, d->list[d->taken++]);
	return d->error;
}

size_t descendants_count(const struct descendants *d)
{
	return d->count - d->roots;
}

void descendants_ended(struct descendants *d, void (*drop)(void *arg, pid_t pid), void *arg)
{
	for (size_t i = d->roots; i < d->count; i++) {
		pid_t pid = d->list[i];
		struct process *newest = processes_newest(d->processes, pid);

		if ((kill(pid, 0) && errno == ESRCH) || !newest || !is_member(d, newest->parent))
			drop(arg, pid);
	}
}

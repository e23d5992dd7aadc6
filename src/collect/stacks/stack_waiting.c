/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/stacks/stack_waiting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "collect/stacks/unwinder.h"

/* One that goes through more files than this has tables taken away by others that wait. */
#define TIMES_MAX 128

struct waiting {
	struct waiting *next;
	size_t size;
	uint64_t time_ns;
	uint32_t slot, times;
	uint8_t packed[]; /* the snapshot without the pages and the frames that it does not have */
};

struct stack_waiting {
	stack_waiting_go_on *go_on;
	stack_waiting_is_pending *is_pending;
	void *arg;
	size_t max_bytes, bytes, count;
	struct waiting *first, **last;
	struct wire_snapshot plain; /* what is gone on with */
};

struct stack_waiting *stack_waiting_new(size_t max_bytes, stack_waiting_go_on *go_on,
					stack_waiting_is_pending *is_pending, void *arg)
{
	struct stack_waiting *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->max_bytes = max_bytes;
	w->go_on = go_on;
	w->is_pending = is_pending;
	w->arg = arg;
	w->last = &w->first;
	return w;
}

static struct waiting *remove_first(struct stack_waiting *w)
{
	struct waiting *one = w->first;

	w->first = one->next;
	if (!w->first)
		w->last = &w->first;
	w->bytes -= one->size;
	w->count--;
	return one;
}

static void append(struct stack_waiting *w, struct waiting *one)
{
	one->next = NULL;
	*w->last = one;
	w->last = &one->next;
	w->bytes += one->size;
	w->count++;
}

void stack_waiting_free(struct stack_waiting *w)
{
	if (!w)
		return;
	while (w->first)
		free(remove_first(w));
	free(w);
}

static struct waiting *pack(const struct wire_snapshot *s)
{
	const size_t head = offsetof(struct wire_snapshot, stack);
	size_t bytes = s->bytes, frames = unwinder_stack_bytes(&s->stack);
	struct waiting *one = malloc(sizeof(*one) + head + bytes + frames);

	if (!one)
		return NULL;
	one->size = sizeof(*one) + head + bytes + frames;
	one->time_ns = s->stack.time_ns;
	memcpy(one->packed, s, head);
	memcpy(one->packed + head, s->page, bytes);
	memcpy(one->packed + head + bytes, &s->stack, frames);
	return one;
}

static void unpack(const struct waiting *one, struct wire_snapshot *ret)
{
	const size_t head = offsetof(struct wire_snapshot, stack);
	size_t rest = one->size - sizeof(*one) - head;

	memcpy(ret, one->packed, head);
	memcpy(ret->page, one->packed + head, ret->bytes);
	memcpy(&ret->stack, one->packed + head + ret->bytes, rest - ret->bytes);
}

/* Takes it out of the list over. */
static void go_on(struct stack_waiting *w, struct waiting *one, bool must_end)
{
	must_end |= ++one->times >= TIMES_MAX;
	unpack(one, &w->plain);
	one->slot = w->go_on(w->arg, &w->plain, must_end);
	if (one->slot && !must_end)
		append(w, one);
	else
		free(one);
}

int stack_waiting_add(struct stack_waiting *w, const struct wire_snapshot *snapshot, uint32_t slot)
{
	struct waiting *one = pack(snapshot);

	if (!one)
		return -ENOMEM;
	one->slot = slot;
	one->times = 0;
	append(w, one);
	while (w->bytes > w->max_bytes)
		go_on(w, remove_first(w), true);
	return 0;
}

void stack_waiting_retry(struct stack_waiting *w)
{
	for (size_t left = w->count; left--;) {
		struct waiting *one = remove_first(w);

		if (w->is_pending(w->arg, one->slot))
			append(w, one);
		else
			go_on(w, one, false);
	}
}

void stack_waiting_end_before(struct stack_waiting *w, uint64_t time_ns)
{
	for (size_t left = w->count; left--;) {
		struct waiting *one = remove_first(w);

		if (one->time_ns < time_ns)
			go_on(w, one, true);
		else
			append(w, one);
	}
}

void stack_waiting_end(struct stack_waiting *w)
{
	while (w->first)
		go_on(w, remove_first(w), true);
}

size_t stack_waiting_count(const struct stack_waiting *w)
{
	return w->count;
}

uint64_t stack_waiting_oldest_ns(const struct stack_waiting *w)
{
	uint64_t oldest = UINT64_MAX;

	for (const struct waiting *one = w->first; one; one = one->next)
		oldest = one->time_ns < oldest ? one->time_ns : oldest;
	return oldest;
}

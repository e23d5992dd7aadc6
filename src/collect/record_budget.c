/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/record_budget.h"

#include <stdlib.h>

#include "util/hash.h"

#define PROCESSES_MAX 65536 /* that are counted in an interval; those past it are taken */
#define NOISY_MAX     256   /* that are told of; one past it is known by its counter alone */

struct record_budget {
	struct map64 *taken; /* PID -> records in this interval */
	uint64_t begun_ns;
	struct noisy {
		pid_t pid;
		bool now; /* in this interval */
		uint64_t left_out;
	} noisy[NOISY_MAX];
	size_t noisy_count;
};

struct record_budget *record_budget_new(void)
{
	struct record_budget *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->taken = map64_new(PROCESSES_MAX);
	if (b->taken)
		return b;
	free(b);
	return NULL;
}

void record_budget_free(struct record_budget *b)
{
	if (!b)
		return;
	map64_free(b->taken);
	free(b);
}

/* A new interval, if it is time. */
static void turn(struct record_budget *b, uint64_t now_ns)
{
	struct map64 *none;

	if (now_ns - b->begun_ns < RECORD_BUDGET_NS)
		return;
	b->begun_ns = now_ns;
	for (size_t i = 0; i < b->noisy_count; i++)
		b->noisy[i].now = false;
	none = map64_count(b->taken) ? map64_new(PROCESSES_MAX) : NULL;
	if (!none)
		return;
	map64_free(b->taken);
	b->taken = none;
}

static void leave_out(struct record_budget *b, pid_t pid)
{
	size_t i = 0;

	while (i < b->noisy_count && b->noisy[i].pid != pid)
		i++;
	if (i == NOISY_MAX)
		i = 0;
	else if (i == b->noisy_count)
		b->noisy[b->noisy_count++] = (struct noisy){.pid = pid};
	b->noisy[i].now = true;
	b->noisy[i].left_out++;
}

bool record_budget_take(struct record_budget *b, pid_t pid, uint64_t now_ns)
{
	uint64_t count = 0;

	turn(b, now_ns);
	map64_get(b->taken, (uint32_t)pid, &count);
	if (count >= RECORD_BUDGET) {
		leave_out(b, pid);
		return false;
	}
	map64_put(b->taken, (uint32_t)pid, count + 1);
	return true;
}

bool record_budget_calmed(struct record_budget *b, uint64_t now_ns, pid_t *ret_pid,
			  uint64_t *ret_left_out)
{
	turn(b, now_ns);
	for (size_t i = 0; i < b->noisy_count; i++) {
		if (b->noisy[i].now)
			continue;
		*ret_pid = b->noisy[i].pid;
		*ret_left_out = b->noisy[i].left_out;
		b->noisy[i] = b->noisy[--b->noisy_count];
		return true;
	}
	return false;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/process/record_budget.h"

#include <stdlib.h>

#include "collect/process/user_share.h"
#include "util/hash.h"

#define PROCESSES_MAX 65536 /* that are counted in an interval; those past it are taken */
#define NOISY_MAX     256   /* that are told of by name; those past it as one */

struct record_budget {
	struct map64 *taken; /* PID -> records in this interval */
	struct user_share *users;
	uint64_t free_left; /* in this interval, of RECORD_FREE_ALL */
	uint64_t begun_ns;
	struct noisy {
		pid_t pid;
		bool now; /* in this interval */
		uint64_t left_out;
	} noisy[NOISY_MAX], others; /* others: PID 0 */
	size_t noisy_count;
};

struct record_budget *record_budget_new(int (*read_user)(pid_t pid, uid_t *ret))
{
	struct record_budget *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->taken = map64_new(PROCESSES_MAX);
	b->users = user_share_new(read_user);
	if (b->taken && b->users)
		return b;
	record_budget_free(b);
	return NULL;
}

void record_budget_free(struct record_budget *b)
{
	if (!b)
		return;
	map64_free(b->taken);
	user_share_free(b->users);
	free(b);
}

/* A new interval, if it is time. */
static void turn(struct record_budget *b, uint64_t now_ns)
{
	if (now_ns - b->begun_ns < RECORD_BUDGET_NS)
		return;
	b->begun_ns = now_ns;
	b->free_left = RECORD_FREE_ALL;
	user_share_renew(b->users);
	for (size_t i = 0; i < b->noisy_count; i++)
		b->noisy[i].now = false;
	b->others.now = false;
	map64_clear(b->taken);
}

static void leave_out(struct record_budget *b, pid_t pid)
{
	struct noisy *n;
	size_t i = 0;

	while (i < b->noisy_count && b->noisy[i].pid != pid)
		i++;
	if (i == b->noisy_count && i < NOISY_MAX)
		b->noisy[b->noisy_count++] = (struct noisy){.pid = pid};
	n = i < NOISY_MAX ? &b->noisy[i] : &b->others;
	n->now = true;
	n->left_out++;
}

bool record_budget_take(struct record_budget *b, pid_t pid, uint64_t now_ns)
{
	uint64_t count = 0;

	turn(b, now_ns);
	map64_get(b->taken, (uint32_t)pid, &count);
	const bool is_free = count < RECORD_FREE && b->free_left;
	if (count >= RECORD_BUDGET || (!is_free && !user_share_take(b->users, pid))) {
		leave_out(b, pid);
		return false;
	}
	b->free_left -= is_free;
	map64_put(b->taken, (uint32_t)pid, count + 1);
	return true;
}

void record_budget_note_fork(struct record_budget *b, pid_t pid, pid_t parent, uint64_t now_ns)
{
	turn(b, now_ns);
	map64_remove(b->taken, (uint32_t)pid);
	user_share_note_fork(b->users, pid, parent);
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
	if (!b->others.left_out || b->others.now)
		return false;
	*ret_pid = 0;
	*ret_left_out = b->others.left_out;
	b->others.left_out = 0;
	return true;
}

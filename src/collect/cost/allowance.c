/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/cost/allowance.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#define USERS_MAX 16 /* that have an account; the last is also of all who come later */

struct account {
	uid_t user;
	double credit_ns; /* below 0: debt */
};

struct allowance {
	pthread_mutex_t lock;
	double ns_a_second, burst_ns;
	struct account accounts[USERS_MAX];
	size_t count;
	uint64_t filled_ns;
	bool lifted;
	struct allowance_totals totals;
};

struct allowance *allowance_new(double ns_a_second, double burst_ns, uint64_t now_ns)
{
	struct allowance *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	pthread_mutex_init(&a->lock, NULL);
	/* So little a second would never be had. */
	a->ns_a_second = ns_a_second > 1 ? ns_a_second : 1;
	a->burst_ns = burst_ns;
	a->filled_ns = now_ns;
	return a;
}

void allowance_free(struct allowance *a)
{
	if (!a)
		return;
	pthread_mutex_destroy(&a->lock);
	free(a);
}

static struct account *find_account(struct allowance *a, uid_t user)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->accounts[i].user == user)
			return &a->accounts[i];
	if (a->count == USERS_MAX)
		return &a->accounts[USERS_MAX - 1];
	a->accounts[a->count] = (struct account){user, a->burst_ns};
	return &a->accounts[a->count++];
}

static size_t count_unfilled(const struct allowance *a)
{
	size_t count = 0;

	for (size_t i = 0; i < a->count; i++)
		count += a->accounts[i].credit_ns < a->burst_ns;
	return count;
}

/* What one account has no room for goes to the others. Each round but the last fills one. */
static void fill(struct allowance *a, uint64_t now_ns)
{
	double income_ns, share_ns, room_ns;
	size_t unfilled;

	if (now_ns <= a->filled_ns)
		return;
	income_ns = (double)(now_ns - a->filled_ns) / 1e9 * a->ns_a_second;
	a->filled_ns = now_ns;
	for (size_t round = 0; round < USERS_MAX && (unfilled = count_unfilled(a)); round++) {
		share_ns = income_ns / (double)unfilled;
		for (size_t i = 0; i < a->count; i++) {
			room_ns = a->burst_ns - a->accounts[i].credit_ns;
			if (room_ns <= 0)
				continue;
			a->accounts[i].credit_ns += share_ns < room_ns ? share_ns : room_ns;
			income_ns -= share_ns < room_ns ? share_ns : room_ns;
		}
	}
}

void allowance_spend(struct allowance *a, uid_t user, uint64_t thread_ns, uint64_t worker_ns,
		     uint64_t now_ns)
{
	struct account *account;

	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	fill(a, now_ns);
	account = find_account(a, user);
	account->credit_ns -= (double)thread_ns + (double)worker_ns;
	a->totals.thread_ns += thread_ns;
	a->totals.worker_ns += worker_ns;
	a->totals.waits += account->credit_ns < 0 && !a->lifted;
	pthread_mutex_unlock(&a->lock);
}

uint64_t allowance_ready_ns(struct allowance *a, uid_t user, uint64_t now_ns)
{
	uint64_t ready_ns = now_ns;
	const struct account *account;

	if (!a)
		return now_ns;
	pthread_mutex_lock(&a->lock);
	fill(a, now_ns);
	account = find_account(a, user);
	if (account->credit_ns < 0 && !a->lifted)
		ready_ns += (uint64_t)(-account->credit_ns * (double)count_unfilled(a) /
				       a->ns_a_second * 1e9) +
			    1;
	pthread_mutex_unlock(&a->lock);
	return ready_ns;
}

void allowance_lift(struct allowance *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->lifted = true;
	pthread_mutex_unlock(&a->lock);
}

void allowance_read(struct allowance *a, struct allowance_totals *ret)
{
	*ret = (struct allowance_totals){0};
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	*ret = a->totals;
	pthread_mutex_unlock(&a->lock);
}

uint64_t allowance_thread_ns(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/allowance.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

struct allowance {
	pthread_mutex_t lock;
	double ns_a_second, burst_ns, credit_ns; /* credit below 0: debt */
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
	a->burst_ns = a->credit_ns = burst_ns;
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

static void fill(struct allowance *a, uint64_t now_ns)
{
	if (now_ns <= a->filled_ns)
		return;
	a->credit_ns += (double)(now_ns - a->filled_ns) / 1e9 * a->ns_a_second;
	if (a->credit_ns > a->burst_ns)
		a->credit_ns = a->burst_ns;
	a->filled_ns = now_ns;
}

void allowance_spend(struct allowance *a, uint64_t thread_ns, uint64_t worker_ns, uint64_t now_ns)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	fill(a, now_ns);
	a->credit_ns -= (double)thread_ns + (double)worker_ns;
	a->totals.thread_ns += thread_ns;
	a->totals.worker_ns += worker_ns;
	a->totals.waits += a->credit_ns < 0 && !a->lifted;
	pthread_mutex_unlock(&a->lock);
}

uint64_t allowance_ready_ns(struct allowance *a, uint64_t now_ns)
{
	uint64_t ready_ns = now_ns;

	if (!a)
		return now_ns;
	pthread_mutex_lock(&a->lock);
	fill(a, now_ns);
	if (a->credit_ns < 0 && !a->lifted)
		ready_ns += (uint64_t)(-a->credit_ns / a->ns_a_second * 1e9) + 1;
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

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/thread.h"

#include <signal.h>
#include <sys/resource.h>
#include <time.h>

int thread_start(pthread_t *ret, void *(*f)(void *arg), void *arg)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(ret, NULL, f, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

void thread_begin_condition(pthread_cond_t *c)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(c, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

void thread_hurry(void)
{
	const struct sched_param least = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};

	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &least);
}

long thread_switches(void)
{
	struct rusage u;

	return getrusage(RUSAGE_THREAD, &u) ? 0 : u.ru_nivcsw + u.ru_nvcsw;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_THREAD_H
#define CULPRIT_UTIL_THREAD_H

#include <pthread.h>

/* Starts a thread in which all signals are blocked, so that the starting thread gets them. 0 or a
 * negative errno. */
int thread_start(pthread_t *ret, void *(*f)(void *arg), void *arg);
/* Initialises a condition whose timed waits use CLOCK_MONOTONIC. */
void thread_begin_condition(pthread_cond_t *c);

/* Gives the calling thread the lowest real-time priority (SCHED_FIFO), ahead of all normal threads,
 * where that is allowed (CAP_SYS_NICE or LimitRTPRIO); otherwise does nothing. Children do not
 * inherit it. */
void thread_hurry(void);
/* How often the calling thread has lost its processor so far, of its own accord or not. */
long thread_switches(void);

#endif

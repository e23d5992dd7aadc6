/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_UTIL_THREAD_H
#define CULPRIT_UTIL_THREAD_H

#include <pthread.h>

/* A thread that gets no signals: those are for who started it. 0 or -errno. */
int thread_start(pthread_t *ret, void *(*f)(void *arg), void *arg);
/* A condition whose waits end by CLOCK_MONOTONIC. */
void thread_begin_condition(pthread_cond_t *c);

/* Ahead of all that share the processors by turns, where that is allowed (CAP_SYS_NICE, or
 * LimitRTPRIO): the calling thread alone. */
void thread_hurry(void);
/* How often the calling thread has lost its processor so far, of its own accord or not. */
long thread_switches(void);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/process/looks.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/thread.h"

#define THREADS_MAX 4
#define SLOW_NS	    500000000ull   /* looks that take longer get another thread beside them */
#define IDLE_NS	    10000000000ull /* then the worker ends: to start one takes some ms of CPU */
#define END_NS	    1000000000ull

struct looker {
	struct looks *queue;
	struct image_worker *worker;
	pthread_t thread;
	uint64_t since_ns;  /* when its look began, 0: it has none */
	uid_t user;	    /* whose that is */
	uint64_t worker_ns; /* as of its last look */
};

struct looks {
	struct image_worker_limits limits;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t more;
	struct looker looker[THREADS_MAX];
	struct turns *wanted;
	struct file_look *done, **done_end; /* the oldest first; where the next is put */
	bool stop;
	int event;
	struct looks_counters counters;
};

struct looks *looks_new(const struct image_worker_limits *limits)
{
	struct looks *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	if (limits)
		q->limits = *limits;
	q->wanted = turns_new(LOOKS_USER_MAX, LOOKS_MAX);
	q->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!q->wanted || q->event < 0) {
		if (q->event >= 0)
			close(q->event);
		turns_free(q->wanted);
		free(q);
		return NULL;
	}
	pthread_mutex_init(&q->lock, NULL);
	thread_begin_condition(&q->more);
	q->done_end = &q->done;
	return q;
}

/* One look of a user at a time. */
static bool may_begin(void *arg, const struct turn *look)
{
	const struct looks *q = arg;

	for (unsigned i = 0; i < q->counters.threads; i++)
		if (q->looker[i].since_ns && q->looker[i].user == look->user)
			return false;
	return true;
}

/* Under the lock. False: no more will come. */
static bool wait_for_more(struct looks *q, struct looker *looker)
{
	uint64_t end_ns = clock_monotonic_ns() + IDLE_NS;
	struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000u),
			       .tv_nsec = (long)(end_ns % 1000000000u)};

	if (pthread_cond_timedwait(&q->more, &q->lock, &end) != ETIMEDOUT)
		return !q->stop;
	pthread_mutex_unlock(&q->lock);
	image_worker_idle(looker->worker);
	malloc_trim(0);
	pthread_mutex_lock(&q->lock);
	while (!turns_count(q->wanted) && !q->stop)
		pthread_cond_wait(&q->more, &q->lock);
	return !q->stop;
}

static void *work(void *arg)
{
	struct looker *looker = arg;
	struct looks *q = looker->queue;
	const uint64_t one = 1;
	uint64_t worker_ns;

	pthread_mutex_lock(&q->lock);
	while (!q->stop) {
		struct file_look *look = (void *)turns_take(q->wanted, may_begin, q);

		if (!look) {
			if (!wait_for_more(q, looker))
				break;
			continue;
		}
		looker->since_ns = clock_monotonic_ns();
		looker->user = look->turn.user;
		pthread_mutex_unlock(&q->lock);
		file_look(look, looker->worker);
		pthread_mutex_lock(&q->lock);
		worker_ns = image_worker_cpu_ns(looker->worker);
		q->counters.worker_ns += worker_ns - looker->worker_ns;
		looker->worker_ns = worker_ns;
		looker->since_ns = 0;
		look->next = NULL;
		*q->done_end = look;
		q->done_end = &look->next;
		/* A counter of 64 bits is never full. */
		if (write(q->event, &one, sizeof(one)) < 0)
			break;
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

/* Under the lock: another thread, if there is work and none that will do it soon. */
static void begin_thread(struct looks *q)
{
	uint64_t now = clock_monotonic_ns();
	struct looker *looker = &q->looker[q->counters.threads];

	for (unsigned i = 0; i < q->counters.threads; i++)
		if (!q->looker[i].since_ns || now - q->looker[i].since_ns < SLOW_NS)
			return;
	if (!turns_count(q->wanted) || q->counters.threads == THREADS_MAX)
		return;
	looker->queue = q;
	looker->worker = image_worker_new(&q->limits);
	if (looker->worker && thread_start(&looker->thread, work, looker) == 0)
		q->counters.threads++;
	else
		image_worker_free(looker->worker);
}

int looks_ask(struct looks *q, struct file_look *look)
{
	int r = -EAGAIN;

	pthread_mutex_lock(&q->lock);
	if (q->counters.queued < LOOKS_MAX && !turns_add(q->wanted, &look->turn)) {
		q->counters.queued++;
		begin_thread(q);
		pthread_cond_signal(&q->more);
		r = 0;
	}
	pthread_mutex_unlock(&q->lock);
	return r;
}

struct file_look *looks_take(struct looks *q)
{
	struct file_look *look;
	uint64_t count;

	pthread_mutex_lock(&q->lock);
	look = q->done;
	if (look) {
		q->done = look->next;
		q->counters.queued--;
	}
	if (!q->done)
		q->done_end = &q->done;
	/* Not readable any more, if it was. */
	if (!q->done && read(q->event, &count, sizeof(count)) < 0 && errno != EAGAIN)
		errno = 0;
	begin_thread(q);
	pthread_mutex_unlock(&q->lock);
	return look;
}

int looks_fd(const struct looks *q)
{
	return q->event;
}

void looks_count(struct looks *q, struct looks_counters *ret)
{
	pthread_mutex_lock(&q->lock);
	*ret = q->counters;
	pthread_mutex_unlock(&q->lock);
}

static void free_look(struct file_look *look)
{
	if (look->fd >= 0)
		close(look->fd);
	free(look);
}

/* False: some hang. */
static bool end_threads(struct looks *q)
{
	uint64_t end_ns = clock_monotonic_ns() + END_NS;
	struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000u),
			       .tv_nsec = (long)(end_ns % 1000000000u)};
	bool all = true;

	pthread_mutex_lock(&q->lock);
	q->stop = true;
	pthread_cond_broadcast(&q->more);
	pthread_mutex_unlock(&q->lock);
	for (unsigned i = 0; i < q->counters.threads; i++) {
		image_worker_cancel(q->looker[i].worker);
		all &= pthread_clockjoin_np(q->looker[i].thread, NULL, CLOCK_MONOTONIC, &end) == 0;
	}
	return all;
}

bool looks_free(struct looks *q)
{
	if (!q)
		return true;
	if (!end_threads(q))
		return false;
	for (unsigned i = 0; i < q->counters.threads; i++)
		image_worker_free(q->looker[i].worker);
	for (struct turn *look; (look = turns_take(q->wanted, NULL, NULL));)
		free_look((struct file_look *)look);
	for (struct file_look *look; (look = q->done);) {
		q->done = look->next;
		free_look(look);
	}
	turns_free(q->wanted);
	close(q->event);
	pthread_mutex_destroy(&q->lock);
	pthread_cond_destroy(&q->more);
	free(q);
	return true;
}

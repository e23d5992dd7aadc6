/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/stacks/unwind_maker.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "util/clock.h"
#include "util/thread.h"

#define IDLE_NS 10000000000ull /* then the worker ends: to start one takes some ms of CPU */

struct job {
	struct unwind_made made; /* first: what is given out is this */
	STAILQ_ENTRY(job) next;
	int fd;
	uid_t user; /* of the file's owner: he decides what it costs */
	unsigned tries;
	uint64_t not_before_ns;
	struct cache_key key;
	bool is_sure; /* whether the file is an interpreter: else the next recording asks again */
};

STAILQ_HEAD(list, job);

struct unwind_maker {
	struct unwind_maker_config config;
	struct image_worker *worker; /* the thread's, as is the cache */
	struct unwind_cache *cache;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t more;
	bool threaded, stop;
	uint64_t end_ns;
	int event;
	struct list wanted, done, back;
	struct unwind_maker_counters counters;
};

static struct job *remove_first(struct list *l)
{
	struct job *job = STAILQ_FIRST(l);

	if (job)
		STAILQ_REMOVE_HEAD(l, next);
	return job;
}

static void free_job(struct job *job)
{
	image_unwind_free(job->made.u);
	close(job->fd);
	free(job);
}

static void free_jobs(struct list *l)
{
	struct job *job;

	while ((job = remove_first(l)))
		free_job(job);
}

/* Whether it may go better the next time. */
static bool is_late(int r)
{
	return r == -ETIMEDOUT || r == -EAGAIN || r == -ENOMEM || r == -EMFILE || r == -ENFILE;
}

/* False: it is to be tried again. */
static bool make(struct unwind_maker *m, struct job *job)
{
	struct unwind_made *made = &job->made;
	uint64_t begin_ns = clock_monotonic_ns();
	int r = unwind_cache_read(m->cache, job->fd, &job->key, &made->u, &made->python);
	bool late;

	made->is_kept = r == 0;
	if (!made->is_kept)
		r = image_worker_unwind(m->worker, job->fd, &made->u, NULL);
	if (!made->is_kept && !is_late(r))
		r = image_worker_python(m->worker, job->fd, &made->python, NULL);
	job->is_sure = r == 0 || r == -ENOENT;
	late = is_late(r);
	made->took_ns += clock_monotonic_ns() - begin_ns;
	pthread_mutex_lock(&m->lock);
	m->counters.late += late;
	unwind_cache_count(m->cache, &m->counters.cache);
	pthread_mutex_unlock(&m->lock);
	if (!late || ++job->tries >= m->config.tries)
		return true;
	image_unwind_free(made->u);
	made->u = NULL;
	job->not_before_ns = clock_monotonic_ns() + (m->config.again_ns << (job->tries - 1));
	return false;
}

/* Takes the job over. */
static void keep(struct unwind_maker *m, struct job *job)
{
	if (job->made.u && !job->made.is_kept && job->is_sure) {
		unwind_cache_take(m->cache, job->fd, &job->key, job->made.u, &job->made.python);
		job->made.u = NULL;
		unwind_cache_write(m->cache);
		pthread_mutex_lock(&m->lock);
		unwind_cache_count(m->cache, &m->counters.cache);
		pthread_mutex_unlock(&m->lock);
	}
	free_job(job);
}

/* When it may be begun. */
static uint64_t find_time(struct unwind_maker *m, const struct job *job, uint64_t now_ns)
{
	uint64_t ready_ns = allowance_ready_ns(m->config.allowance, job->user, now_ns);

	return ready_ns > job->not_before_ns ? ready_ns : job->not_before_ns;
}

/* The first whose time has come; or NULL, and when the time of one comes. */
static struct job *find_ready(struct unwind_maker *m, struct list *l, uint64_t *ret_then_ns)
{
	uint64_t now = clock_monotonic_ns();
	struct job *job;

	STAILQ_FOREACH(job, l, next)
	{
		uint64_t time_ns = find_time(m, job, now);

		if (m->stop || time_ns <= now) {
			STAILQ_REMOVE(l, job, job, next);
			return job;
		}
		if (time_ns < *ret_then_ns)
			*ret_then_ns = time_ns;
	}
	return NULL;
}

static void wait_until(struct unwind_maker *m, uint64_t then_ns)
{
	struct timespec then = {.tv_sec = (time_t)(then_ns / 1000000000u),
				.tv_nsec = (long)(then_ns % 1000000000u)};

	if (then_ns == UINT64_MAX)
		pthread_cond_wait(&m->more, &m->lock);
	else
		pthread_cond_timedwait(&m->more, &m->lock, &then);
}

/* What is to be done next, tables before what is to be kept of them; NULL: nothing any more. */
static struct job *next_job(struct unwind_maker *m, bool *ret_is_back)
{
	uint64_t idle_ns = clock_monotonic_ns() + IDLE_NS, then_ns;
	struct job *job = NULL;

	pthread_mutex_lock(&m->lock);
	while (!m->stop || clock_monotonic_ns() < m->end_ns) {
		then_ns = idle_ns;
		job = find_ready(m, &m->wanted, &then_ns);
		*ret_is_back = !job;
		if (!job)
			job = find_ready(m, &m->back, &then_ns);
		if (job || m->stop)
			break;
		if (clock_monotonic_ns() >= idle_ns) {
			image_worker_idle(m->worker);
			malloc_trim(0);
			idle_ns = UINT64_MAX;
			continue;
		}
		wait_until(m, then_ns);
	}
	pthread_mutex_unlock(&m->lock);
	return job;
}

/* True: nobody will take it any more. */
static bool hand_out(struct unwind_maker *m, struct job *job)
{
	const uint64_t one = 1;
	bool stop;

	pthread_mutex_lock(&m->lock);
	stop = m->stop;
	/* A counter of 64 bits is never full. */
	if (!stop && write(m->event, &one, sizeof(one)) == sizeof(one))
		STAILQ_INSERT_TAIL(&m->done, job, next);
	pthread_mutex_unlock(&m->lock);
	return stop;
}

static void *work(void *arg)
{
	struct unwind_maker *m = arg;
	struct job *job;
	uint64_t thread_ns, worker_ns;
	bool is_back, made;
	uid_t user;

	while ((job = next_job(m, &is_back))) {
		user = job->user;
		thread_ns = allowance_thread_ns();
		worker_ns = image_worker_cpu_ns(m->worker);
		made = is_back || make(m, job);
		if (!made) {
			pthread_mutex_lock(&m->lock);
			STAILQ_INSERT_TAIL(&m->wanted, job, next);
			pthread_mutex_unlock(&m->lock);
		} else if (is_back || hand_out(m, job)) {
			keep(m, job);
		}
		allowance_spend(m->config.allowance, user, allowance_thread_ns() - thread_ns,
				image_worker_cpu_ns(m->worker) - worker_ns, clock_monotonic_ns());
	}
	return NULL;
}

struct unwind_maker *unwind_maker_new(const struct unwind_maker_config *config)
{
	struct unwind_maker *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->config = *config;
	m->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	m->worker = image_worker_new(&config->limits);
	if (m->event < 0 || !m->worker) {
		if (m->event >= 0)
			close(m->event);
		image_worker_free(m->worker);
		free(m);
		return NULL;
	}
	m->cache = unwind_cache_new(config->cache);
	pthread_mutex_init(&m->lock, NULL);
	thread_begin_condition(&m->more);
	STAILQ_INIT(&m->wanted);
	STAILQ_INIT(&m->done);
	STAILQ_INIT(&m->back);
	return m;
}

/* Until it has done all, or the time is over: then the request at hand is not waited for. */
static void end_thread(struct unwind_maker *m, uint64_t end_ns)
{
	struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000u),
			       .tv_nsec = (long)(end_ns % 1000000000u)};
	struct job *job;

	pthread_mutex_lock(&m->lock);
	m->stop = true;
	m->end_ns = end_ns;
	while ((job = remove_first(&m->done)))
		STAILQ_INSERT_TAIL(&m->back, job, next);
	pthread_cond_signal(&m->more);
	pthread_mutex_unlock(&m->lock);
	if (!pthread_clockjoin_np(m->thread, NULL, CLOCK_MONOTONIC, &end))
		return;
	image_worker_cancel(m->worker);
	pthread_join(m->thread, NULL);
}

void unwind_maker_free(struct unwind_maker *m, uint64_t finish_ns)
{
	if (!m)
		return;
	if (m->threaded)
		end_thread(m, clock_monotonic_ns() + finish_ns);
	free_jobs(&m->wanted);
	free_jobs(&m->done);
	free_jobs(&m->back);
	image_worker_free(m->worker);
	unwind_cache_free(m->cache);
	close(m->event);
	pthread_mutex_destroy(&m->lock);
	pthread_cond_destroy(&m->more);
	free(m);
}

int unwind_maker_ask(struct unwind_maker *m, uint64_t wish, int fd)
{
	struct stat st;
	struct job *job;

	if (!m->threaded && thread_start(&m->thread, work, m))
		return -EAGAIN;
	m->threaded = true;
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	job->made.wish = wish;
	job->user = fstat(fd, &st) ? (uid_t)-1 : st.st_uid;
	job->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (job->fd < 0) {
		free(job);
		return -EMFILE;
	}
	pthread_mutex_lock(&m->lock);
	STAILQ_INSERT_TAIL(&m->wanted, job, next);
	pthread_cond_signal(&m->more);
	pthread_mutex_unlock(&m->lock);
	return 0;
}

void unwind_maker_forget(struct unwind_maker *m)
{
	pthread_mutex_lock(&m->lock);
	free_jobs(&m->wanted);
	pthread_mutex_unlock(&m->lock);
}

struct unwind_made *unwind_maker_take(struct unwind_maker *m)
{
	struct job *job;
	uint64_t count;

	pthread_mutex_lock(&m->lock);
	job = remove_first(&m->done);
	/* Not readable any more, if it was. */
	if (STAILQ_EMPTY(&m->done) && read(m->event, &count, sizeof(count)) < 0 && errno != EAGAIN)
		errno = 0;
	pthread_mutex_unlock(&m->lock);
	return job ? &job->made : NULL;
}

void unwind_maker_give_back(struct unwind_maker *m, struct unwind_made *made)
{
	struct job *job = (struct job *)made;

	pthread_mutex_lock(&m->lock);
	STAILQ_INSERT_TAIL(&m->back, job, next);
	pthread_cond_signal(&m->more);
	pthread_mutex_unlock(&m->lock);
}

int unwind_maker_fd(const struct unwind_maker *m)
{
	return m->event;
}

void unwind_maker_count(struct unwind_maker *m, struct unwind_maker_counters *ret)
{
	pthread_mutex_lock(&m->lock);
	*ret = m->counters;
	pthread_mutex_unlock(&m->lock);
}

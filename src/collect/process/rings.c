/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/process/rings.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "collect/host/cpus.h"
#include "collect/process/procfs.h"
#include "collect/process/record_budget.h"
#include "collect/host/rights.h"
#include "util/clock.h"
#include "util/thread.h"

/* Of what one holds that nobody has taken; and when who drains is told. */
#define SPOOL_MAX  (16u << 20)
#define SPOOL_FULL (RINGS_BYTES / 2)
/* With less room than this a record may have found none. */
#define ROOM_LEAST 8192
#ifndef PERF_FORMAT_LOST
#define PERF_FORMAT_LOST (1u << 4)
#endif

struct ring {
	int fd;
	struct perf_event_mmap_page *control;
	const uint8_t *data;
	bool tells_lost; /* the event can be read (Linux 6.0) */
	struct buf spool;
	struct rings_taken taken; /* what is to be told with it */
};

struct rings {
	struct ring *ring;
	size_t count;
	pthread_t thread;
	pthread_mutex_t lock; /* of all but what never changes */
	bool threaded;
	int event, stop; /* eventfd */
	struct record_budget *budget;
	uint8_t scratch[RINGS_RECORD_MAX]; /* a record that wraps around its ring's end */
};

static int ring_open(struct ring *r, int cpu, bool build_ids, struct diag *diag)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.read_format = PERF_FORMAT_LOST,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.ksymbol = 1,
		.build_id = build_ids,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = RINGS_BYTES / 4,
	};

	buf_init(&r->spool, SPOOL_MAX);
	r->fd = rights_open_event(&attr, -1, cpu, -1);
	r->tells_lost = r->fd >= 0;
	if (r->fd == -EINVAL) {
		attr.read_format = 0;
		r->fd = rights_open_event(&attr, -1, cpu, -1);
	}
	if (r->fd < 0)
		return diag_fail(diag, -r->fd, "cannot follow the processes of CPU %d: %s", cpu,
				 strerror(-r->fd));
	void *p = mmap(NULL, RINGS_BYTES + (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
		       MAP_SHARED, r->fd, 0);
	if (p == MAP_FAILED)
		return diag_fail(diag, errno,
				 "cannot map the records of CPU %d: %s; raise "
				 "kernel.perf_event_mlock_kb or give CAP_IPC_LOCK",
				 cpu, strerror(errno));
	r->control = p;
	r->data = (const uint8_t *)p + r->control->data_offset;
	return 0;
}

static int open_all(struct rings *s, bool build_ids, struct diag *diag)
{
	struct cpu_list *cpus = malloc(sizeof(*cpus));
	int r = cpus ? cpus_read_online(cpus, diag) : diag_fail(diag, ENOMEM, "out of memory");

	if (!r) {
		s->ring = calloc(cpus->count, sizeof(*s->ring));
		r = s->ring ? 0 : diag_fail(diag, ENOMEM, "out of memory");
	}
	for (unsigned i = 0; !r && i < cpus->count; i++) {
		s->count = i + 1;
		r = ring_open(&s->ring[i], cpus->number[i], build_ids, diag);
	}
	free(cpus);
	return r;
}

/* Whoever drains and holds it runs as the thread that waits for it, not behind a crowd. */
static void begin_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t inherits;

	pthread_mutexattr_init(&inherits);
	pthread_mutexattr_setprotocol(&inherits, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(lock, &inherits);
	pthread_mutexattr_destroy(&inherits);
}

int rings_new(bool build_ids, struct rings **ret, struct diag *diag)
{
	struct rings *s = calloc(1, sizeof(*s));

	if (!s)
		return diag_fail(diag, ENOMEM, "out of memory");
	begin_lock(&s->lock);
	s->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->stop = eventfd(0, EFD_CLOEXEC);
	s->budget = record_budget_new(procfs_read_user);
	int r = s->budget && s->event >= 0 && s->stop >= 0
			? open_all(s, build_ids, diag)
			: diag_fail(diag, ENOMEM, "out of memory");
	if (r) {
		rings_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void rings_free(struct rings *s)
{
	const uint64_t one = 1;

	if (!s)
		return;
	if (s->threaded && write(s->stop, &one, sizeof(one)) == sizeof(one))
		pthread_join(s->thread, NULL);
	for (size_t i = 0; i < s->count; i++) {
		if (s->ring[i].control)
			munmap(s->ring[i].control, RINGS_BYTES + (size_t)sysconf(_SC_PAGESIZE));
		if (s->ring[i].fd > 0)
			close(s->ring[i].fd);
		buf_free(&s->ring[i].spool);
	}
	if (s->event >= 0)
		close(s->event);
	if (s->stop >= 0)
		close(s->stop);
	record_budget_free(s->budget);
	pthread_mutex_destroy(&s->lock);
	free(s->ring);
	free(s);
}

bool rings_want(struct record_budget *b, const struct perf_event_header *h, const uint8_t *record,
		uint64_t now_ns)
{
	uint32_t numbers[3]; /* PID, TID; of a fork: PID, parent's PID, TID */

	if (h->size < sizeof(*h) + sizeof(numbers))
		return true;
	memcpy(numbers, record + sizeof(*h), sizeof(numbers));
	if (h->type == PERF_RECORD_FORK) {
		if (numbers[0] != numbers[1])
			record_budget_note_fork(b, (pid_t)numbers[0], (pid_t)numbers[1], now_ns);
		return numbers[0] != numbers[1];
	}
	if (h->type == PERF_RECORD_EXIT)
		return numbers[0] == numbers[2];
	if (h->type == PERF_RECORD_COMM && !(h->misc & PERF_RECORD_MISC_COMM_EXEC))
		return numbers[0] == numbers[1] && record_budget_take(b, (pid_t)numbers[0], now_ns);
	return h->type != PERF_RECORD_MMAP2 || record_budget_take(b, (pid_t)numbers[0], now_ns);
}

const uint8_t *rings_peek(const uint8_t *ring, uint64_t tail, uint64_t left,
			  uint8_t scratch[RINGS_RECORD_MAX], struct perf_event_header *ret)
{
	uint64_t at = tail % RINGS_BYTES;

	/* Headers are 8 bytes at multiples of 8, so they never wrap. */
	memcpy(ret, ring + at, sizeof(*ret));
	if (left > RINGS_BYTES || ret->size < sizeof(*ret) + 8 || ret->size > left || ret->size % 8)
		return NULL;
	if (at + ret->size <= RINGS_BYTES)
		return ring + at;
	memcpy(scratch, ring + at, RINGS_BYTES - at);
	memcpy(scratch + (RINGS_BYTES - at), ring, ret->size - (RINGS_BYTES - at));
	return scratch;
}

/* The kernel writes a LOST record when the next one finds room, which may never come: a ring that
 * was full is asked. */
static void ask_lost(struct ring *r)
{
	uint64_t v[2]; /* value, lost */

	if (r->tells_lost && read(r->fd, v, sizeof(v)) == (ssize_t)sizeof(v))
		r->taken.lost = v[1];
}

/* Under the lock. */
static void empty(struct rings *s, struct ring *r, uint64_t now_ns)
{
	uint64_t head = __atomic_load_n(&r->control->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->control->data_tail;
	bool full = head - tail > RINGS_BYTES - ROOM_LEAST;

	while (tail != head) {
		struct perf_event_header h;
		const uint8_t *record = rings_peek(r->data, tail, head - tail, s->scratch, &h);

		if (!record) {
			r->taken.malformed++;
			tail = head;
			break;
		}
		if (rings_want(s->budget, &h, record, now_ns) &&
		    buf_append(&r->spool, record, h.size)) {
			r->taken.lost_here++;
			r->spool.error = 0; /* the next one may find room */
		}
		tail += h.size;
	}
	__atomic_store_n(&r->control->data_tail, tail, __ATOMIC_RELEASE);
	if (full)
		ask_lost(r);
}

static void empty_all(struct rings *s)
{
	const uint64_t one = 1;
	bool much = false;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->count; i++) {
		empty(s, &s->ring[i], clock_monotonic_ns());
		much |= s->ring[i].spool.size > SPOOL_FULL;
	}
	pthread_mutex_unlock(&s->lock);
	if (much && write(s->event, &one, sizeof(one)) < 0)
		errno = 0; /* it is readable already */
}

/* A ring that has ended (its CPU is gone) would end each wait at once. */
static void leave_ended(struct pollfd *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i].revents & (POLLHUP | POLLERR | POLLNVAL))
			fds[i].fd = -1;
}

static void *work(void *arg)
{
	struct rings *s = arg;
	struct pollfd *fds = calloc(s->count + 1, sizeof(*fds));

	if (!fds)
		return NULL;
	/* A ring fills in less than the turn of another, when a crowd makes records; the work is
	 * small beside what the kernel did for each. Who may not waits his turn, and loses some. */
	thread_hurry();
	for (size_t i = 0; i < s->count; i++)
		fds[i] = (struct pollfd){.fd = s->ring[i].fd, .events = POLLIN};
	fds[s->count] = (struct pollfd){.fd = s->stop, .events = POLLIN};
	while (poll(fds, s->count + 1, -1) >= 0 || errno == EINTR) {
		if (fds[s->count].revents)
			break;
		empty_all(s);
		leave_ended(fds, s->count);
	}
	free(fds);
	return NULL;
}

int rings_start(struct rings *s, struct diag *diag)
{
	s->threaded = thread_start(&s->thread, work, s) == 0;
	return s->threaded ? 0 : diag_fail(diag, EAGAIN, "cannot start a thread");
}

size_t rings_count(const struct rings *s)
{
	return s->count;
}

int rings_fd(const struct rings *s)
{
	return s->event;
}

void rings_take(struct rings *s, size_t index, struct buf *bytes, struct rings_taken *ret)
{
	struct ring *r = &s->ring[index];
	uint64_t count;

	pthread_mutex_lock(&s->lock);
	if (index == 0 && read(s->event, &count, sizeof(count)) < 0)
		errno = 0; /* it was not readable */
	empty(s, r, clock_monotonic_ns());
	if (buf_append(bytes, r->spool.data, r->spool.size)) {
		r->taken.lost_here++;
		bytes->error = 0;
	}
	if (r->spool.room > SPOOL_FULL)
		buf_free(&r->spool);
	buf_clear(&r->spool);
	*ret = r->taken;
	r->taken.lost_here = r->taken.malformed = 0;
	pthread_mutex_unlock(&s->lock);
}

bool rings_calmed(struct rings *s, pid_t *ret_pid, uint64_t *ret_left_out)
{
	bool calmed;

	pthread_mutex_lock(&s->lock);
	calmed = record_budget_calmed(s->budget, clock_monotonic_ns(), ret_pid, ret_left_out);
	pthread_mutex_unlock(&s->lock);
	return calmed;
}

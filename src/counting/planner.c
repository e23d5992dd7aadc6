/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "counting/planner.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "collect/host/rights.h"
#include "counting/planner_wire.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/foreign.h"

#define ANSWER_NS    120000000000ull /* from a request to its answer */
#define ALL_NS	     600000000000ull /* of all files' together */
#define COPIES_NS    5000000000ull   /* ... which each exec may take for each of its files */
#define MEMORY_MAX   (4ull << 30)    /* of all images' processes between requests */
#define MEMORY_OF_1  (2ull << 30)    /* of one, while it is asked */
#define MEMORY_LEAST (64ull << 20)   /* that one is started with */

struct planner {
	pid_t pid;
	int fd;
	int stop; /* an eventfd */
	struct planner_limits limits;
	uint64_t spent_ns, counting_ns; /* of all_ns: for plans and copies, and for counts */
	uint64_t memory_bytes;
	uint32_t count;
	int images[PLANNER_IMAGES_MAX]; /* sockets; -1: it is gone */
};

/* Where memory is short, a file loses its counts before anybody else is ended. */
static void offer_to_be_killed(void)
{
	FILE *file = fopen("/proc/self/oom_score_adj", "we");

	if (!file)
		return;
	fputs("1000", file);
	fclose(file);
}

/* The process that the others come from. */
static void begin(pid_t parent, int fd)
{
	struct diag unused;

	/* A Ctrl-C is for the parent, which still needs answers. */
	setpgid(0, 0);
	offer_to_be_killed(); /* while we may */
	if (rights_begin(false, &unused) || rights_keep_reading(&unused))
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		planner_obey(fd);
}

int planner_new(const struct planner_limits *limits, struct planner **ret, struct diag *diag)
{
	struct planner *p = calloc(1, sizeof(*p));
	pid_t parent = getpid();
	int fds[2] = {-1, -1}, r;

	if (!p)
		return diag_fail(diag, ENOMEM, "out of memory");
	if (limits)
		p->limits = *limits;
	p->limits.answer_ns = p->limits.answer_ns ?: ANSWER_NS;
	p->limits.all_ns = p->limits.all_ns ?: ALL_NS;
	p->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = p->stop < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) ? errno : 0;
	p->pid = r ? -1 : fork();
	if (!p->pid) {
		close(fds[0]);
		begin(parent, fds[1]);
		_exit(0);
	}
	r = r ?: p->pid < 0 ? errno : 0;
	close(fds[1]);
	p->fd = fds[0];
	if (r) {
		close(p->fd);
		close(p->stop);
		free(p);
		return diag_fail(diag, r, "cannot start planning counters: %s", strerror(r));
	}
	*ret = p;
	return 0;
}

void planner_free(struct planner *p)
{
	if (!p)
		return;
	for (uint32_t i = 0; i < p->count; i++)
		if (p->images[i] >= 0)
			close(p->images[i]);
	close(p->fd);
	close(p->stop);
	kill(p->pid, SIGKILL);
	while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	free(p);
}

void planner_cancel(struct planner *p)
{
	eventfd_write(p->stop, 1);
}

/* Whatever the number'th does, it does it no more. */
static void end(struct planner *p, uint32_t number)
{
	close(p->images[number]);
	p->images[number] = -1;
	planner_send_order(p->fd, &(struct planner_order){.number = number, .end = 1}, NULL);
}

/* ret: the answer's data to be freed. */
static int converse(const struct planner_line *l, const struct planner_request *q, const void *more,
		    struct planner_answer *ret, void **ret_data)
{
	void *data = NULL;
	int r = planner_send(l, q, sizeof(*q));

	r = r ?: planner_send(l, more, q->size);
	r = r ?: planner_receive(l, ret, sizeof(*ret));
	if (!r && ret->size > PLANNER_MAX_BYTES)
		r = -EBADMSG;
	if (!r && ret->size) {
		data = malloc(ret->size);
		r = data ? planner_receive(l, data, ret->size) : -ENOMEM;
	}
	if (r)
		free(data);
	else
		*ret_data = data;
	return r;
}

/* A request with its data. What the planner returned; one that did not answer is ended. */
static int ask(struct planner *p, uint32_t number, const struct planner_request *q,
	       const void *more, struct planner_answer *ret, void **ret_data)
{
	const bool counts = q->what == PLANNER_COUNT;
	uint64_t *spent_ns = counts ? &p->counting_ns : &p->spent_ns;
	const uint64_t left_ns = p->limits.all_ns - *spent_ns, begun_ns = clock_monotonic_ns();
	const uint64_t may_ns = left_ns < p->limits.answer_ns ? left_ns : p->limits.answer_ns;
	const struct planner_line l = {.fd = p->images[number],
				       .stop = counts ? -1 : p->stop,
				       .until_ns = begun_ns + may_ns};
	void *data = NULL;
	int r;

	/* What was planned before can be counted all the same. */
	if (!left_ns)
		return -ETIMEDOUT;
	r = l.fd < 0 ? -EPIPE : converse(&l, q, more, ret, &data);
	const uint64_t took_ns = clock_monotonic_ns() - begun_ns;
	const uint64_t free_ns = q->what == PLANNER_COPY && took_ns < COPIES_NS ? took_ns : 0;

	*spent_ns += took_ns - free_ns < left_ns ? took_ns - free_ns : left_ns;
	if (r) {
		if (l.fd >= 0)
			end(p, number);
		ret->diag.text[0] = 0;
		return r;
	}
	ret->diag.text[sizeof(ret->diag.text) - 1] = 0;
	if (ret->result < 0)
		free(data);
	else
		*ret_data = data;
	return ret->result;
}

/* Starts the process of the next image. */
static int start(struct planner *p, int file, struct diag *diag)
{
	const uint64_t left = p->memory_bytes < MEMORY_MAX ? MEMORY_MAX - p->memory_bytes : 0;
	const struct planner_order o = {.number = p->count,
					.memory_bytes = left < MEMORY_OF_1 ? left : MEMORY_OF_1};
	int fds[2], r;

	if (p->count == PLANNER_IMAGES_MAX)
		return diag_fail(diag, ENOSPC, "more than %d files", PLANNER_IMAGES_MAX);
	if (left < MEMORY_LEAST)
		return diag_fail(diag, ENOMEM,
				 "the plans of other files take all of the %llu MiB allowed",
				 MEMORY_MAX >> 20);
	if (p->spent_ns == p->limits.all_ns)
		return diag_fail(diag, ETIMEDOUT,
				 "other files used up the %llu s allowed for all plans",
				 (unsigned long long)p->limits.all_ns / 1000000000);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return diag_fail(diag, errno, "cannot be planned: %s", strerror(errno));
	r = planner_send_order(p->fd, &o, (int[2]){fds[1], file});
	close(fds[1]);
	if (r) {
		close(fds[0]);
		return diag_fail(diag, -r, "the planning process has ended");
	}
	p->images[p->count] = fds[0];
	return 0;
}

/* Opens the file that was looked at, as it was then. */
static int open_file(const char *path, const struct stat *file, struct diag *diag)
{
	struct stat now;
	int fd = foreign_open(path, &now);

	if (fd < 0)
		return diag_fail(diag, -fd, "cannot be read: %s",
				 fd == -EBADMSG ? "it is not a regular file" : strerror(-fd));
	if (foreign_is_same(&now, file))
		return fd;
	close(fd);
	return diag_fail(diag, ESTALE, "has been replaced or written to");
}

static const char *why_not(int r)
{
	switch (r) {
	case -EPIPE:
		return "it takes too much memory or time to be planned";
	case -ETIMEDOUT:
		return "it takes too long to be planned";
	case -ECANCELED:
		return "the recording ended before it was planned";
	default:
		return strerror(-r);
	}
}

/* What follows the request. */
static int append_request(const struct plans_request *r, struct planner_request *q, struct buf *out)
{
	q->paths_max = r->paths_max;
	q->names_size = r->names ? (uint32_t)strlen(r->names) + 1 : 0;
	if (r->sampled.count)
		buf_append(out, r->sampled.list, r->sampled.count * sizeof(*r->sampled.list));
	if (r->names)
		buf_append(out, r->names, q->names_size);
	q->size = out->size;
	return out->error;
}

static int ask_plan(struct planner *p, const struct plans_request *request,
		    struct planner_answer *a, void **ret_data)
{
	struct planner_request q = {.what = PLANNER_PLAN};
	struct buf more;
	int r;

	buf_init(&more, PLANNER_MAX_BYTES);
	r = request ? append_request(request, &q, &more) : 0;
	r = r ?: ask(p, p->count, &q, more.data, a, ret_data);
	buf_free(&more);
	return r;
}

int planner_plan(struct planner *p, const char *path, const struct stat *file,
		 const struct plans_request *request, struct plans_facts *ret, struct diag *diag)
{
	struct planner_answer a = {.diag = {""}};
	void *data = NULL;
	int fd = open_file(path, file, diag), r;

	if (fd < 0)
		return fd;
	r = start(p, fd, diag);
	close(fd);
	if (r)
		return r;
	r = ask_plan(p, request, &a, &data);
	if (r)
		diag_fail(diag, -r, "%s", a.diag.text[0] ? a.diag.text : why_not(r));
	else if ((r = planner_take_facts(data, a.size, ret)))
		diag_fail(diag, -r, "the planner's answer is invalid");
	free(data);
	if (!r) {
		p->count++;
		p->memory_bytes += a.memory_bytes < MEMORY_MAX ? a.memory_bytes : MEMORY_MAX;
	} else if (p->images[p->count] >= 0) {
		end(p, p->count);
	}
	return r < 0 ? r : r ? -EBADMSG : 0;
}

int planner_copy(struct planner *p, uint32_t number, const struct plans_facts *facts,
		 const struct instrument_destination *at, struct instrument_code *codes)
{
	struct planner_request q = {.what = PLANNER_COPY, .at = *at};
	struct planner_answer a = {.diag = {""}};
	void *data;
	int r = ask(p, number, &q, NULL, &a, &data);

	if (r)
		return r;
	r = planner_take_codes(data, a.size, facts, at, codes);
	free(data);
	return r;
}

int planner_count(struct planner *p, uint32_t number, const struct plans_facts *facts,
		  const uint64_t *counters, const uint8_t *left, struct buf *edges)
{
	struct planner_request q = {.what = PLANNER_COUNT};
	struct planner_answer a = {.diag = {""}};
	uint64_t size = facts->slots * sizeof(*counters);
	char *both = malloc(size + facts->planned + 1);
	void *data;
	int r;

	if (!both)
		return -ENOMEM;
	memcpy(both, counters, size);
	memcpy(both + size, left, facts->planned);
	q.size = size + facts->planned;
	r = ask(p, number, &q, both, &a, &data);
	free(both);
	if (r < 0)
		return r;
	if (a.size % sizeof(uint64_t) || (uint32_t)r > facts->planned)
		r = -EBADMSG;
	else
		buf_append(edges, data, a.size);
	free(data);
	return r < 0 ? r : edges->error ?: r;
}

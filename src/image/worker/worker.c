/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The parent's side: a child that is started when it is needed, asked, and killed as soon as it
 * does anything but answer. Nothing of a child outlives it, so each failure costs one request.
 */
#include "image/worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "image/worker/worker_call.h"
#include "util/clock.h"

#define MEMORY_BYTES_DEFAULT (UINT64_C(1) << 30)
#define TIME_NS_DEFAULT	     (UINT64_C(30) * 1000000000)
/*
 * A child that a file system holds in the kernel (a FUSE server that does not answer) cannot be
 * killed until that lets it go. It is waited for this long and then left, to be reaped later; past
 * LEFT_MAX of them no new child is started.
 */
#define REAP_NS	 (UINT64_C(1) * 1000000000)
#define LEFT_MAX 8
/* From the close of its socket to the end of a child that is dying by itself. */
#define DYING_NS (UINT64_C(50) * 1000000)

struct image_worker {
	struct image_worker_limits limits;
	struct image_worker_stats stats;
	int socket;		     /* -1: no child */
	uint64_t ended_ns, child_ns; /* of the processor: children that ended, the one there is */
	pid_t left[LEFT_MAX];
	/* Held while the child is started or reaped, so that its number means no other process. */
	pthread_mutex_t lock;
	bool cancelled;
};

struct image_worker *image_worker_new(const struct image_worker_limits *limits)
{
	struct image_worker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->socket = -1;
	pthread_mutex_init(&w->lock, NULL);
	if (limits)
		w->limits = *limits;
	if (!w->limits.memory_bytes)
		w->limits.memory_bytes = MEMORY_BYTES_DEFAULT;
	if (!w->limits.time_ns)
		w->limits.time_ns = TIME_NS_DEFAULT;
	if (!w->limits.wait_ns)
		w->limits.wait_ns = w->limits.time_ns;
	return w;
}

struct image_worker_stats image_worker_stats(const struct image_worker *w)
{
	return w->stats;
}

/* As waitpid without waiting, for the child there is; notes what it took. */
static pid_t worker_wait(struct image_worker *w, int *ret_status)
{
	struct rusage u;
	pid_t got = wait4(w->stats.pid, ret_status, WNOHANG, &u);

	if (got == w->stats.pid) {
		uint64_t ns = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000u +
			      (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000u;

		/* To the microsecond only. */
		w->child_ns = ns > w->child_ns ? ns : w->child_ns;
	}
	return got;
}

static void worker_reap_left(struct image_worker *w)
{
	for (int i = 0; i < LEFT_MAX; i++)
		if (w->left[i] && waitpid(w->left[i], NULL, WNOHANG))
			w->left[i] = 0;
}

uint64_t image_worker_cpu_ns(struct image_worker *w)
{
	struct timespec t;
	clockid_t clock;

	if (w->stats.pid && !clock_getcpuclockid(w->stats.pid, &clock) && !clock_gettime(clock, &t))
		w->child_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	return w->ended_ns + w->child_ns;
}

/* True and its wait status (-1: somebody else has it) when the child ended within a time. */
static bool child_ended(struct image_worker *w, uint64_t within_ns, int *ret_status)
{
	uint64_t deadline = clock_monotonic_ns() + within_ns;

	for (;;) {
		pid_t got = worker_wait(w, ret_status);

		if (got == w->stats.pid)
			return true;
		if (got < 0 && errno != EINTR) {
			*ret_status = -1;
			return true;
		}
		if (clock_monotonic_ns() >= deadline)
			return false;
		usleep(100);
	}
}

/* Ends the child; the result is its wait status, which says what it died of if it had by itself,
 * -1 when that cannot be known. */
static int worker_stop(struct image_worker *w)
{
	struct pollfd p = {.fd = w->socket};
	int status = -1;

	if (w->socket < 0)
		return status;
	pthread_mutex_lock(&w->lock);
	/* One whose end is closed may be dying right now: its own status says more than a kill. */
	poll(&p, 1, 0);
	if (child_ended(w, p.revents & POLLHUP ? DYING_NS : 0, &status))
		goto out;
	kill(w->stats.pid, SIGKILL);
	if (child_ended(w, REAP_NS, &status))
		goto out;
	status = -1;
	for (int i = 0; i < LEFT_MAX; i++)
		if (!w->left[i]) {
			w->left[i] = w->stats.pid;
			break;
		}
out:
	close(w->socket);
	w->socket = -1;
	w->stats.pid = 0;
	/* However it ended: the sum never falls. */
	w->ended_ns += w->child_ns;
	w->child_ns = 0;
	pthread_mutex_unlock(&w->lock);
	return status;
}

void image_worker_cancel(struct image_worker *w)
{
	pthread_mutex_lock(&w->lock);
	w->cancelled = true;
	if (w->stats.pid)
		kill(w->stats.pid, SIGKILL);
	pthread_mutex_unlock(&w->lock);
}

void image_worker_idle(struct image_worker *w)
{
	worker_stop(w);
	worker_reap_left(w);
}

void image_worker_free(struct image_worker *w)
{
	if (!w)
		return;
	image_worker_idle(w);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static int worker_spawn(int child_end, const struct image_worker_limits *limits, pid_t *ret)
{
	char memory[24], time[24], wait[24];
	char *argv[] = {(char *)WORKER_NAME, memory, time, wait, NULL};
	/* The sanitizers' leak check would need ptrace. */
	char *envp[] = {(char *)"LC_ALL=C", (char *)"ASAN_OPTIONS=detect_leaks=0", NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;

	snprintf(memory, sizeof(memory), "%" PRIu64, limits->memory_bytes);
	snprintf(time, sizeof(time), "%" PRIu64, limits->time_ns);
	snprintf(wait, sizeof(wait), "%" PRIu64, limits->wait_ns);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attributes);
	/* Its own group: a Ctrl-C is for the parent, which may still need answers. */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawn_file_actions_init(&files);
	int r = posix_spawn_file_actions_adddup2(&files, child_end, WORKER_SOCKET);
	for (int fd = 0; !r && fd < WORKER_SOCKET; fd++)
		r = posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDONLY, 0);
	if (!r)
		r = posix_spawn(ret, "/proc/self/exe", &files, &attributes, argv, envp);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return -r;
}

static int worker_start(struct image_worker *w, struct diag *diag)
{
	int pair[2], left = 0;

	worker_reap_left(w);
	for (int i = 0; i < LEFT_MAX; i++)
		left += w->left[i] != 0;
	if (left == LEFT_MAX)
		return diag_fail(diag, EAGAIN,
				 "%d image workers hang in the kernel, on a file system that does "
				 "not answer: no more are started",
				 left);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return diag_fail(diag, errno, "cannot start the image worker: %s", strerror(errno));
	pthread_mutex_lock(&w->lock);
	int r = w->cancelled ? -ECANCELED : worker_spawn(pair[1], &w->limits, &w->stats.pid);
	if (r)
		w->stats.pid = 0;
	pthread_mutex_unlock(&w->lock);
	close(pair[1]);
	if (r) {
		close(pair[0]);
		return diag_fail(diag, -r, "cannot start the image worker (/proc/self/exe): %s",
				 strerror(-r));
	}
	w->socket = pair[0];
	w->stats.starts++;
	return 0;
}

/* A child that died while it was not asked, or says something unasked, is replaced. */
static int worker_ensure(struct image_worker *w, struct diag *diag)
{
	struct pollfd p = {.fd = w->socket, .events = POLLIN};

	if (w->socket >= 0 && poll(&p, 1, 0) > 0)
		worker_stop(w);
	return w->socket >= 0 ? 0 : worker_start(w, diag);
}

/* Ends the child that failed a request, and says what of. */
static int worker_fail(struct image_worker *w, int r, struct diag *diag)
{
	int status = worker_stop(w);
	bool spent = r == -EPIPE && status != -1 && WIFSIGNALED(status) &&
		     WTERMSIG(status) == WORKER_SPENT;

	w->stats.failed++;
	if (r == -ETIMEDOUT || spent) {
		w->stats.timeouts++;
		return diag_fail(diag, ETIMEDOUT,
				 "reading the file took longer than %" PRIu64 " ms%s",
				 (spent ? w->limits.time_ns : w->limits.wait_ns) / 1000000,
				 spent ? " of the processor" : "");
	}
	if (r == -ENOMEM)
		return diag_fail(diag, ENOMEM, "out of memory for the image worker's answer");
	if (r == -EFBIG || r == -EPROTO)
		return diag_fail(diag, EBADMSG,
				 "because of the file the image worker gave an invalid answer");
	if (r != -EPIPE)
		return diag_fail(diag, -r, "cannot talk to the image worker: %s", strerror(-r));
	if (status != -1 && WIFEXITED(status) && WEXITSTATUS(status) > WORKER_EXIT_UNSAFE)
		return diag_fail(diag, EPERM,
				 "the image worker cannot give up its privileges (step %d): see "
				 "doc/image.md",
				 WEXITSTATUS(status) - WORKER_EXIT_UNSAFE);
	if (status != -1 && WIFSIGNALED(status))
		return diag_fail(diag, EBADMSG, "the file killed the image worker (%s)",
				 strsignal(WTERMSIG(status)));
	return diag_fail(diag, EBADMSG, "the image worker ended while it read the file");
}

static int files_check(const int *files, size_t count, struct diag *diag)
{
	for (size_t i = 0; i < count; i++) {
		struct stat st;

		if (fstat(files[i], &st))
			return diag_fail(diag, errno, "cannot stat the file: %s", strerror(errno));
		if (!S_ISREG(st.st_mode))
			return diag_fail(diag, EBADMSG, "not a regular file");
	}
	return 0;
}

int worker_call(struct image_worker *w, struct worker_request request, const int *files,
		const void *payload, struct buf *out, struct diag *diag)
{
	bool told = false;
	int r = files_check(files, request.file_count, diag);

	if (r || (r = worker_ensure(w, diag)))
		return r;
	request.serial = ++w->stats.requests;
	uint64_t deadline = clock_monotonic_ns() + w->limits.wait_ns;
	r = worker_send_request(w->socket, deadline, &request, files, payload);
	if (!r)
		r = worker_receive_reply(w->socket, deadline, request.serial, out, &told, diag);
	if (told && r == -ENOMEM)
		return diag_fail(diag, EBADMSG, "reading the file takes more than %" PRIu64 " MiB",
				 w->limits.memory_bytes >> 20);
	return told || !r ? r : worker_fail(w, r, diag);
}

int worker_refuse(struct image_worker *w, struct diag *diag)
{
	return worker_fail(w, -EPROTO, diag);
}

uint64_t worker_memory_bytes(const struct image_worker *w)
{
	return w->limits.memory_bytes;
}

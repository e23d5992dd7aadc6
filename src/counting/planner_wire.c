/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "counting/planner_wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include "util/clock.h"

#define WAIT_MS 3600000 /* at a time; longer waits are several */

/* 0: it can be gone on. */
static int wait_for(const struct planner_line *l, short events)
{
	struct pollfd p[2] = {{.fd = l->fd, .events = events}, {.fd = l->stop, .events = POLLIN}};
	uint64_t now = clock_monotonic_ns();

	if (now >= l->until_ns)
		return -ETIMEDOUT;
	if (poll(p, 2, clock_ms_until(l->until_ns, now, WAIT_MS)) < 0 && errno != EINTR)
		return -errno;
	return p[1].revents ? -ECANCELED : 0;
}

/* After a call that moved nothing. */
static int retry(const struct planner_line *l, short events)
{
	if (errno == EPIPE || errno == ECONNRESET)
		return -EPIPE;
	return errno == EAGAIN || errno == EINTR ? wait_for(l, events) : -errno;
}

int planner_send(const struct planner_line *l, const void *data, size_t size)
{
	const char *at = data;
	int r = wait_for(l, POLLOUT);

	while (size && !r) {
		ssize_t n = send(l->fd, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0) {
			r = retry(l, POLLOUT);
			continue;
		}
		at += n;
		size -= (size_t)n;
	}
	return r;
}

int planner_receive(const struct planner_line *l, void *data, size_t size)
{
	char *at = data;
	int r = 0;

	while (size && !r) {
		ssize_t n = recv(l->fd, at, size, MSG_DONTWAIT);

		if (n <= 0) {
			r = n ? retry(l, POLLIN) : -EPIPE;
			continue;
		}
		at += n;
		size -= (size_t)n;
	}
	return r;
}

union with_fds {
	char bytes[CMSG_SPACE(2 * sizeof(int))];
	struct cmsghdr align;
};

int planner_send_order(int fd, const struct planner_order *o, const int fds[2])
{
	union with_fds control = {0};
	struct iovec iov = {(void *)o, sizeof(*o)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fds) {
		m.msg_control = control.bytes;
		m.msg_controllen = sizeof(control.bytes);
		*CMSG_FIRSTHDR(&m) = (struct cmsghdr){.cmsg_len = CMSG_LEN(2 * sizeof(int)),
						      .cmsg_level = SOL_SOCKET,
						      .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), fds, 2 * sizeof(int));
	}
	return sendmsg(fd, &m, MSG_NOSIGNAL) == (ssize_t)sizeof(*o) ? 0 : -EPIPE;
}

int planner_receive_order(int fd, struct planner_order *o, int fds[2])
{
	union with_fds control;
	struct iovec iov = {o, sizeof(*o)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof(control.bytes)};
	ssize_t n;

	do
		n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(*o))
		return -EPIPE;
	fds[0] = fds[1] = -1;
	if (CMSG_FIRSTHDR(&m) && CMSG_FIRSTHDR(&m)->cmsg_len == CMSG_LEN(2 * sizeof(int)))
		memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), 2 * sizeof(int));
	return 0;
}

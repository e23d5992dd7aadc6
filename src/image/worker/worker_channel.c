/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "image/worker/worker_wire.h"
#include "util/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <sys/socket.h>

#define PIECE_BYTES (1u << 20) /* what a reply claims to be is believed only so far ahead */

static int channel_wait(int socket, short events, uint64_t deadline_ns)
{
	struct pollfd p = {.fd = socket, .events = events};
	uint64_t now = clock_monotonic_ns();

	if (now >= deadline_ns)
		return -ETIMEDOUT;
	uint64_t left = deadline_ns - now;
	struct timespec t = {.tv_sec = (time_t)(left / 1000000000),
			     .tv_nsec = (long)(left % 1000000000)};
	int n = ppoll(&p, 1, &t, NULL);
	return n > 0 || (n < 0 && errno == EINTR) ? 0 : n ? -errno : -ETIMEDOUT;
}

static int channel_send(int socket, uint64_t deadline_ns, struct msghdr *message)
{
	struct iovec *iov = message->msg_iov;

	while (iov->iov_len) {
		ssize_t n = sendmsg(socket, message, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n >= 0) {
			iov->iov_base = (char *)iov->iov_base + n;
			iov->iov_len -= (size_t)n;
			message->msg_control = NULL; /* went with the first byte */
			message->msg_controllen = 0;
			continue;
		}
		if (errno == ECONNRESET)
			return -EPIPE;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		int r = channel_wait(socket, POLLOUT, deadline_ns);
		if (r)
			return r;
	}
	return 0;
}

int worker_send_request(int socket, uint64_t deadline_ns, const struct worker_request *request,
			const int *files, const void *payload)
{
	union {
		char bytes[CMSG_SPACE(WORKER_FILES_MAX * sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {(void *)request, sizeof(*request)};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	size_t files_size = request->file_count * sizeof(int);

	if (files_size) {
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(files_size);
		struct cmsghdr *c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(files_size);
		memcpy(CMSG_DATA(c), files, files_size);
	}
	int r = channel_send(socket, deadline_ns, &message);
	if (r)
		return r;
	iov = (struct iovec){(void *)payload, (size_t)request->payload_size};
	return channel_send(socket, deadline_ns, &message);
}

/* No room for control data: descriptors that a hostile child sends are dropped by the kernel. */
static int channel_receive(int socket, uint64_t deadline_ns, void *out, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = recv(socket, (char *)out + done, size - done, MSG_DONTWAIT);

		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n == 0 || errno == ECONNRESET)
			return -EPIPE;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		int r = channel_wait(socket, POLLIN, deadline_ns);
		if (r)
			return r;
	}
	return clock_monotonic_ns() < deadline_ns ? 0 : -ETIMEDOUT;
}

static int receive_payload(int socket, uint64_t deadline_ns, uint64_t size, struct buf *out)
{
	while (size) {
		size_t piece = size < PIECE_BYTES ? (size_t)size : PIECE_BYTES;
		void *room = buf_reserve(out, piece);

		if (!room)
			return out->error;
		int r = channel_receive(socket, deadline_ns, room, piece);
		if (r)
			return r;
		out->size += piece;
		size -= piece;
	}
	return 0;
}

/* The errors that a file may be told to have; any other is taken for the common one. */
static int status_known(int32_t status)
{
	static const int known[] = {ENOENT, ERANGE, EFBIG, EIO, EINVAL, ENOMEM};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (status == -known[i])
			return known[i];
	return EBADMSG;
}

int worker_receive_reply(int socket, uint64_t deadline_ns, uint64_t serial, struct buf *out,
			 bool *ret_told, struct diag *diag)
{
	struct worker_reply reply;
	char reason[WORKER_REASON_MAX + 1];

	*ret_told = false;
	int r = channel_receive(socket, deadline_ns, &reply, sizeof(reply));
	if (r)
		return r;
	if (reply.serial != serial || reply.reason_size > WORKER_REASON_MAX ||
	    (reply.status ? reply.payload_size : reply.reason_size) ||
	    reply.payload_size > out->max - out->size)
		return -EPROTO;
	if (!reply.status) {
		r = receive_payload(socket, deadline_ns, reply.payload_size, out);
		*ret_told = !r;
		return r;
	}
	r = channel_receive(socket, deadline_ns, reason, reply.reason_size);
	if (r)
		return r;
	reason[reply.reason_size] = 0;
	*ret_told = true;
	return diag_fail(diag, status_known(reply.status), "%s", reason);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/control.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LISTENER_MS 1000 /* for one that listens already to take a connection */

struct client {
	int fd;
	uint64_t since_ns;
	size_t size;
	char request[CONTROL_REQUEST_MAX];
};

struct control {
	int fd;
	char *path;
	struct client client[CONTROL_CLIENTS_MAX];
	size_t count;
};

static int address_of(const char *path, struct sockaddr_un *ret, struct diag *diag)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(ret->sun_path))
		return diag_fail(diag, ENAMETOOLONG,
				 "the socket's path %s is longer than %zu bytes", path,
				 sizeof(ret->sun_path) - 1);
	strcpy(ret->sun_path, path);
	return 0;
}

/* Each wait for the other side takes at most so long; also for one that takes no connections, whose
 * queue of them is full. */
static int connect_to(const struct sockaddr_un *address, int timeout_ms)
{
	const struct timeval wait = {.tv_sec = timeout_ms / 1000,
				     .tv_usec = timeout_ms % 1000 * 1000};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
		return fd;
	r = errno;
	close(fd);
	return -r;
}

static int listen_at(const struct sockaddr_un *address, struct diag *diag)
{
	int fd, old = connect_to(address, LISTENER_MS);
	struct stat st;
	mode_t mask;

	if (old >= 0)
		close(old);
	if (old >= 0 || old == -EAGAIN)
		return diag_fail(diag, EADDRINUSE, "a daemon is already listening at %s",
				 address->sun_path);
	/* Any other kind of file refuses connections too, but is not ours to remove. */
	if (old == -ECONNREFUSED && lstat(address->sun_path, &st) == 0 && S_ISSOCK(st.st_mode))
		unlink(address->sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return diag_fail(diag, errno, "cannot make a socket: %s", strerror(errno));
	/* Never open to others, not even between bind and chmod. */
	mask = umask(0117);
	int bound = bind(fd, (const struct sockaddr *)address, sizeof(*address));

	umask(mask);
	if (bound || listen(fd, CONTROL_CLIENTS_MAX)) {
		int r = errno;

		close(fd);
		return diag_fail(diag, r,
				 "cannot listen at %s: %s; make its directory, or name another "
				 "place (--socket PATH)",
				 address->sun_path, strerror(r));
	}
	return fd;
}

int control_new(const char *path, struct control **ret, struct diag *diag)
{
	struct control *c = calloc(1, sizeof(*c));
	struct sockaddr_un address;
	int r = c ? address_of(path, &address, diag) : diag_fail(diag, ENOMEM, "out of memory");

	if (!r) {
		c->fd = listen_at(&address, diag);
		r = c->fd < 0 ? c->fd : 0;
	}
	if (!r) {
		c->path = strdup(path);
		*ret = c;
		return 0;
	}
	free(c);
	return r;
}

static void drop(struct control *c, size_t i)
{
	close(c->client[i].fd);
	c->client[i] = c->client[--c->count];
}

void control_free(struct control *c)
{
	if (!c)
		return;
	while (c->count)
		drop(c, 0);
	close(c->fd);
	if (c->path)
		unlink(c->path);
	free(c->path);
	free(c);
}

size_t control_poll_fds(const struct control *c, struct pollfd *fds, size_t max)
{
	size_t n = 0;

	if (n < max)
		fds[n++] = (struct pollfd){.fd = c->fd, .events = POLLIN};
	for (size_t i = 0; i < c->count && n < max; i++)
		fds[n++] = (struct pollfd){.fd = c->client[i].fd, .events = POLLIN};
	return n;
}

/* Who has said nothing for longest is the one least missed. */
static size_t oldest(const struct control *c)
{
	size_t found = 0;

	for (size_t i = 1; i < c->count; i++)
		if (c->client[i].since_ns < c->client[found].since_ns)
			found = i;
	return found;
}

static void accept_clients(struct control *c, uint64_t now_ns)
{
	int fd;

	while ((fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		if (c->count == CONTROL_CLIENTS_MAX)
			drop(c, oldest(c));
		c->client[c->count++] = (struct client){.fd = fd, .since_ns = now_ns};
	}
}

/* An answer fits the socket's buffer or is cut off: the daemon waits for nobody. */
static void send_answer(int fd, const struct buf *out)
{
	int room = CONTROL_ANSWER_MAX;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	send(fd, out->data, out->size, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* True when the client is done with, one way or the other. */
static bool serve_client(struct client *client, uint64_t now_ns,
			 void (*answer)(void *arg, const char *request, struct buf *out), void *arg)
{
	ssize_t n = recv(client->fd, client->request + client->size,
			 sizeof(client->request) - client->size, MSG_DONTWAIT);
	struct buf out;
	char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return now_ns - client->since_ns > CONTROL_PATIENCE_NS;
	if (n <= 0)
		return true;
	client->size += (size_t)n;
	end = memchr(client->request, '\n', client->size);
	if (!end)
		return client->size == sizeof(client->request);
	*end = 0;
	buf_init(&out, CONTROL_ANSWER_MAX);
	answer(arg, client->request, &out);
	buf_append_u8(&out, '\n');
	send_answer(client->fd, &out);
	buf_free(&out);
	return true;
}

void control_serve(struct control *c, uint64_t now_ns,
		   void (*answer)(void *arg, const char *request, struct buf *out), void *arg)
{
	accept_clients(c, now_ns);
	for (size_t i = c->count; i-- > 0;)
		if (serve_client(&c->client[i], now_ns, answer, arg))
			drop(c, i);
}

static int explain_connect(int r, const char *path, struct diag *diag)
{
	if (r == -ENOENT || r == -ECONNREFUSED)
		return diag_fail(diag, -r,
				 "no daemon is listening at %s; start one with 'systemctl start "
				 "culprit' or 'culprit daemon'",
				 path);
	if (r == -EACCES)
		return diag_fail(diag, EACCES,
				 "not allowed to use %s; be a member of the group that owns it",
				 path);
	if (r == -EAGAIN)
		return diag_fail(diag, EPIPE, "the daemon at %s did not answer", path);
	return diag_fail(diag, -r, "cannot connect to %s: %s", path, strerror(-r));
}

int control_ask(const char *path, const char *request, int timeout_ms, char **ret,
		struct diag *diag)
{
	struct sockaddr_un address;
	char *answer = NULL;
	ssize_t n = 0, total = 0;
	int fd, r = address_of(path, &address, diag);

	if (r)
		return r;
	fd = connect_to(&address, timeout_ms);
	if (fd < 0)
		return explain_connect(fd, path, diag);
	answer = malloc(CONTROL_ANSWER_MAX + 1);
	if (!answer) {
		close(fd);
		return diag_fail(diag, ENOMEM, "out of memory");
	}
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) >= 0 &&
	    send(fd, "\n", 1, MSG_NOSIGNAL) == 1)
		while (total < (ssize_t)CONTROL_ANSWER_MAX &&
		       (n = recv(fd, answer + total, CONTROL_ANSWER_MAX - (size_t)total, 0)) > 0)
			total += n;
	close(fd);
	if (total == 0 || answer[total - 1] != '\n') {
		free(answer);
		return diag_fail(diag, EPIPE, "the daemon at %s did not answer", path);
	}
	answer[total - 1] = 0;
	*ret = answer;
	return 0;
}

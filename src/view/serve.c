/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "view/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "util/num.h"

#define CONNECTIONS_MAX	 64
#define TIMEOUT_S	 30
#define CONNECTION_BYTES (64u << 10) /* of a request: its line and headers */
#define ANSWER_MAX	 ((size_t)256 << 20)
#define NOBODY		 65534

/* The process that speaks HTTP. */
struct server {
	struct serve_key key;
	const struct buf *page;
	int maker; /* asks the process that made the page: a number there, a size and bytes back */
};

/* Whole, or a negative errno. -EPIPE: the other side is gone. */
static int read_all(int fd, void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		const ssize_t n = read(fd, (char *)data + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EPIPE;
		done += (size_t)n;
	}
	return 0;
}

static int write_all(int fd, const void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		const ssize_t n = send(fd, (const char *)data + done, size - done, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return 0;
}

/* free() the data. */
static int ask_maker(const struct server *s, uint32_t function, void **ret, size_t *ret_size)
{
	uint64_t size;
	void *data;
	int r = write_all(s->maker, &function, sizeof(function));

	if (!r)
		r = read_all(s->maker, &size, sizeof(size));
	if (r)
		return r;
	if (!size || size > ANSWER_MAX)
		return -ENOENT;
	data = malloc(size);
	if (!data)
		return -ENOMEM;
	r = read_all(s->maker, data, size);
	if (r) {
		free(data);
		return r;
	}
	*ret = data;
	*ret_size = size;
	return 0;
}

static enum MHD_Result answer(struct MHD_Connection *c, unsigned status, const char *type,
			      void *data, size_t size, enum MHD_ResponseMemoryMode mode)
{
	static const char *const headers[][2] = {
		{"Cache-Control", "no-store"},
		{"X-Content-Type-Options", "nosniff"},
		{"X-Frame-Options", "DENY"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Cross-Origin-Opener-Policy", "same-origin"},
		{"Content-Security-Policy", "frame-ancestors 'none'"},
	};
	struct MHD_Response *r = MHD_create_response_from_buffer(size, data, mode);

	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, "Content-Type", type);
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		MHD_add_response_header(r, headers[i][0], headers[i][1]);
	const enum MHD_Result queued = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return queued;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned status)
{
	static char text[] = "Nothing here.\n";

	return answer(c, status, "text/plain", text, sizeof(text) - 1, MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result give_code(const struct server *s, struct MHD_Connection *c)
{
	const char *text = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "f");
	uint64_t function;
	size_t size;
	void *data;

	if (!text || num_parse_u64(text, &function) || function >= UINT32_MAX)
		return refuse(c, MHD_HTTP_NOT_FOUND);
	if (ask_maker(s, (uint32_t)function, &data, &size))
		return refuse(c, MHD_HTTP_NOT_FOUND);
	return answer(c, MHD_HTTP_OK, "application/json", data, size, MHD_RESPMEM_MUST_FREE);
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **state)
{
	const struct server *s = arg;
	enum serve_what what;
	static int begun;
	unsigned status;

	(void)version;
	(void)upload;
	/* The first call comes with the headers alone; what is sent with a request is not for us.
	 */
	if (!*state) {
		*state = &begun;
		return MHD_YES;
	}
	if (*upload_size) {
		*upload_size = 0;
		return MHD_YES;
	}
	status = serve_check(
		&s->key, method, url, MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host"),
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Sec-Fetch-Site"), &what);
	if (status != MHD_HTTP_OK)
		return refuse(c, status);
	if (what == SERVE_CODE)
		return give_code(s, c);
	return answer(c, MHD_HTTP_OK, "text/html; charset=utf-8", s->page->data, s->page->size,
		      MHD_RESPMEM_PERSISTENT);
}

/* Until the maker is gone: its end of the pair is closed then. */
static void serve(struct MHD_Daemon *daemon, const struct server *s)
{
	for (;;) {
		fd_set reading, writing, failed;
		struct timeval wait = {1, 0};
		int most = s->maker;

		FD_ZERO(&reading);
		FD_ZERO(&writing);
		FD_ZERO(&failed);
		if (MHD_get_fdset(daemon, &reading, &writing, &failed, &most) != MHD_YES)
			return;
		FD_SET(s->maker, &reading);
		if (select(most + 1, &reading, &writing, &failed, &wait) < 0 && errno != EINTR)
			return;
		if (FD_ISSET(s->maker, &reading))
			return;
		MHD_run_from_select(daemon, &reading, &writing, &failed);
	}
}

static struct MHD_Daemon *listen_here(struct server *s, uint16_t *ret_port)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct MHD_Daemon *d = MHD_start_daemon(0, 0, NULL, NULL, handle, s, MHD_OPTION_SOCK_ADDR,
						&here, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
						MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S,
						MHD_OPTION_CONNECTION_MEMORY_LIMIT,
						(size_t)CONNECTION_BYTES, MHD_OPTION_END);
	const union MHD_DaemonInfo *info =
		d ? MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT) : NULL;

	*ret_port = info ? info->port : 0;
	return d;
}

/* The rights of nobody, where there are more. */
static int give_up_rights(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	if (geteuid() == 0 && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
		return -errno;
	return 0;
}

static int make_key(struct serve_key *key)
{
	uint8_t random[16];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(key->token + 2 * i, 3, "%02x", random[i]);
	return 0;
}

/* Tells the maker its port, or 0 and an errno. */
static void run_server(struct server *s)
{
	uint16_t told[2] = {0};
	struct MHD_Daemon *d = listen_here(s, &told[0]);

	signal(SIGINT, SIG_IGN); /* the maker ends us */
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!d)
		told[1] = (uint16_t)(errno ? errno : EADDRNOTAVAIL);
	else if (give_up_rights())
		told[0] = 0, told[1] = EPERM;
	snprintf(s->key.host, sizeof(s->key.host), "127.0.0.1:%u", told[0]);
	snprintf(s->key.other_host, sizeof(s->key.other_host), "localhost:%u", told[0]);
	if (!write_all(s->maker, told, sizeof(told)) && told[0])
		serve(d, s);
	_exit(0);
}

/* Gives the server what it asks for, until a signal comes or it has ended. */
static int answer_server(const struct serve_request *q, int fd)
{
	struct pollfd fds[2] = {{.fd = fd, .events = POLLIN}, {.fd = q->signals, .events = POLLIN}};
	uint32_t function;
	int r = 0;

	while (!r) {
		struct buf out;
		uint64_t size;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return -errno;
		if (fds[1].revents)
			return 0;
		if (!fds[0].revents)
			continue;
		r = read_all(fd, &function, sizeof(function));
		if (r)
			return r;
		buf_init(&out, ANSWER_MAX);
		size = q->more(q->arg, function, &out) || out.error ? 0 : out.size;
		r = write_all(fd, &size, sizeof(size));
		if (!r)
			r = write_all(fd, out.data, size);
		buf_free(&out);
	}
	return r;
}

static int talk(const struct serve_request *q, const struct serve_key *key, int fd,
		struct diag *diag)
{
	uint16_t told[2];
	char url[100];
	int r = read_all(fd, told, sizeof(told));

	if (!r && !told[0])
		r = -told[1];
	if (r)
		return diag_fail(diag, -r, "cannot serve the page: %s", strerror(-r));
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/%s/", told[0], key->token);
	q->ready(q->arg, url);
	r = answer_server(q, fd);
	return r ? diag_fail(diag, -r, "the server has ended: %s", strerror(-r)) : 0;
}

int serve_page(const struct serve_request *q, struct diag *diag)
{
	struct server s = {.page = q->page};
	int pair[2], r = make_key(&s.key);
	pid_t child;

	if (r || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return diag_fail(diag, r ? -r : errno, "cannot serve the page: %s",
				 strerror(r ? -r : errno));
	child = fork();
	if (child == 0) {
		close(pair[0]);
		s.maker = pair[1];
		run_server(&s);
	}
	close(pair[1]);
	r = child < 0 ? diag_fail(diag, errno, "cannot serve the page: %s", strerror(errno))
		      : talk(q, &s.key, pair[0], diag);
	close(pair[0]);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "budget_server.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEYS  65536 /* of 64 bytes each: 4 MB */
#define VALUE 64

void need(int good, const char *what)
{
	if (!good) {
		perror(what);
		exit(1);
	}
}

static char (*make_values(void))[VALUE]
{
	char(*values)[VALUE] = malloc(sizeof(*values) * KEYS);

	need(values != NULL, "malloc");
	for (unsigned i = 0; i < KEYS; i++)
		snprintf(values[i], VALUE, "value of %u", i);
	return values;
}

/* "get NUMBER\n" is answered by its value, until all clients have gone. */
static void serve(int listener)
{
	char(*values)[VALUE] = make_values(), request[64];
	int poller = epoll_create1(0), open = 0;
	struct epoll_event e = {.events = EPOLLIN};

	for (; open < SERVER_CLIENTS; open++) {
		e.data.fd = accept(listener, NULL, NULL);
		need(e.data.fd >= 0, "accept");
		need(!epoll_ctl(poller, EPOLL_CTL_ADD, e.data.fd, &e), "epoll_ctl");
	}
	while (open) {
		struct epoll_event ready[SERVER_CLIENTS];
		int count = epoll_wait(poller, ready, SERVER_CLIENTS, -1);

		for (int i = 0; i < count; i++) {
			ssize_t n = read(ready[i].data.fd, request, sizeof(request) - 1);

			if (n <= 0) {
				close(ready[i].data.fd);
				open--;
				continue;
			}
			request[n] = 0;
			need(write(ready[i].data.fd, values[strtoul(request + 4, NULL, 10) % KEYS],
				   VALUE) == VALUE,
			     "write");
		}
	}
	exit(0);
}

void server_start(struct server *s)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	need(listener >= 0 && !bind(listener, (struct sockaddr *)&at, sizeof(at)) &&
		     !listen(listener, SERVER_CLIENTS) &&
		     !getsockname(listener, (struct sockaddr *)&at, &size),
	     "socket");
	s->draw = 1;
	s->pid = fork();
	need(s->pid >= 0, "fork");
	if (s->pid == 0)
		serve(listener);
	for (int i = 0; i < SERVER_CLIENTS; i++) {
		s->clients[i] = socket(AF_INET, SOCK_STREAM, 0);
		need(!connect(s->clients[i], (const struct sockaddr *)&at, sizeof(at)), "connect");
	}
	close(listener);
}

void server_ask(struct server *s)
{
	char line[64], value[VALUE];

	for (int i = 0; i < SERVER_CLIENTS; i++) {
		int n = snprintf(line, sizeof(line), "get %u\n",
				 (s->draw = s->draw * 1664525 + 1013904223) >> 8);

		need(write(s->clients[i], line, (size_t)n) == n, "write");
	}
	for (int i = 0; i < SERVER_CLIENTS; i++)
		need(recv(s->clients[i], value, VALUE, MSG_WAITALL) == VALUE, "recv");
}

void server_end(struct server *s)
{
	for (int i = 0; i < SERVER_CLIENTS; i++)
		close(s->clients[i]);
	waitpid(s->pid, NULL, 0);
}

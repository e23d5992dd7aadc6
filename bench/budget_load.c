/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Fixed amounts of work that bench/budget and bench/end_to_end time:
 *
 *     budget-load server REQUESTS    a server of keys and values, and its clients, over the
 * loopback budget-load memory MILLIONS    loads that follow one another through half the second
 * level
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "collect/governor.h"
#include "collect/governor_work.h"

#define CLIENTS 16
#define KEYS	65536 /* of 64 bytes each: 4 MB */
#define VALUE	64

static void need(int good, const char *what)
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

	for (; open < CLIENTS; open++) {
		e.data.fd = accept(listener, NULL, NULL);
		need(e.data.fd >= 0, "accept");
		need(!epoll_ctl(poller, EPOLL_CTL_ADD, e.data.fd, &e), "epoll_ctl");
	}
	while (open) {
		struct epoll_event ready[CLIENTS];
		int count = epoll_wait(poller, ready, CLIENTS, -1);

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

static void ask(const struct sockaddr_in *at, unsigned long requests)
{
	char line[64], value[VALUE];
	int fds[CLIENTS];
	uint32_t draw = 1;

	for (int i = 0; i < CLIENTS; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM, 0);
		need(!connect(fds[i], (const struct sockaddr *)at, sizeof(*at)), "connect");
	}
	for (unsigned long done = 0; done < requests; done += CLIENTS) {
		for (int i = 0; i < CLIENTS; i++) {
			int n = snprintf(line, sizeof(line), "get %u\n",
					 (draw = draw * 1664525 + 1013904223) >> 8);

			need(write(fds[i], line, (size_t)n) == n, "write");
		}
		for (int i = 0; i < CLIENTS; i++)
			need(recv(fds[i], value, VALUE, MSG_WAITALL) == VALUE, "recv");
	}
	for (int i = 0; i < CLIENTS; i++)
		close(fds[i]);
}

static void run_server(unsigned long requests)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	need(listener >= 0 && !bind(listener, (struct sockaddr *)&at, sizeof(at)) &&
		     !listen(listener, CLIENTS) &&
		     !getsockname(listener, (struct sockaddr *)&at, &size),
	     "socket");
	if (fork() == 0)
		serve(listener);
	ask(&at, requests);
	wait(NULL);
}

static void run_memory(unsigned long millions)
{
	struct governor_work w;

	need(!governor_work_new(governor_set_bytes("", 0, GOVERNOR_SECOND_LEVEL), &w), "mmap");
	governor_work_run(&w, millions * 1000000u);
	governor_work_free(&w);
}

int main(int argc, char **argv)
{
	unsigned long amount = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

	if (amount && !strcmp(argv[1], "server"))
		return run_server(amount), 0;
	if (amount && !strcmp(argv[1], "memory"))
		return run_memory(amount), 0;
	fprintf(stderr, "usage: %s server REQUESTS | memory MILLIONS\n", argv[0]);
	return 2;
}

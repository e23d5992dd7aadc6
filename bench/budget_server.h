/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_BENCH_BUDGET_SERVER_H
#define CULPRIT_BENCH_BUDGET_SERVER_H

#include <stdint.h>
#include <sys/types.h>

/* A server of keys and values, a process of its own, and its clients, over the loopback. */
#define SERVER_CLIENTS 16

struct server {
	pid_t pid;
	int clients[SERVER_CLIENTS];
	uint32_t draw;
};

void server_start(struct server *s);
/* Each client asks once, and all are answered. */
void server_ask(struct server *s);
/* The server ends with its last client, and is waited for. */
void server_end(struct server *s);

/* Ends the program with a line of its cause. */
void need(int good, const char *what);

#endif

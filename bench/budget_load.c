/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Fixed amounts of work, for the loads of bench/budget and bench/end_to_end:
 *
 *     budget-load server REQUESTS    of a server of keys and values, by its clients
 *     budget-load memory MILLIONS    of loads that follow one another through half the second level
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "budget_server.h"
#include "collect/cost/governor.h"
#include "collect/cost/governor_work.h"

static void run_server(unsigned long requests)
{
	struct server s;

	server_start(&s);
	for (unsigned long done = 0; done < requests; done += SERVER_CLIENTS)
		server_ask(&s);
	server_end(&s);
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

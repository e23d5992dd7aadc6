/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "cmd/cmd.h"
#include "cmd/fleet_server.h"
#include "fleet/push.h"
#include "report/session.h"
#include "util/text.h"

/* culprit push: a database's samples to the fleet's server. */

#define PATIENCE_S 600

struct push_command {
	struct fleet_server_options server;
	struct fleet_push_options push;
	uint64_t jitter_s;
	bool quiet;
};

static const struct cmd_option options[] = {
	FLEET_URL_OPTION("to"),
	{"input", 'i', "DB", "database; default: $CULPRIT_DB, ./culprit.db or /var/lib/culprit",
	 CMD_AT(NAME, push_command, push.db)},
	{"machine", 0, "GLOB", "machines by name, in a database of several",
	 CMD_AT(TEXT, push_command, push.machine)},
	FLEET_SERVER_OPTIONS,
	{"jitter", 0, "SECONDS",
	 "waits a random time up to this first, so that not all push at once",
	 CMD_AT(COUNT, push_command, jitter_s), .number = 86400},
	{"backlog", 0, "EPOCHS", "at most so many at a time, the oldest first; default 100",
	 CMD_AT(COUNT, push_command, push.backlog_max), .number = 1000000},
	{"all", 0, NULL, "also what the server says it has: after it lost something",
	 CMD_AT(FLAG, push_command, push.all)},
	{"no-names", 0, NULL, "keeps symbols, code and lines of images here",
	 CMD_AT(FLAG, push_command, push.no_names)},
	{"quiet", 'q', NULL, "says nothing when all is well", CMD_AT(FLAG, push_command, quiet)},
	{NULL},
};

const struct cmd_spec cmd_push_spec = {
	.name = "push",
	.operands = "",
	.help = "Pushes what is new in a database to the fleet's server (ClickHouse). May be ended "
		"at "
		"any\n"
		"moment and done again: nothing is lost, nothing counts twice.",
	.options = options,
};

static void wait_random(uint64_t most_s)
{
	uint64_t random = 0;

	if (most_s && getrandom(&random, sizeof(random), 0) == sizeof(random))
		sleep((unsigned)(random % (most_s + 1)));
}

static void tell(const struct fleet_push_result *r, const struct fleet_server_counts *c)
{
	printf("pushed %llu %s (%" PRIu64 " unchanged): %" PRIu64 " rows, %" PRIu64
	       " functions, %" PRIu64 " stacks, %" PRIu64 " edges, %" PRIu64 " chunks, %" PRIu64
	       " blobs, in %" PRIu64 " requests of %" PRIu64 " bytes\n",
	       TEXT_COUNT(r->epochs, "epoch", "epochs"), r->unchanged, r->rows, r->functions,
	       r->stacks, r->edges, r->chunks, r->blobs, c->requests, c->bytes_sent);
	if (c->retries)
		printf("tried again: %" PRIu64 " times, after %.1f s of waiting\n", c->retries,
		       (double)c->waited_ms / 1000);
}

/* What a user must know even of a quiet push. */
static void warn(const struct fleet_push_result *r)
{
	if (r->left)
		fprintf(stderr,
			"culprit: %" PRIu64 " epochs are left for the next push (--backlog)\n",
			r->left);
	if (r->gone)
		fprintf(stderr,
			"culprit: %" PRIu64 " epochs were removed before they were pushed\n",
			r->gone);
	if (r->damaged)
		fprintf(stderr, "culprit: %" PRIu64 " damaged parts of the database are left out\n",
			r->damaged);
	if (r->too_large)
		fprintf(stderr, "culprit: %" PRIu64 " symbols, code or lines are too large\n",
			r->too_large);
}

int cmd_push(int argc, char **argv)
{
	struct push_command c = {.server.patience_s = PATIENCE_S};
	struct fleet_push_result result = {0};
	struct fleet_server *server = NULL;
	struct diag diag;
	int r = cmd_parse(&cmd_push_spec, argc, argv, NULL, &c, NULL);

	if (r >= 0)
		return r;
	r = fleet_server_open(&c.server, "to", &server, &diag);
	if (r == -EINVAL)
		return cmd_fail_usage("push", &diag);
	if (!r)
		r = report_find_db(c.push.db, &c.push.db, &diag);
	if (!r) {
		wait_random(c.jitter_s);
		r = fleet_push(server, &c.push, &result, &diag);
	}
	if (!r && !c.quiet)
		tell(&result, fleet_server_counts(server));
	warn(&result);
	fleet_server_free(server);
	return r ? cmd_fail(&diag) : CMD_OK;
}

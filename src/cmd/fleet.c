/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cmd/cmd.h"
#include "cmd/fleet_server.h"
#include "fleet/schema.h"
#include "util/text.h"

/* culprit fleet: the server of a fleet, set up and asked. */

#define PATIENCE_S 20

struct fleet_command {
	struct fleet_server_options server;
	struct fleet_schema_options schema;
};

static const struct cmd_option options[] = {
	FLEET_URL_OPTION("to"),
	FLEET_SERVER_OPTIONS,
	{"cluster", 0, "NAME", "init: of the servers' configuration, for shards and replicas",
	 CMD_AT(TEXT, fleet_command, schema.cluster)},
	{"keep", 0, "DAYS", "init, upgrade: removes what is older",
	 CMD_AT(COUNT, fleet_command, schema.keep_days), .number = 36500},
	{NULL},
};

const struct cmd_spec cmd_fleet_spec = {
	.name = "fleet",
	.operands = "init|upgrade",
	.help = "Makes the tables of a fleet on its server (init), or brings them up to date "
		"(upgrade).",
	.options = options,
};

static int set_up(struct fleet_command *c, bool upgrade, struct diag *diag)
{
	struct fleet_schema_result result;
	struct fleet_server *server = NULL;
	int r = fleet_server_open(&c->server, "to", &server, diag);

	if (r)
		return r;
	r = upgrade ? fleet_schema_upgrade(server, &c->schema, &result, diag)
		    : fleet_schema_init(server, &c->schema, &result, diag);
	if (!r)
		printf("%s on ClickHouse %s: %llu %s\n", fleet_server_database(server),
		       result.version, TEXT_COUNT(result.applied, "migration", "migrations"));
	if (!r && result.waiting)
		printf("%llu %s for a newer server\n",
		       TEXT_COUNT(result.waiting, "migration waits", "migrations wait"));
	if (!r && result.dropped)
		printf("removed %llu %s\n",
		       TEXT_COUNT(result.dropped, "table's day", "days of tables"));
	fleet_server_free(server);
	return r;
}

int cmd_fleet(int argc, char **argv)
{
	struct fleet_command c = {.server.patience_s = PATIENCE_S};
	struct diag diag;
	int operand, r = cmd_parse(&cmd_fleet_spec, argc, argv, NULL, &c, &operand);
	const char *verb = r < 0 && operand < argc ? argv[operand] : "";

	if (r >= 0)
		return r;
	if (argc - operand != 1 || (strcmp(verb, "init") && strcmp(verb, "upgrade")))
		r = diag_fail(&diag, EINVAL, "say what: init or upgrade");
	else
		r = set_up(&c, !strcmp(verb, "upgrade"), &diag);
	if (r == -EINVAL)
		return cmd_fail_usage("fleet", &diag);
	return r ? cmd_fail(&diag) : CMD_OK;
}

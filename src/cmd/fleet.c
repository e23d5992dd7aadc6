/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cmd/cmd.h"
#include "cmd/fleet_ask.h"
#include "cmd/fleet_server.h"
#include "fleet/schema.h"
#include "util/text.h"

/* culprit fleet: the server of a fleet, set up and asked. */

#define PATIENCE_S 20

enum { FLEET_LABEL = CMD_LONG };

struct fleet_command {
	struct fleet_server_options server;
	struct fleet_schema_options schema;
	struct fleet_selection selection;
	bool by_machine;
};

static const struct cmd_option options[] = {
	FLEET_URL_OPTION("from"),
	{"to", 0, "URL", "the same, for init and upgrade", CMD_AT(NAME, fleet_server_options, url)},
	{"machines", 0, "GLOB", "only machines of such names",
	 CMD_AT(TEXT, fleet_command, selection.machines)},
	{"label", FLEET_LABEL, "KEY=GLOB", "only samples with such a label; may be repeated"},
	{"since", 0, "TIME", "only epochs that ended later: 12h, 7d, 2w ago, or a day, 2026-11-21",
	 CMD_AT(TEXT, fleet_command, selection.since)},
	{"until", 0, "TIME", "only epochs that began before the end of it",
	 CMD_AT(TEXT, fleet_command, selection.until)},
	{"build", 0, "ID", "only images whose build ID begins so, or matches this glob",
	 CMD_AT(TEXT, fleet_command, selection.build)},
	{"by-machine", 0, NULL, "stats: a set of each machine",
	 CMD_AT(FLAG, fleet_command, by_machine)},
	FLEET_SERVER_OPTIONS,
	{"cluster", 0, "NAME", "init: of the servers' configuration, for shards and replicas",
	 CMD_AT(TEXT, fleet_command, schema.cluster)},
	{"keep", 0, "DAYS", "init, upgrade: removes what is older",
	 CMD_AT(COUNT, fleet_command, schema.keep_days), .number = 36500},
	{NULL},
};

const struct cmd_spec cmd_fleet_spec = {
	.name = "fleet",
	.operands = "init|upgrade|REPORT [REPORT'S OPTION...]",
	.help = "Makes a report of all machines that push to a server, or of some: REPORT "
		"is " FLEET_REPORTS ",\n"
		"with its own options. Or makes the server's tables (init), or brings them up to "
		"date\n"
		"(upgrade).",
	.options = options,
};

static int take_option(void *arg, int value, const char *text, struct diag *diag)
{
	struct fleet_command *c = arg;

	(void)value;
	return cmd_take_label(text, c->selection.labels, &c->selection.label_count,
			      FLEET_LABELS_MAX, diag);
}

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

/* The number of our words at *word: 0, it is the report's. */
static int our_words(char **word)
{
	size_t size = strcspn(*word, "=");

	if (strncmp(*word, "--", 2))
		return 0;
	for (const struct cmd_option *o = options; o->name; o++)
		if (strlen(o->name) == size - 2 && !strncmp(*word + 2, o->name, size - 2))
			return o->argument && !(*word)[size] && word[1] ? 2 : 1;
	return 0;
}

/* Our options may stand anywhere, before and among the report's own, which we do not know. */
static void split_words(int argc, char **argv, char **ours, int *ret_ours, char **theirs)
{
	int count = 0;

	*ret_ours = 0;
	ours[(*ret_ours)++] = argv[0];
	for (int i = 1; i < argc;) {
		int n = our_words(&argv[i]);

		if (!n && !count && argv[i][0] == '-')
			n = 1; /* before the report's name: ours, or a mistake */
		if (!n)
			theirs[count++] = argv[i++];
		for (; n; n--)
			ours[(*ret_ours)++] = argv[i++];
	}
	ours[*ret_ours] = theirs[count] = NULL;
}

static int run(struct fleet_command *c, char **words, int *ret_status, struct diag *diag)
{
	struct fleet_server *server = NULL;
	bool upgrade = words[0] && !strcmp(words[0], "upgrade");
	int r;

	if (words[0] && (upgrade || !strcmp(words[0], "init"))) {
		if (words[1])
			return diag_fail(diag, EINVAL, "unexpected argument '%s'", words[1]);
		*ret_status = CMD_OK;
		return set_up(c, upgrade, diag);
	}
	if (!words[0] || !fleet_ask_knows(words[0]))
		return diag_fail(diag, EINVAL, "say what: init, upgrade, " FLEET_REPORTS);
	r = fleet_server_open(&c->server, "from", &server, diag);
	if (!r)
		r = fleet_ask(server, &c->selection, c->by_machine, words, ret_status, diag);
	fleet_server_free(server);
	return r;
}

int cmd_fleet(int argc, char **argv)
{
	struct fleet_command c = {.server.patience_s = PATIENCE_S};
	char **ours = calloc(2 * ((size_t)argc + 1), sizeof(*ours)), **theirs = ours + argc + 1;
	struct diag diag;
	int count, status = CMD_OK, r;

	if (!ours) {
		diag_fail(&diag, ENOMEM, "out of memory");
		return cmd_fail(&diag);
	}
	split_words(argc, argv, ours, &count, theirs);
	r = cmd_parse(&cmd_fleet_spec, count, ours, take_option, &c, NULL);
	if (r >= 0) {
		free(ours);
		return r;
	}
	r = run(&c, theirs, &status, &diag);
	free(ours);
	if (r == -EINVAL)
		return cmd_fail_usage("fleet", &diag);
	return r ? cmd_fail(&diag) : status;
}

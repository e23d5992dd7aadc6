/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_FLEET_SCHEMA_H
#define CULPRIT_FLEET_SCHEMA_H

#include "fleet/server.h"

/*
 * The tables of a fleet on a server, made and changed by numbered migrations (packaging/fleet). The
 * table `schema` says which a server has had. Statements may be executed again, so an upgrade that
 * was cut off is run again; and none takes rows away, so a fleet may push and ask meanwhile.
 */
struct fleet_schema_options {
	/* Of the servers' configuration (remote_servers), whose shards and replicas hold the rows;
	 * NULL: this one server has all. For replicas init runs on each of them. */
	const char *cluster;
	uint64_t keep_days; /* older days are removed; 0: as it was, at first for ever */
};

struct fleet_schema_result {
	unsigned applied, waiting; /* migrations; waiting: for a newer server */
	char version[64];	   /* the server's */
	uint64_t dropped;	   /* partitions older than keep_days, where there is no TTL */
};

/* The numbers of the first and the last migration that this program needs and knows. */
#define FLEET_SCHEMA_NEEDED 1

/* init: the database and its tables may be missing. options->cluster of an upgrade: NULL is what it
 * was made with. Errors as fleet_server_run(); -ENOENT: there is no fleet to upgrade. */
int fleet_schema_init(struct fleet_server *s, const struct fleet_schema_options *options,
		      struct fleet_schema_result *ret, struct diag *diag);
int fleet_schema_upgrade(struct fleet_server *s, const struct fleet_schema_options *options,
			 struct fleet_schema_result *ret, struct diag *diag);
/* Whether the server has what this program needs. 0, or -ENOENT with what to do. */
int fleet_schema_check(struct fleet_server *s, struct diag *diag);

#endif

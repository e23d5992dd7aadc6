/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_FLEET_SERVER_H
#define CULPRIT_CMD_FLEET_SERVER_H

#include "cmd/cmd.h"
#include "fleet/server.h"

/* What the subcommands that talk to a fleet's server share: options, in a struct of the command's
 * that begins with a struct fleet_server_options. */

/* clang-format off */
#define FLEET_URL_OPTION(name)                                                                     \
	{name, 0, "URL", "the fleet's server: http[s]://HOST[:PORT][/DATABASE]; default: $CULPRIT_FLEET", \
	 CMD_AT(NAME, fleet_server_options, url)}
#define FLEET_SERVER_OPTIONS                                                                       \
	{"auth", 0, "FILE", "has USER:PASSWORD or a token; default: $CULPRIT_FLEET_AUTH",         \
	 CMD_AT(NAME, fleet_server_options, auth_file)},                                           \
	{"ca", 0, "FILE", "certificates to trust instead of the system's",                        \
	 CMD_AT(NAME, fleet_server_options, ca_file)},                                             \
	{"patience", 0, "SECONDS", "for trying again what failed and may pass", \
	 CMD_AT(COUNT, fleet_server_options, patience_s), .number = 0},                                 \
	{"timeout", 0, "SECONDS", "of one request; default 300",                                  \
	 CMD_AT(COUNT, fleet_server_options, timeout_s), .number = 86400}
/* clang-format on */

/* Fills what was not said from the environment, and makes the server. option: what names the URL.
 */
int fleet_server_open(struct fleet_server_options *o, const char *option, struct fleet_server **ret,
		      struct diag *diag);

#endif

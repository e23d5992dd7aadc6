/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "cmd/fleet_server.h"

#include <errno.h>
#include <stdlib.h>

int fleet_server_open(struct fleet_server_options *o, const char *option, struct fleet_server **ret,
		      struct diag *diag)
{
	if (!o->url)
		o->url = getenv("CULPRIT_FLEET");
	if (!o->auth_file)
		o->auth_file = getenv("CULPRIT_FLEET_AUTH");
	if (!o->url || !*o->url)
		return diag_fail(diag, EINVAL, "say where the fleet's server is: --%s URL", option);
	if (o->auth_file && !*o->auth_file)
		o->auth_file = NULL;
	return fleet_server_new(o, ret, diag);
}

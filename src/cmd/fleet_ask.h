/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_CMD_FLEET_ASK_H
#define CULPRIT_CMD_FLEET_ASK_H

#include <stdbool.h>
#include "fleet/fetch.h"
#include "util/diag.h"

/* The reports that a fleet can be asked for: the same as of one machine, with the same options. */
#define FLEET_REPORTS \
	"prof, diff, stats, calls, list, calc, stalls, summary, why, cfg, view or export"

/* Whether it is one of them. */
bool fleet_ask_knows(const char *report);
/*
 * Fetches what the report needs into a database that is removed afterwards, and makes the report of
 * it. words: the report's name and its own command line, ended by NULL. by_machine: stats has a set
 * of each machine. 0 and the exit status, or a negative errno with the sentence.
 */
int fleet_ask(struct fleet_server *server, const struct fleet_selection *selection, bool by_machine,
	      char **words, int *ret_status, struct diag *diag);

#endif

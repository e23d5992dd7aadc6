/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_FLEET_URL_H
#define CULPRIT_FLEET_URL_H

#include "util/diag.h"

#define FLEET_URL_MAX	   1024
#define FLEET_DATABASE_MAX 64
#define FLEET_DATABASE	   "culprit" /* where the URL names none */

/*
 * Takes http[s]://HOST[:PORT][/DATABASE] apart. A database's name is letters, digits and '_', as it
 * is a word of statements. -EINVAL for anything else, also for a user or a password in it, which
 * other users of the machine would see.
 */
int fleet_url_split(const char *url, char ret_base[FLEET_URL_MAX],
		    char ret_database[FLEET_DATABASE_MAX], struct diag *diag);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fleet/url.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define DIGITS	"0123456789"

int fleet_url_split(const char *url, char ret_base[FLEET_URL_MAX],
		    char ret_database[FLEET_DATABASE_MAX], struct diag *diag)
{
	size_t scheme = !strncmp(url, "http://", 7) ? 7 : !strncmp(url, "https://", 8) ? 8 : 0;
	size_t host = strcspn(url + scheme, "/");
	const char *name = url + scheme + host;

	if (!scheme || !host)
		return diag_fail(diag, EINVAL, "'%s' is not http[s]://HOST[:PORT][/DATABASE]", url);
	if (memchr(url + scheme, '@', host))
		return diag_fail(diag, EINVAL,
				 "a URL with a user is seen by all users of the machine; put "
				 "USER:PASSWORD into a file (--auth FILE)");
	name += *name == '/';
	if (!*name)
		name = FLEET_DATABASE;
	if (strspn(url + scheme, LETTERS DIGITS ".-:[]") < host || scheme + host >= FLEET_URL_MAX)
		return diag_fail(diag, EINVAL, "'%.*s' is no host", (int)host, url + scheme);
	if (strspn(name, LETTERS DIGITS) != strlen(name) || strchr(DIGITS, *name) ||
	    strlen(name) > FLEET_DATABASE_MAX - 8)
		return diag_fail(diag, EINVAL, "'%s' is no name of a database: letters, digits, _",
				 name);
	snprintf(ret_base, FLEET_URL_MAX, "%.*s", (int)(scheme + host), url);
	snprintf(ret_database, FLEET_DATABASE_MAX, "%s", name);
	return 0;
}

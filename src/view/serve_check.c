/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include "view/serve.h"

/* Who may see the page. */

enum { OK = 200, FORBIDDEN = 403, NOT_FOUND = 404, NOT_ALLOWED = 405 };

/* In a time that does not tell how much of it was right. */
static bool is_token(const char *token, const char *text)
{
	unsigned char wrong = 0;

	for (size_t i = 0; token[i]; i++) {
		if (!text[i])
			return false;
		wrong |= (unsigned char)(token[i] ^ text[i]);
	}
	return !wrong;
}

unsigned serve_check(const struct serve_key *key, const char *method, const char *url,
		     const char *host, const char *site, enum serve_what *ret)
{
	const char *rest;

	/* A name that somebody else's server pointed here is not one of these. */
	if (!host || (strcasecmp(host, key->host) != 0 && strcasecmp(host, key->other_host) != 0))
		return FORBIDDEN;
	if (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)
		return FORBIDDEN;
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return NOT_ALLOWED;
	if (url[0] != '/' || !is_token(key->token, url + 1))
		return NOT_FOUND;
	rest = url + 1 + strlen(key->token);
	if (!strcmp(rest, "/"))
		*ret = SERVE_PAGE;
	else if (!strcmp(rest, "/code"))
		*ret = SERVE_CODE;
	else
		return NOT_FOUND;
	return OK;
}

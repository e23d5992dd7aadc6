/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_VIEW_SERVE_H
#define CULPRIT_VIEW_SERVE_H

#include <stdint.h>
#include "util/buf.h"
#include "util/diag.h"

/*
 * The page for one person on this machine, over HTTP on the loopback interface.
 *
 * What speaks HTTP is a process of its own, which has the page's bytes and nothing else to do: it
 * parses no database and no foreign file, has no privileges if there are any to give up (root
 * becomes nobody), and asks the process that made the page for what is loaded later, by number. Who
 * asks must know the token in the path, 128 random bits, and must have meant this server: a
 * Host that is not the loopback address (DNS rebinding) or another site's request gets nothing.
 */
struct serve_request {
	const struct buf *page; /* HTML */
	/* Appends the JSON of a function's code. 0, -ENOENT: there is none; or another negative
	 * errno. */
	int (*more)(void *arg, uint32_t function, struct buf *out);
	/* Called once, with the address to open. */
	void (*ready)(void *arg, const char *url);
	void *arg;
	int signals; /* a descriptor that is readable when it shall end */
};

/* Serves until it is told to end. 0 or a negative errno with the sentence. */
int serve_page(const struct serve_request *q, struct diag *diag);

/* For a test: whether an HTTP request is for us. url and the rest as they came; NULL headers: there
 * are none. Returns an HTTP status: 200, 403, 404 or 405. */
struct serve_key {
	char token[33], host[32], other_host[32]; /* "127.0.0.1:4711", "localhost:4711" */
};
enum serve_what { SERVE_PAGE, SERVE_CODE };
unsigned serve_check(const struct serve_key *key, const char *method, const char *url,
		     const char *host, const char *site, enum serve_what *ret);

#endif

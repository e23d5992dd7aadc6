/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_FLEET_SERVER_H
#define CULPRIT_FLEET_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "util/buf.h"
#include "util/diag.h"

/*
 * A ClickHouse server, asked over HTTP. What answers may be anything: an answer is taken only if it
 * is whole and of status 200, redirects are not followed (they would carry the password elsewhere),
 * and what comes is limited in size and in time. What failed for a reason that passes (no
 * connection, an overloaded server, a cut) is tried again after a random part of a wait that
 * doubles ("full jitter": Brooker, Exponential Backoff And Jitter, AWS 2015), as long as the
 * options' patience lasts. So a statement may be executed more than once: all of ours may be.
 */
struct fleet_server;

struct fleet_server_options {
	const char *url;       /* http[s]://HOST[:PORT][/DATABASE] */
	const char *auth_file; /* NULL: none. Holds USER:PASSWORD, or a bearer token */
	const char *ca_file;   /* certificates to trust instead of the system's; NULL: those */
	uint64_t patience_s;   /* with trying again, in all; 0: none */
	uint64_t timeout_s;    /* of one request; 0: 300 */
};

struct fleet_server_counts {
	uint64_t requests, retries, waited_ms, bytes_sent, bytes_got;
};

/* -EINVAL: the URL or the file does not make sense, or others can read the file. Does not connect.
 */
int fleet_server_new(const struct fleet_server_options *options, struct fleet_server **ret,
		     struct diag *diag);
void fleet_server_free(struct fleet_server *s);
/* The database that the URL names ("culprit" when it names none). */
const char *fleet_server_database(const struct fleet_server *s);
const struct fleet_server_counts *fleet_server_counts(const struct fleet_server *s);

/*
 * Executes a statement, in no database ("default") or in the URL's. insert: its rows, in RowBinary;
 * NULL: there are none. The answer replaces what is in ret (NULL: there must be none). 0; -EACCES:
 * the server does not know the user; -ENOENT: no such database or table; -EFBIG: more than ret's
 * maximum; -EREMOTEIO: the server refuses the statement; -EPROTO: it is no ClickHouse; -ETIMEDOUT,
 * -EIO and others: patience is over, diag says with what.
 */
int fleet_server_run(struct fleet_server *s, const char *sql, const struct buf *insert,
		     struct buf *ret, struct diag *diag);
int fleet_server_run_outside(struct fleet_server *s, const char *sql, struct buf *ret,
			     struct diag *diag);

#endif

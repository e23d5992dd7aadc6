/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fleet/server.h"

#include <ctype.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include "config.h"
#include "fleet/url.h"
#include "util/clock.h"
#include "util/io.h"

#define AUTH_MAX	  4096
#define ERROR_MAX	  (64u << 10)
#define CONNECT_TIMEOUT_S 15
#define TIMEOUT_S	  300
#define WAIT_FIRST_MS	  250
#define WAIT_MAX_MS	  30000
/* Long lists of numbers are allowed in a statement; and its answer begins when it is complete, so
 * that an error cannot come in the middle of rows. */
#define SETTINGS                                                                \
	"&wait_end_of_query=1&max_query_size=33554432&max_ast_elements=4000000" \
	"&max_expanded_ast_elements=4000000&insert_distributed_sync=1"

struct fleet_server {
	CURL *curl;
	struct curl_slist *headers;
	char base[FLEET_URL_MAX], database[FLEET_DATABASE_MAX];
	char auth[AUTH_MAX];
	uint64_t patience_ns;
	struct fleet_server_counts counts;
};

/* One request on its way. */
struct request {
	struct buf *answer;
	bool too_large;
};

const char *fleet_server_database(const struct fleet_server *s)
{
	return s->database;
}

const struct fleet_server_counts *fleet_server_counts(const struct fleet_server *s)
{
	return &s->counts;
}

/* The first line of the file, which nobody else may read. */
static int read_auth(struct fleet_server *s, const char *path, struct diag *diag)
{
	struct stat st;
	char *text;
	int r = io_read_file(path, AUTH_MAX - 1, &text, NULL);

	if (r)
		return diag_fail(diag, -r, "cannot read %s: %s", path, strerror(-r));
	text[strcspn(text, "\r\n")] = 0;
	snprintf(s->auth, sizeof(s->auth), "%s", text);
	explicit_bzero(text, strlen(text));
	free(text);
	if (!stat(path, &st) && st.st_mode & (S_IRWXO | S_IWGRP))
		return diag_fail(diag, EINVAL, "others can read %s or change it: chmod 600 %s",
				 path, path);
	return s->auth[0] ? 0
			  : diag_fail(diag, EINVAL,
				      "%s begins with an empty line, not with USER:PASSWORD or a "
				      "token",
				      path);
}

static size_t take_answer(char *data, size_t one, size_t size, void *arg)
{
	struct request *r = arg;

	(void)one;
	if (!r->answer || !buf_append(r->answer, data, size))
		return size;
	r->too_large = true;
	return 0; /* ends the transfer */
}

static int set_up(struct fleet_server *s, const struct fleet_server_options *o)
{
	bool token = s->auth[0] && !strchr(s->auth, ':');
	CURL *c = s->curl;

	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S);
	curl_easy_setopt(c, CURLOPT_TIMEOUT, (long)(o->timeout_s ? o->timeout_s : TIMEOUT_S));
	curl_easy_setopt(c, CURLOPT_USERAGENT, "culprit/" CULPRIT_VERSION);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_answer);
	if (o->ca_file)
		curl_easy_setopt(c, CURLOPT_CAINFO, o->ca_file);
	if (s->auth[0])
		curl_easy_setopt(c, CURLOPT_HTTPAUTH, token ? CURLAUTH_BEARER : CURLAUTH_BASIC);
	if (s->auth[0])
		curl_easy_setopt(c, token ? CURLOPT_XOAUTH2_BEARER : CURLOPT_USERPWD, s->auth);
	/* Without it curl waits a second for leave to send what is long. */
	s->headers = curl_slist_append(NULL, "Expect:");
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, s->headers);
	return s->headers ? 0 : -ENOMEM;
}

int fleet_server_new(const struct fleet_server_options *options, struct fleet_server **ret,
		     struct diag *diag)
{
	struct fleet_server *s = calloc(1, sizeof(*s));
	int r = s ? 0 : diag_fail(diag, ENOMEM, "out of memory");

	if (!r)
		r = fleet_url_split(options->url, s->base, s->database, diag);
	if (!r && options->auth_file)
		r = read_auth(s, options->auth_file, diag);
	if (!r) {
		s->patience_ns = options->patience_s * 1000000000;
		s->curl = curl_easy_init();
		if (!s->curl || set_up(s, options))
			r = diag_fail(diag, ENOMEM, "out of memory");
	}
	if (r)
		fleet_server_free(s);
	else
		*ret = s;
	return r;
}

void fleet_server_free(struct fleet_server *s)
{
	if (!s)
		return;
	curl_easy_cleanup(s->curl);
	curl_slist_free_all(s->headers);
	explicit_bzero(s->auth, sizeof(s->auth));
	free(s);
}

/* What ClickHouse's own errors mean for us, by their numbers; the others pass. */
static int error_of_code(long code)
{
	static const struct {
		long code;
		int meaning;
	} known[] = {
		{60, ENOENT},	  {81, ENOENT},	    {16, ENOENT},     {47, ENOENT},
		{192, EACCES},	  {193, EACCES},    {194, EACCES},    {195, EACCES},
		{497, EACCES},	  {516, EACCES},    {62, EREMOTEIO},  {46, EREMOTEIO},
		{115, EREMOTEIO}, {117, EREMOTEIO}, {53, EREMOTEIO},  {33, EREMOTEIO},
		{36, EREMOTEIO},  {44, EREMOTEIO},  {48, EREMOTEIO},  {57, EREMOTEIO},
		{80, EREMOTEIO},  {170, EREMOTEIO}, {164, EREMOTEIO}, {344, EREMOTEIO},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].code == code)
			return known[i].meaning;
	return 0;
}

/* An answer with another status than 200. *ret_passes: trying again may help. */
static int fail_status(const struct fleet_server *s, long status, struct buf *answer,
		       bool *ret_passes, struct diag *diag)
{
	char text[400];
	long code = 0;
	int known;

	buf_append_u8(answer, 0);
	snprintf(text, sizeof(text), "%s", answer->error ? "" : (const char *)answer->data);
	text[strcspn(text, "\r\n")] = 0;
	if (!strncmp(text, "Code: ", 6))
		code = strtol(text + 6, NULL, 10);
	known = code ? error_of_code(code) : 0;
	*ret_passes = false;
	if (known)
		return diag_fail(diag, known, "%s refuses: %s", s->base, text);
	if (status == 401 || status == 403)
		return diag_fail(diag, EACCES, "%s does not let us in (status %ld): %s", s->base,
				 status, text);
	if (status >= 300 && status < 400)
		return diag_fail(
			diag, EPROTO,
			"%s redirects (status %ld), which is not followed: name the server "
			"itself",
			s->base, status);
	*ret_passes = code || status >= 500 || status == 429 || status == 408;
	return diag_fail(diag, *ret_passes ? EIO : EPROTO, "%s answered with status %ld: %s",
			 s->base, status, text);
}

static int fail_transfer(const struct fleet_server *s, CURLcode code, bool *ret_passes,
			 struct diag *diag)
{
	bool late = code == CURLE_OPERATION_TIMEDOUT;

	*ret_passes = true;
	if (code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE ||
	    code == CURLE_SSL_ISSUER_ERROR || code == CURLE_UNSUPPORTED_PROTOCOL ||
	    code == CURLE_URL_MALFORMAT) {
		*ret_passes = false;
	}
	return diag_fail(diag,
			 !*ret_passes ? EPROTO
			 : late	      ? ETIMEDOUT
				      : EIO,
			 "cannot reach %s: %s", s->base, curl_easy_strerror(code));
}

static int try_once(struct fleet_server *s, const char *url, const void *body, size_t size,
		    struct buf *ret, bool *ret_passes, struct diag *diag)
{
	struct buf other, *answer = ret ? ret : &other;
	struct request request = {answer, false};
	long status = 0;
	CURLcode code;
	int r = 0;

	buf_init(&other, ERROR_MAX);
	buf_clear(answer);
	*ret_passes = false;
	curl_easy_setopt(s->curl, CURLOPT_URL, url);
	curl_easy_setopt(s->curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(s->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	curl_easy_setopt(s->curl, CURLOPT_WRITEDATA, &request);
	s->counts.requests++;
	s->counts.bytes_sent += size;
	code = curl_easy_perform(s->curl);
	s->counts.bytes_got += answer->size;
	curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &status);
	if (request.too_large)
		r = diag_fail(diag, EFBIG, "the answer of %s has more than %zu bytes", s->base,
			      answer->max);
	else if (code)
		r = fail_transfer(s, code, ret_passes, diag);
	else if (status != 200)
		r = fail_status(s, status, answer, ret_passes, diag);
	else if (!ret && answer->size)
		r = diag_fail(diag, EPROTO, "%s is no ClickHouse: it answers to an insertion",
			      s->base);
	buf_free(&other);
	return r;
}

/* Waits before the next attempt. False when patience is over. */
static bool wait_a_while(struct fleet_server *s, unsigned attempt, uint64_t until_ns)
{
	uint64_t most = (uint64_t)WAIT_FIRST_MS << (attempt < 10 ? attempt : 10), random = 0, wait;
	uint64_t now = clock_monotonic_ns();

	most = most < WAIT_MAX_MS ? most : WAIT_MAX_MS;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = now;
	wait = random % most + 1;
	if (now + wait * 1000000 >= until_ns)
		return false;
	s->counts.retries++;
	s->counts.waited_ms += wait;
	nanosleep(&(struct timespec){(time_t)(wait / 1000), (long)(wait % 1000) * 1000000}, NULL);
	return true;
}

static int run(struct fleet_server *s, const char *url, const void *body, size_t size,
	       struct buf *ret, struct diag *diag)
{
	uint64_t until = clock_monotonic_ns() + s->patience_ns;
	bool passes;

	for (unsigned attempt = 0;; attempt++) {
		int r = try_once(s, url, body, size, ret, &passes, diag);

		if (!r || !passes || !wait_a_while(s, attempt, until))
			return r;
	}
}

int fleet_server_run(struct fleet_server *s, const char *sql, const struct buf *insert,
		     struct buf *ret, struct diag *diag)
{
	char *escaped = insert ? curl_easy_escape(s->curl, sql, 0) : NULL, *url = NULL;
	int r;

	if ((insert && !escaped) ||
	    asprintf(&url, "%s/?database=%s" SETTINGS "%s%s", s->base, s->database,
		     insert ? "&query=" : "", insert ? escaped : "") < 0)
		r = diag_fail(diag, ENOMEM, "out of memory");
	else if (insert)
		r = run(s, url, insert->data, insert->size, NULL, diag);
	else
		r = run(s, url, sql, strlen(sql), ret, diag);
	curl_free(escaped);
	free(url);
	return r;
}

int fleet_server_run_outside(struct fleet_server *s, const char *sql, struct buf *ret,
			     struct diag *diag)
{
	char url[FLEET_URL_MAX + 200];

	snprintf(url, sizeof(url), "%s/?wait_end_of_query=1", s->base);
	return run(s, url, sql, strlen(sql), ret, diag);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fleet/schema.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fleet/schema_sql.h"
#include "fleet/url.h"

#define CREATE	   "CREATE TABLE IF NOT EXISTS "
#define ALTER	   "ALTER TABLE "
#define SHARD	   "-- shard: "
#define ENGINE	   "ReplacingMergeTree("
#define LOCAL	   "_local" /* appended to the database's name: where a shard's own rows are */
#define ANSWER_MAX (1u << 20)
#define SETUP_MAX  64
#define TTL_NEEDS  19017 /* ALTER TABLE ... MODIFY TTL */
#define LETTERS	   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

struct schema {
	struct fleet_server *server;
	char cluster[SETUP_MAX];			/* "": none */
	char store[FLEET_DATABASE_MAX + sizeof(LOCAL)]; /* the database that has the rows */
	uint64_t keep_days;
	struct fleet_schema_result *result;
	struct diag *diag;
};

static int execute(struct schema *s, struct buf *sql)
{
	buf_append_u8(sql, 0);
	if (sql->error)
		return diag_fail(s->diag, -sql->error, "out of memory");
	return fleet_server_run_outside(s->server, (const char *)sql->data, NULL, s->diag);
}

/* One line of text that the server answers to a question, without its end. */
static int ask(struct schema *s, const char *sql, char *ret, size_t room)
{
	struct buf answer;
	int r;

	buf_init(&answer, ANSWER_MAX);
	r = fleet_server_run_outside(s->server, sql, &answer, s->diag);
	if (!r) {
		buf_append_u8(&answer, 0);
		snprintf(ret, room, "%s", answer.error ? "" : (const char *)answer.data);
		ret[strcspn(ret, "\r\n")] = 0;
	}
	buf_free(&answer);
	return r;
}

static unsigned version_number(const char *version)
{
	unsigned major = 0, minor = 0;

	return sscanf(version, "%u.%u", &major, &minor) == 2 ? major * 1000 + minor : 0;
}

/* A table that sends rows on to the shards, and asks them. */
static int distribute(struct schema *s, const char *table, size_t size, const char *shard)
{
	const char *database = fleet_server_database(s->server);
	struct buf sql;
	int r;

	buf_init(&sql, ANSWER_MAX);
	buf_printf(&sql,
		   CREATE "%s.%.*s AS %s.%.*s ENGINE = Distributed(%s, %s, %.*s, intHash64(%.*s))",
		   database, (int)size, table, s->store, (int)size, table, s->cluster, s->store,
		   (int)size, table, (int)strcspn(shard, "\n"), shard);
	r = execute(s, &sql);
	buf_free(&sql);
	return r;
}

/* A statement of a migration, with the database's name and, for a cluster, the replicas' engine. */
static int run_statement(struct schema *s, const char *text, const char *end, const char *shard)
{
	bool makes = !strncmp(text, CREATE, strlen(CREATE));
	const char *table = text + strlen(makes ? CREATE : ALTER);
	size_t size = strspn(table, LETTERS);
	const char *engine = makes ? strstr(table, ENGINE) : NULL;
	struct buf sql;
	int r;

	buf_init(&sql, ANSWER_MAX);
	buf_printf(&sql, "%s%s.", makes ? CREATE : ALTER, s->store);
	if (s->cluster[0] && engine && engine < end) {
		buf_append(&sql, table, (size_t)(engine - table));
		buf_printf(&sql,
			   "Replicated" ENGINE
			   "'/clickhouse/tables/{shard}/%s/%.*s', '{replica}', ",
			   s->store, (int)size, table);
		engine += strlen(ENGINE);
		buf_append(&sql, engine, (size_t)(end - engine));
	} else {
		buf_append(&sql, table, (size_t)(end - table));
	}
	r = execute(s, &sql);
	buf_free(&sql);
	return r || !makes || !s->cluster[0] ? r : distribute(s, table, size, shard);
}

static int run_migration(struct schema *s, const struct schema_migration *m)
{
	const char *at = m->sql, *end, *shard = "rand()";
	struct buf sql;
	int r = 0;

	while (*at && !r) {
		if (!strncmp(at, "--", 2) || *at == '\n') {
			if (!strncmp(at, SHARD, strlen(SHARD)))
				shard = at + strlen(SHARD);
			at += strcspn(at, "\n");
			at += *at == '\n';
			continue;
		}
		end = strstr(at, ";\n");
		if (!end)
			return diag_fail(s->diag, EINVAL, "migration %u has no end", m->number);
		r = run_statement(s, at, end, shard);
		at = end + 2;
	}
	if (r)
		return r;
	buf_init(&sql, ANSWER_MAX);
	buf_printf(&sql, "INSERT INTO %s.schema (version, setup) VALUES (%u, '%s')",
		   fleet_server_database(s->server), m->number, s->cluster);
	r = execute(s, &sql);
	buf_free(&sql);
	s->result->applied += !r;
	return r;
}

/* Whether the server has had a migration; and with which cluster. */
static int had(struct schema *s, uint32_t number, bool *ret)
{
	char sql[256], answer[SETUP_MAX + 1];
	int r;

	/* A line of its own for the setup, which is empty for one server. */
	snprintf(sql, sizeof(sql),
		 "SELECT concat('=', setup) FROM %s.schema WHERE version = %u "
		 "ORDER BY applied DESC LIMIT 1 FORMAT TabSeparatedRaw",
		 fleet_server_database(s->server), number);
	r = ask(s, sql, answer, sizeof(answer));
	if (r)
		return r;
	*ret = answer[0] == '=';
	if (*ret && !s->cluster[0])
		snprintf(s->cluster, sizeof(s->cluster), "%s", answer + 1);
	return 0;
}

static void name_store(struct schema *s)
{
	snprintf(s->store, sizeof(s->store), "%s%s", fleet_server_database(s->server),
		 s->cluster[0] ? LOCAL : "");
}

static int make_database(struct schema *s, const char *name)
{
	struct buf sql;
	int r;

	buf_init(&sql, ANSWER_MAX);
	buf_printf(&sql, "CREATE DATABASE IF NOT EXISTS %s", name);
	r = execute(s, &sql);
	buf_free(&sql);
	return r;
}

static int make_places(struct schema *s)
{
	struct buf sql;
	int r = make_database(s, fleet_server_database(s->server));

	if (!r && s->cluster[0])
		r = make_database(s, s->store);
	if (r)
		return r;
	buf_init(&sql, ANSWER_MAX);
	buf_printf(&sql,
		   CREATE
		   "%s.schema (version UInt32, setup String, applied DateTime DEFAULT now()) "
		   "ENGINE = ReplacingMergeTree(applied) ORDER BY version",
		   fleet_server_database(s->server));
	r = execute(s, &sql);
	buf_free(&sql);
	return r;
}

static int migrate(struct schema *s)
{
	unsigned version;
	bool done;
	int r = 0;

	version = version_number(s->result->version);
	for (size_t i = 0; i < schema_migration_count && !r; i++) {
		const struct schema_migration *m = &schema_migrations[i];

		r = had(s, m->number, &done);
		name_store(s);
		if (r || done)
			continue;
		if (m->needs > version)
			s->result->waiting++;
		else
			r = run_migration(s, m);
	}
	return r;
}

/* Removes the days before the limit by their partitions, of a table that has them. */
static int drop_old(struct schema *s, const char *table)
{
	char sql[512], text[1 << 16], *at = text;
	struct buf answer, drop;
	int r;

	snprintf(sql, sizeof(sql),
		 "SELECT DISTINCT toString(partition) FROM system.parts WHERE database = '%s' AND "
		 "table = '%s' AND active AND partition < toString(today() - %llu) FORMAT "
		 "TabSeparatedRaw",
		 s->store, table, (unsigned long long)s->keep_days);
	buf_init(&answer, sizeof(text) - 1);
	buf_init(&drop, ANSWER_MAX);
	r = fleet_server_run_outside(s->server, sql, &answer, s->diag);
	memcpy(text, answer.data ? answer.data : (const uint8_t *)"", r ? 0 : answer.size);
	text[r ? 0 : answer.size] = 0;
	for (char *line; !r && (line = strsep(&at, "\n")) && *line;) {
		if (strspn(line, "0123456789-") != strlen(line))
			continue; /* a table without days */
		buf_clear(&drop);
		buf_printf(&drop, ALTER "%s.%s DROP PARTITION '%s'", s->store, table, line);
		r = execute(s, &drop);
		s->result->dropped += !r;
	}
	buf_free(&answer);
	buf_free(&drop);
	return r;
}

static int keep(struct schema *s)
{
	static const char *const daily[] = {"epochs", "samples", "functions", "stacks",
					    "edges",  "chunks",	 "counters",  "facts"};
	bool has_ttl = version_number(s->result->version) >= TTL_NEEDS;
	struct buf sql;
	int r = 0;

	buf_init(&sql, ANSWER_MAX);
	for (size_t i = 0; s->keep_days && i < sizeof(daily) / sizeof(daily[0]) && !r; i++) {
		buf_clear(&sql);
		buf_printf(&sql, ALTER "%s.%s MODIFY TTL day + INTERVAL %llu DAY", s->store,
			   daily[i], (unsigned long long)s->keep_days);
		r = has_ttl ? execute(s, &sql) : drop_old(s, daily[i]);
	}
	buf_free(&sql);
	return r;
}

static int start(struct schema *s, const struct fleet_schema_options *o)
{
	if (o->cluster && (!*o->cluster || strlen(o->cluster) >= SETUP_MAX ||
			   strspn(o->cluster, LETTERS) != strlen(o->cluster)))
		return diag_fail(s->diag, EINVAL,
				 "'%s' is no name of a cluster: letters, digits, _", o->cluster);
	if (o->keep_days > 36500)
		return diag_fail(s->diag, EINVAL, "more than 36500 days");
	snprintf(s->cluster, sizeof(s->cluster), "%s", o->cluster ? o->cluster : "");
	s->keep_days = o->keep_days;
	name_store(s);
	memset(s->result, 0, sizeof(*s->result));
	return ask(s, "SELECT version() FORMAT TabSeparatedRaw", s->result->version,
		   sizeof(s->result->version));
}

int fleet_schema_init(struct fleet_server *s, const struct fleet_schema_options *options,
		      struct fleet_schema_result *ret, struct diag *diag)
{
	struct schema schema = {.server = s, .result = ret, .diag = diag};
	int r = start(&schema, options);

	if (!r)
		r = make_places(&schema);
	if (!r)
		r = migrate(&schema);
	return r ? r : keep(&schema);
}

int fleet_schema_upgrade(struct fleet_server *s, const struct fleet_schema_options *options,
			 struct fleet_schema_result *ret, struct diag *diag)
{
	struct schema schema = {.server = s, .result = ret, .diag = diag};
	int r = start(&schema, options);

	if (!r)
		r = fleet_schema_check(s, diag);
	if (!r)
		r = migrate(&schema);
	return r ? r : keep(&schema);
}

int fleet_schema_check(struct fleet_server *s, struct diag *diag)
{
	struct fleet_schema_result none;
	struct schema schema = {.server = s, .result = &none, .diag = diag};
	bool done = false;
	int r = had(&schema, FLEET_SCHEMA_NEEDED, &done);

	if ((!r && !done) || r == -ENOENT)
		return diag_fail(diag, ENOENT,
				 "the server has no database '%s' of a fleet: culprit fleet init "
				 "--to URL makes it",
				 fleet_server_database(s));
	return r;
}

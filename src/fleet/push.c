/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fleet/push.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include "db/reader.h"
#include "fleet/push_state.h"
#include "fleet/schema.h"

#define BACKLOG_DEFAULT 100
#define ANSWER_MAX	(256u << 20)
#define KNOWN_MAX	(8u << 20)

/* An epoch of the fleet: the flush up to which it is there, and whether it was sealed then. */
#define KNOWN_SEALED (1ull << 63)

static int note_known(struct map64 *known, const struct buf *answer, struct diag *diag)
{
	struct cursor c = cursor_over(answer->data, answer->size);
	int r = 0;

	while (cursor_left(&c) && !r) {
		uint64_t epoch = cursor_u64(&c), flush = cursor_u64(&c);
		bool sealed = cursor_u8(&c);

		if (c.error)
			return diag_fail(diag, EPROTO, "the server's answer ends within a row");
		r = map64_put(known, epoch, (flush & ~KNOWN_SEALED) | (sealed ? KNOWN_SEALED : 0));
	}
	return r ? diag_fail(diag, -r, "cannot hold the fleet's epochs: %s", strerror(-r)) : 0;
}

/* What the fleet has of the database's machines. */
static int ask_known(struct fleet_server *s, const struct db_epoch *epochs, size_t count,
		     struct map64 *known, struct diag *diag)
{
	const char *last = "";
	struct buf sql, answer;
	int r;

	buf_init(&sql, ANSWER_MAX);
	buf_init(&answer, ANSWER_MAX);
	buf_printf(&sql, "SELECT epoch, ver, sealed FROM epochs FINAL WHERE machine IN (0");
	for (size_t i = 0; i < count; i++)
		if (strcmp(last, epochs[i].machine)) {
			last = epochs[i].machine;
			buf_printf(&sql, ",%llu", (unsigned long long)fleet_id_machine(last));
		}
	buf_printf(&sql, ") FORMAT RowBinary");
	buf_append_u8(&sql, 0);
	r = sql.error ? diag_fail(diag, -sql.error, "too many machines")
		      : fleet_server_run(s, (const char *)sql.data, NULL, &answer, diag);
	if (!r)
		r = note_known(known, &answer, diag);
	buf_free(&sql);
	buf_free(&answer);
	return r;
}

/* Pushes what is new of an epoch. */
static int push_one(struct push *p, const struct db_epoch *e, const struct map64 *known)
{
	uint64_t limit = p->options->backlog_max ? p->options->backlog_max : BACKLOG_DEFAULT;
	uint64_t there = 0;
	int r;

	p->machine = e->machine;
	p->epoch_name = e->name;
	p->epoch = fleet_id_epoch(e->machine, e->name);
	p->day = fleet_day(e->name);
	if (p->options->all || map64_get(known, p->epoch, &there))
		there = 0;
	if (there & KNOWN_SEALED) {
		p->result->unchanged++;
		return 0;
	}
	p->pushed = (uint32_t)there;
	r = db_stream_open(&io_system, p->options->db, e->machine, e->name, &p->stream, p->diag);
	if (r == -ENOENT) {
		p->result->gone++;
		r = 0;
	} else if (!r && there && p->pushed == p->stream.epoch.last_segment &&
		   !p->stream.epoch.sealed) {
		p->result->unchanged++;
	} else if (!r && p->result->epochs == limit) {
		p->result->left++;
	} else if (!r) {
		r = push_epoch(p, p->stream.epoch.sealed);
		p->result->epochs += !r;
	}
	db_stream_close(&p->stream);
	return r;
}

static int push_all(struct push *p, const struct db_epoch *epochs, size_t count)
{
	struct map64 *known = map64_new(KNOWN_MAX);
	const char *glob = p->options->machine;
	int r = known ? 0 : diag_fail(p->diag, ENOMEM, "out of memory");

	if (!r && !p->options->all)
		r = ask_known(p->server, epochs, count, known, p->diag);
	/* The oldest first: they are removed first. */
	for (size_t i = 0; i < count && !r; i++)
		if (!glob || !fnmatch(glob, epochs[i].machine, 0))
			r = push_one(p, &epochs[i], known);
	map64_free(known);
	return r;
}

int fleet_push(struct fleet_server *s, const struct fleet_push_options *options,
	       struct fleet_push_result *ret, struct diag *diag)
{
	struct push p = {.server = s, .options = options, .result = ret, .diag = diag};
	const struct db_epoch *epochs;
	struct db_reader *reader = NULL;
	size_t count;
	int r = db_reader_open(options->db, &io_system, &reader, diag);

	memset(ret, 0, sizeof(*ret));
	if (!r)
		r = db_reader_epochs(reader, &epochs, &count, diag);
	if (!r)
		r = fleet_schema_check(s, diag);
	if (!r) {
		fleet_rows_init(&p.rows, s);
		r = push_all(&p, epochs, count);
		fleet_rows_free(&p.rows);
	}
	db_reader_free(reader);
	return r;
}

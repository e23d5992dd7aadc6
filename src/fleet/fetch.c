/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fleet/fetch.h"

#include <errno.h>
#include <string.h>
#include "fleet/fetch_state.h"
#include "fleet/schema.h"

#define BATCH_ROWS (4u << 20)

int fetch_ask(struct fetch *f, const char *begin, const struct buf *where, const char *end,
	      struct buf *answer)
{
	struct buf sql;
	int r;

	buf_init(&sql, where->size + strlen(begin) + strlen(end) + 1);
	buf_append(&sql, begin, strlen(begin));
	buf_append(&sql, where->data, where->size);
	buf_append(&sql, end, strlen(end) + 1);
	r = sql.error ? diag_fail(f->diag, ENOMEM, "out of memory")
		      : fleet_server_run(f->server, (const char *)sql.data, NULL, answer, f->diag);
	buf_free(&sql);
	return r;
}

int fetch_fail_row(struct fetch *f)
{
	return diag_fail(f->diag, EPROTO, "the server's answer ends within a row");
}

int fetch_flush(struct fetch *f)
{
	int r;

	db_batch_interval(f->batch, f->scope.start_ns, f->scope.end_ns);
	r = db_writer_flush(f->writer, f->batch, f->diag);
	if (r)
		return r;
	db_batch_clear(f->batch);
	fleet_names_forget(&f->names);
	return 0;
}

int fetch_added(struct fetch *f, int r)
{
	if (r == -ENOSPC) {
		r = fetch_flush(f);
		return r ? r : 1;
	}
	return r ? diag_fail(f->diag, -r, "cannot take the fleet's rows: %s", strerror(-r)) : 0;
}

static int fill(struct fetch *f)
{
	int r = fetch_rows(f);

	if (!r && f->detail == FLEET_EVERYTHING)
		r = fetch_stacks(f);
	if (!r && f->detail == FLEET_EVERYTHING)
		r = fetch_edges(f);
	if (!r && f->detail == FLEET_EVERYTHING)
		r = fetch_chunks(f);
	if (!r)
		r = fetch_facts(f);
	if (!r)
		r = fetch_flush(f);
	return r ? r : fetch_blobs(f);
}

static int make_database(struct fetch *f)
{
	int r = db_writer_open(f->path, FLEET_MACHINE, &io_system, &f->writer, f->diag);

	if (r)
		return r;
	r = db_writer_begin_epoch(f->writer, f->scope.start_ns, f->diag);
	if (!r)
		r = fill(f);
	if (!r)
		return db_writer_close(f->writer, f->diag);
	db_writer_free(f->writer);
	return r;
}

int fleet_fetch(struct fleet_server *s, const struct fleet_selection *selection,
		enum fleet_detail detail, const char *path, struct fleet_fetched *ret,
		struct diag *diag)
{
	struct fetch f = {.server = s, .path = path, .detail = detail, .result = ret, .diag = diag};
	int r = fleet_schema_check(s, diag);

	memset(ret, 0, sizeof(*ret));
	if (r)
		return r;
	f.batch = db_batch_new(BATCH_ROWS);
	r = fleet_names_init(&f.names);
	if (r || !f.batch)
		r = diag_fail(diag, ENOMEM, "out of memory");
	if (!r)
		r = fleet_scope_find(s, selection, &f.scope, diag);
	if (!r)
		r = make_database(&f);
	ret->machines = f.scope.machines;
	ret->epochs = f.scope.epochs;
	ret->forged = f.names.forged;
	fleet_scope_free(&f.scope);
	fleet_names_free(&f.names);
	db_batch_free(f.batch);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fleet/tables.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *columns;
} tables[] = {
#define X(id, name, columns) [FLEET_##id] = {name, columns},
	FLEET_TABLES(X)
#undef X
};

void fleet_rows_init(struct fleet_rows *r, struct fleet_server *server)
{
	memset(r, 0, sizeof(*r));
	r->server = server;
	for (int i = 0; i < FLEET_TABLE_COUNT; i++)
		buf_init(&r->pending[i], FLEET_BLOCK_MAX);
}

void fleet_rows_free(struct fleet_rows *r)
{
	for (int i = 0; i < FLEET_TABLE_COUNT; i++)
		buf_free(&r->pending[i]);
}

void fleet_rows_drop(struct fleet_rows *r)
{
	for (int i = 0; i < FLEET_TABLE_COUNT; i++) {
		buf_clear(&r->pending[i]);
		r->waiting[i] = 0;
	}
}

struct buf *fleet_row(struct fleet_rows *r, enum fleet_table table)
{
	return &r->pending[table];
}

int fleet_row_end(struct fleet_rows *r, enum fleet_table table, struct diag *diag)
{
	struct buf *b = &r->pending[table];

	if (b->error)
		return diag_fail(diag, -b->error, "cannot hold the rows of %s: %s",
				 tables[table].name, strerror(-b->error));
	r->waiting[table]++;
	return b->size < FLEET_BLOCK_BYTES ? 0 : fleet_rows_send(r, table, diag);
}

int fleet_rows_send(struct fleet_rows *r, enum fleet_table table, struct diag *diag)
{
	struct buf *b = &r->pending[table];
	char sql[256];
	int err;

	if (!r->waiting[table])
		return 0;
	snprintf(sql, sizeof(sql), "INSERT INTO %s (%s) FORMAT RowBinary", tables[table].name,
		 tables[table].columns);
	err = fleet_server_run(r->server, sql, b, NULL, diag);
	if (err)
		return err;
	r->sent[table] += r->waiting[table];
	r->waiting[table] = 0;
	/* One large blob does not make the rest of the program large. */
	if (b->room > 2 * FLEET_BLOCK_BYTES)
		buf_free(b);
	buf_clear(b);
	return 0;
}

int fleet_rows_send_all(struct fleet_rows *r, struct diag *diag)
{
	int err = 0;

	for (int i = 0; i < FLEET_TABLE_COUNT && !err; i++)
		err = fleet_rows_send(r, (enum fleet_table)i, diag);
	return err;
}

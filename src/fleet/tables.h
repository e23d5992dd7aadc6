/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_FLEET_TABLES_H
#define CULPRIT_FLEET_TABLES_H

#include "fleet/server.h"

/*
 * Rows on their way to a fleet's tables, in RowBinary: numbers little-endian, a string or an array
 * as its size in LEB128 and its bytes, which is what buf_append_* write and cursor_* read. A
 * table's rows are sent when they fill a block, so memory is bounded by the number of tables.
 */
#define FLEET_TABLES(X)                                                                  \
	X(EPOCHS, "epochs", "day,machine,epoch,name,start_ns,end_ns,samples,sealed,ver") \
	X(SAMPLES, "samples", "day,image,event,epoch,subject,off,cnt,ver")               \
	X(FUNCTIONS, "functions", "day,image,fn,event,epoch,subject,cnt,ver")            \
	X(STACKS, "stacks", "day,event,epoch,subject,stack,cnt,ver")                     \
	X(EDGES, "edges",                                                                \
	  "day,image,event,epoch,evidence,from_off,to_image,to_off,cnt,windows,ver")     \
	X(CHUNKS, "chunks", "day,epoch,kind,number,chunk,ver")                           \
	X(COUNTERS, "counters", "day,epoch,event,name,value,ver")                        \
	X(FACTS, "facts", "day,epoch,name,value,ver")                                    \
	X(MACHINES, "machines", "machine,name,day")                                      \
	X(EVENTS, "events", "event,name,period,flags,day")                               \
	X(SUBJECTS, "subjects", "subject,pairs,day")                                     \
	X(IMAGES, "images", "image,id,path,day")                                         \
	X(NAMES, "names", "image,fn,name,day")                                           \
	X(BLOBS, "blobs", "image,kind,packed,day")                                       \
	X(FRAMES, "frames", "stack,images,offs,day")

enum fleet_table {
#define X(id, name, columns) FLEET_##id,
	FLEET_TABLES(X)
#undef X
		FLEET_TABLE_COUNT
};

#define FLEET_BLOCK_BYTES (4u << 20)
#define FLEET_BLOCK_MAX	  (80u << 20) /* with the last row, which may be a blob */

struct fleet_rows {
	struct fleet_server *server;
	struct buf pending[FLEET_TABLE_COUNT];
	uint64_t waiting[FLEET_TABLE_COUNT], sent[FLEET_TABLE_COUNT]; /* rows */
};

void fleet_rows_init(struct fleet_rows *r, struct fleet_server *server);
void fleet_rows_free(struct fleet_rows *r);
/* For one row: its columns are appended to what this returns, then it is ended. */
struct buf *fleet_row(struct fleet_rows *r, enum fleet_table table);
/* Ends a row, and sends the block if it is full. 0, or as fleet_server_run. */
int fleet_row_end(struct fleet_rows *r, enum fleet_table table, struct diag *diag);
/* Sends what is left of a table; of all tables. */
int fleet_rows_send(struct fleet_rows *r, enum fleet_table table, struct diag *diag);
int fleet_rows_send_all(struct fleet_rows *r, struct diag *diag);
/* Forgets what was not sent. */
void fleet_rows_drop(struct fleet_rows *r);

static inline void fleet_put_u16(struct buf *b, uint16_t v)
{
	uint16_t bytes = htole16(v);

	buf_append(b, &bytes, sizeof(bytes));
}

#endif

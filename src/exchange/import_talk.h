/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_EXCHANGE_IMPORT_TALK_H
#define CULPRIT_EXCHANGE_IMPORT_TALK_H

#include <stdint.h>
#include "exchange/harvest.h"

/*
 * What the process that reads a foreign profile (import_worker.c) and its parent (import_read.c)
 * say to each other; both are the same program, so structures go as they are. The parent treats
 * all of it as hostile.
 */
#define IMPORT_WORKER_NAME "culprit-import-worker"
#define IMPORT_KEEP_RAW	   "raw"	       /* the last argument of its command line, or "" */
#define IMPORT_INPUT	   0		       /* the worker's descriptor of the profile */
#define IMPORT_TABLE_MAX   (UINT64_C(1) << 30) /* bytes of an unwind table */

enum import_talk_kind {
	IMPORT_DONE = 1, /* then the text, the reason that it is not all, and the harvest */
	IMPORT_PROGRESS, /* done, of */
	IMPORT_UNWIND,	 /* then struct import_wanted; to be answered */
};

struct import_message { /* of the child */
	uint32_t kind;
	int32_t status;
	uint32_t text_size, cut_size;
	uint64_t size; /* of the harvest */
	uint64_t done, of;
};

/* An image whose unwind table is asked for. */
struct import_wanted {
	uint32_t kind; /* enum harvest_kind: a file, or the vDSO */
	uint32_t path_size;
	uint64_t inode;
	uint8_t build_id_size, build_id[IMAGE_ID_MAX];
	char path[4096]; /* not terminated */
};

/*
 * The answer, followed by the segments and what image_unwind_describe() makes of the file. With
 * status 0 it comes with a descriptor of the file.
 */
struct import_table {
	int32_t status;
	uint32_t segment_count;
	uint64_t size; /* 0: it has no table */
};

#endif

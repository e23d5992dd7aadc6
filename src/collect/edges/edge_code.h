/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_EDGES_EDGE_CODE_H
#define CULPRIT_COLLECT_EDGES_EDGE_CODE_H

#include <stddef.h>
#include <stdint.h>
#include "bpf/wire_edges.h"
#include "collect/process/files.h"
#include "image/worker/worker.h"
#include "util/diag.h"

/*
 * The code that the interpreter of edge samples may run over: files by slot, and the strips of them
 * that have been decoded. Code is decoded (by the worker: it is foreign) when a window ended for
 * lack of it, together with what follows; when its memory is full, the least used is forgotten.
 */
struct edge_code;

/* Where strips go: the maps of the interpreter, or a test's. */
struct edge_memory {
	struct wire_micro *micros;
	uint32_t micro_count;
	int (*put_strip)(void *arg, const struct wire_strip_key *key,
			 const struct wire_strip *strip);
	void (*drop_strip)(void *arg, const struct wire_strip_key *key);
	/* Returns when no window uses what was dropped before. */
	int (*quiesce)(void *arg);
	void *arg;
};

#define EDGE_FILES_MAX	1024
#define EDGE_STRIPS_MAX 8192

/* One file; what does not concern windows is private to edge_code.c. */
struct edge_file {
	struct image_id id;
	char *path;
	size_t path_size;
	struct image_segment *segments;
	uint32_t segment_count;
	uint64_t number; /* of its struct mapped_file */
	/* For the code that stores it: the batch that the image's number belongs to. */
	uint32_t batch_number, image;
	int fd;
	bool starts_known;
	unsigned failures;	 /* of the worker */
	uint32_t *starts, *seen; /* ascending file offsets: functions; instructions that were met */
	size_t start_count, seen_count;
};

/* memory is copied, its parts and the worker are borrowed. */
int edge_code_new(const struct edge_memory *memory, struct image_worker *worker,
		  struct edge_code **ret, struct diag *diag);
void edge_code_free(struct edge_code *c);

/* The slot of a file, 0: none. */
uint32_t edge_code_find(const struct edge_code *c, uint64_t number);
/* Gives a file a slot; fd is taken over in any case. -ENOSPC: all are given, -ENOMEM. */
int edge_code_add(struct edge_code *c, const struct mapped_file *file, int fd, uint32_t *ret_slot);
/* NULL when no file has the slot. */
struct edge_file *edge_code_file(struct edge_code *c, uint32_t slot);
/* The offset in the image. False when no executable segment has it. */
bool edge_file_offset(const struct edge_file *f, uint32_t file_offset, uint64_t *ret);

/*
 * Makes sure that the instruction at an offset of a file is decoded, and what follows it. Returns
 * how many strips were decoded, or a negative errno.
 */
int edge_code_want(struct edge_code *c, struct wire_place place);
/* Notes that a window came by. */
void edge_code_use(struct edge_code *c, struct wire_place place);
/* Forgets everything: slots are given again. No window may be unread. */
int edge_code_clear(struct edge_code *c);

struct edge_code_counters {
	uint64_t files, strips, micros;	      /* there now */
	uint64_t decoded, again, evicted;     /* strips; again: with a start that was not known */
	uint64_t unreadable, no_code, clears; /* strips that could not be read, are not code */
};
void edge_code_read_counters(const struct edge_code *c, struct edge_code_counters *ret);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_PATHS_H
#define CULPRIT_DB_PATHS_H

#include "db/key.h"

/*
 * Path profiles (Ball and Larus, MICRO-29, 1996): how often control took each acyclic path through
 * a function. A path begins at the function's entry or where a back edge or a cut edge leads to,
 * runs through blocks, and ends as enum db_path_end says. So every execution of a block or an edge
 * belongs to exactly one execution of a path: the paths through it add up to its count. Where a
 * path was left, that holds as far as its last blocks are known.
 *
 * The event is DB_PATHS_EVENT with period 1: a count is an execution.
 */
#define DB_PATHS_EVENT	   "paths"
#define DB_PATH_BLOCKS_MAX 4096

/* The fact that says what an epoch's paths cover; its values are those of DB_COUNTS_FACT. */
#define DB_PATHS_FACT "paths"

/* How a path ends; part of its key. The numbers are stored in files. */
enum db_path_end {
	DB_PATH_RETURN = 1, /* by a return or a jump out of the function */
	DB_PATH_BACK,	    /* by a back edge to a block, where the next path begins */
	DB_PATH_CUT,	    /* by an edge that was cut as there were too many paths: likewise */
	DB_PATH_LEFT,	    /* by an exception, longjmp, signal or the end of the thread */
	DB_PATH_CALL,	    /* by a call that does not return */
	DB_PATH_END_MAX = DB_PATH_CALL,
};

/* Whether another path of the function begins where this one ends. */
static inline bool db_path_goes_on(enum db_path_end end)
{
	return end == DB_PATH_BACK || end == DB_PATH_CUT;
}

/* What is added up: executions, at least one; those of them that were timed; the sum of their
 * times. */
struct db_path_sums {
	uint64_t count, timed, time_ns;
};

/* All offsets are of the image: of the function's entry, and of the blocks' first instructions. */
struct db_path {
	uint32_t image, event; /* numbers that the batch gave */
	uint64_t function;
	const uint64_t *blocks; /* 1 to DB_PATH_BLOCKS_MAX, in the order in which they run */
	uint32_t block_count;
	enum db_path_end end;
	uint64_t to; /* the block that the path goes on to; else 0 */
};

/*
 * Adds executions of a path. 0, or, with nothing added: -ENOSPC, -ENOMEM; -EINVAL, also for too
 * many blocks, for more timed executions than there are and for a time without any.
 */
int db_batch_path(struct db_batch *b, const struct db_path *path, const struct db_path_sums *sums);
size_t db_batch_paths(const struct db_batch *b); /* distinct; at most max_rows / 16 + 1 */

struct db_path_item {
	const struct image_id *image;
	struct db_bytes image_path;
	const struct db_event *event;
	uint64_t function;
	const uint64_t *blocks;
	uint32_t block_count;
	enum db_path_end end;
	uint64_t to;
	uint64_t count, timed, time_ns; /* as in struct db_path_sums */
};

/* By (image, event, function, blocks, end, to); a path stands before those that it begins. */
int db_path_compare(const struct db_path_item *a, const struct db_path_item *b);

#endif

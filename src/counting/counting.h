/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COUNTING_COUNTING_H
#define CULPRIT_COUNTING_COUNTING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "collect/process/originals.h"
#include "counting/report.h"
#include "db/batch.h"
#include "instrument/paths.h"
#include "util/diag.h"
#include "util/identity.h"

/*
 * Counts how often each edge of each function ran, in a command and all processes that come of it,
 * from the first instruction to the last. A separate thread traces them (instrument/attach), and
 * separate processes plan (planner.h). Functions of the program are counted from the exec on, those
 * of libraries from when the loader has mapped them, before they run.
 */
struct counting;

struct counting_path {
	const struct image_id *image;
	const char *path;
	uint64_t function, count;
	enum instrument_path_end end;
	uint64_t to; /* the block that it goes on to; else 0 */
	const uint64_t *blocks;
	uint64_t block_count;
};

/* Starts the planning process and blocks SIGCHLD. To be called while there is only one thread, and
 * before anything is opened that planners must not inherit. -EOPNOTSUPP: not on this machine. */
int counting_new(struct counting **ret, struct diag *diag);
/* Programs that still run go on uncounted. NULL is fine. */
void counting_free(struct counting *c);

/* Before the start: paths are counted, at most so many of a function, instead of edges. names: an
 * extended regular expression, of the functions that are; NULL: all are. Borrowed. -EINVAL: it is
 * none. */
int counting_count_paths(struct counting *c, uint32_t max, const char *names, struct diag *diag);
/* Traces a process, a child of ours that is held just before its exec. Fails if it must not be
 * touched; diag says why. */
int counting_start(struct counting *c, pid_t pid, struct diag *diag);
/* Or a process that runs already, as it is by now, and what it forks. */
int counting_start_running(struct counting *c, pid_t pid, struct diag *diag);
/* Waits until the command has ended and returns its status, since its end is reported to the thread
 * that traces it. From now on nothing new is planned. -1: it is no longer traced. */
int counting_wait(struct counting *c);
/* Removes the copies from all that still runs, and reads the counts. */
void counting_stop(struct counting *c);

/*
 * Instead of counting_start(): counts a process that runs already, and what it forks, in bursts at
 * random moments, which cost at most so many percent of its time. Until it is known which functions
 * have samples, it just runs: as long as counting_wants_samples, the caller hands over all samples
 * so far, one by one, and then calls counting_take_samples_end. The report says why something was
 * not counted.
 */
int counting_start_bursts(struct counting *c, pid_t pid, double percent, struct diag *diag);
bool counting_wants_samples(struct counting *c);
int counting_take_sample(struct counting *c, uint32_t image, const char *path, uint64_t address,
			 uint64_t count);
void counting_take_samples_end(struct counting *c);

/* Calls f with each count, how often control went from one instruction to another, until f returns
 * other than 0; after counting_stop. */
int counting_each(const struct counting *c, int (*f)(void *arg, const struct db_execution *e),
		  void *arg);
/* The same with each path. */
int counting_each_path(const struct counting *c, int (*f)(void *arg, const struct counting_path *p),
		       void *arg);
void counting_read_report(const struct counting *c, struct counting_report *ret);

/* CPU time of the tracing thread so far. For the thread that started it. arg: the struct counting.
 */
uint64_t counting_cpu_ns(void *arg);

/* What the copies are of; for any thread. */
void counting_fill_originals(struct counting *c, struct originals *ret);

#endif

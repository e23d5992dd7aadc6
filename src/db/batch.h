/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_BATCH_H
#define CULPRIT_DB_BATCH_H

#include <stddef.h>
#include <stdint.h>
#include "util/identity.h"

/*
 * A batch collects what one flush will write: for each profile, that is each (image, event,
 * subject), counts by offset; edges; and named counters and facts. It is memory only, sums as it
 * goes, and has limits: -ENOSPC from an add means "flush now and add again".
 */
struct db_batch;

#define DB_EVENT_PRECISE    1u /* no skid, as the hardware says */
#define DB_EVENT_RANDOMIZED 2u /* the period was redrawn several times a second */
#define DB_EVENT_KERNEL	    4u /* kernel mode was sampled */
#define DB_EVENT_USER	    8u /* user mode was sampled */
/* The governor chose the period, and may have changed it in the run: samples of one event with two
 * of its periods were not counted twice. */
#define DB_EVENT_GOVERNED 16u

struct db_event {
	const char *name; /* as the user would write it: "cycles", "cache-misses:u" */
	uint64_t period;  /* mean number of event units (cpu-clock: ns) between samples */
	uint32_t flags;
};

/* The name of samples by the scheduler's tick, which tell of time as those of "cpu-clock" do. */
#define DB_EVENT_TICK_NAME "cpu-clock:tick"

#define DB_EVENT_NONE UINT32_MAX /* for counters that belong to no event */

struct db_batch *db_batch_new(size_t max_rows); /* NULL when out of memory */
void db_batch_free(struct db_batch *b);
/* Empties it, dictionaries included: every index that it gave is void. */
void db_batch_clear(struct db_batch *b);

/*
 * Dictionaries: equal things get the same index. An image is its id alone: the path that came with
 * it first stays. 0, -ENOSPC, -ENOMEM, or -EINVAL for a name that is too long (path 4096, event
 * 1024, subject SUBJECT_MAX_BYTES, fact 4096 bytes) or an index that this batch did not give.
 */
int db_batch_image(struct db_batch *b, const struct image_id *id, const char *path,
		   size_t path_size, uint32_t *ret);
int db_batch_event(struct db_batch *b, const struct db_event *event, uint32_t *ret);
int db_batch_subject(struct db_batch *b, const void *subject, size_t size, uint32_t *ret);
int db_batch_profile(struct db_batch *b, uint32_t image, uint32_t event, uint32_t subject,
		     uint32_t *ret);

/* Adds count samples at offset. 0, -ENOSPC or -ENOMEM (then nothing was added). */
int db_batch_add(struct db_batch *b, uint32_t profile, uint64_t offset, uint64_t count);

/* Who saw an edge, and so what many of them tell; part of its key. Numbers are in the file. */
enum db_evidence {
	DB_EVIDENCE_WINDOWS = 1, /* windows of interpreted code, which start where time is spent */
	DB_EVIDENCE_RECORDS,	 /* branch records of the hardware: they start where branches are */
	DB_EVIDENCE_COUNTS,	 /* counters in the program: all executions there were */
	DB_EVIDENCE_MAX = DB_EVIDENCE_COUNTS,
};

/*
 * An edge: control went from one instruction to another, as a window of interpreted code or a list
 * of branch records saw it: both are windows here. Edges belong to an image and an event such as
 * "windows", and have no subject.
 *
 * from is the instruction that transfers control, to where it went; there is one for each branch,
 * jump, call and return, direct or not (a conditional branch that is not taken goes to the next
 * instruction). Between them control goes straight on. Two special rows say where a window begins
 * and ends, so that the visits of every instruction can be computed:
 *   DB_EDGE_START -> to	the window's first instruction is to
 *   from -> DB_EDGE_END	the window ended before the instruction at from was executed
 */
#define DB_EDGE_START UINT64_MAX
#define DB_EDGE_END   UINT64_MAX

/*
 * Counts (DB_EVIDENCE_COUNTS) are of whole functions, as flow: each edge of a function's graph,
 * also those that are no branches, from the last instruction of a block to the first one of the
 * next; the way behind a call is from the call to the instruction that it returned to. Special are
 *
 *   DB_EDGE_START -> to	control came from outside of the function, or from nobody knows
 * where from -> DB_EDGE_END	it left the function, or went nobody knows where
 *
 * so that what comes to a block is how often it ran. Where one edge of a function has a count,
 * those without one did not run. Each execution is a window of its own. The event is
 * DB_COUNTS_EVENT, of period 1: a count is an execution.
 */
#define DB_COUNTS_EVENT "executions"
/* One of them, before its image has a number. windows: how many independent events it tells as much
 * as; count, where all were counted. */
struct db_execution {
	const struct image_id *image;
	const char *path;
	uint64_t from, to, count, windows;
};
/*
 * The fact that says what an epoch's counts are of: DB_COUNTS_WHOLE if every execution of a
 * function that has counts, in any process that the epoch has samples of, is in them; else
 * anything.
 */
#define DB_COUNTS_FACT	"counts"
#define DB_COUNTS_WHOLE "whole"
#define DB_COUNTS_PART	"part"
/* They are estimates, from bursts of a part of the time taken for all of it: a row's windows are
 * fewer than its count, and say how well it is known, as of so many independent events. */
#define DB_COUNTS_BURSTS "bursts"

struct db_edge {
	uint32_t image, event; /* numbers that this batch gave */
	enum db_evidence evidence;
	uint32_t to_image; /* mostly the same; must be with DB_EDGE_START or DB_EDGE_END */
	uint64_t from, to; /* offsets */
};

/*
 * Adds count passes over an edge, seen in so many windows (1 to count; passes of one window are not
 * independent; of counts: count). 0, -ENOSPC or -ENOMEM (then nothing was added), -EINVAL.
 */
int db_batch_edge(struct db_batch *b, const struct db_edge *edge, uint64_t count, uint64_t windows);

/*
 * A stack: the frames of one thread, from its start (the outermost) to where it was sampled. The
 * offset of the last is the sampled instruction's, that of the others the last byte of the call
 * that is under way. What is known instead of a frame - that the outer ones are missing and
 * why, that some in the middle were left out - is a frame too, in an image of kind IMAGE_NOTE.
 */
#define DB_STACK_MAX 640

struct db_frame {
	uint32_t image; /* a number that this batch gave */
	uint64_t offset;
};

/* Adds count samples of a stack. 0, -ENOSPC or -ENOMEM (then nothing was added), -EINVAL. */
int db_batch_stack(struct db_batch *b, uint32_t event, uint32_t subject,
		   const struct db_frame *frames, uint32_t frame_count, uint64_t count);

/*
 * A raw record: what the processor itself wrote about one sample, for analyses of individual
 * samples (latencies, where data came from, which branch went wrong). Registers are numbered within
 * a kind; instsample/ibs.h has the numbers and their meaning, which the database does not
 * interpret. The sampled address is image and offset, as of a row, and so is where a sampled branch
 * went: no other address of code is among the values.
 */
enum db_raw_kind {
	DB_RAW_IBS_OP = 1, /* AMD, instruction based sampling: an executed operation */
	DB_RAW_IBS_FETCH,  /* ... a fetch of instructions */
	DB_RAW_PAIR,	   /* what two samples saw of the general registers: see pairs.h */
};

#define DB_RAW_VALUES_MAX 8
#define DB_RAW_NO_TARGET  UINT32_MAX

struct db_raw_form {
	uint32_t kind, caps; /* what the processor can, as the kernel says it */
	uint32_t mask;	     /* registers there are, by number: at most DB_RAW_VALUES_MAX */
};

struct db_raw {
	uint32_t image, event, subject; /* numbers that this batch gave */
	uint32_t target_image;		/* ... or DB_RAW_NO_TARGET */
	struct db_raw_form form;
	uint64_t offset, target;
	uint64_t values[DB_RAW_VALUES_MAX]; /* of the registers in mask, by ascending number */
};

static inline unsigned db_raw_values(const struct db_raw_form *form)
{
	return (unsigned)__builtin_popcount(form->mask);
}

/* Adds count records that are equal (nearly always 1). 0, -ENOSPC or -ENOMEM (then nothing was
 * added), -EINVAL. */
int db_batch_raw(struct db_batch *b, const struct db_raw *raw, uint64_t count);

/*
 * Adds to a named counter of an event: "samples", "lost.ring", "unknown.process", "enabled_ns",
 * "running_ns", ... Reports show all of them; the names of one meaning are the same everywhere.
 */
int db_batch_count(struct db_batch *b, uint32_t event, const char *name, uint64_t value);
/* Sets a named text: "kernel", "cpu", "hostname", "command", ... The last one wins. */
int db_batch_fact(struct db_batch *b, const char *name, const char *value);
/* The wall-clock interval that the batch covers, ns since 1970. */
void db_batch_interval(struct db_batch *b, uint64_t start_ns, uint64_t end_ns);

/* Calls f for each place of code that it has, of rows and of frames of stacks, in no order and
 * maybe several times. */
void db_batch_each_place(const struct db_batch *b,
			 void (*f)(void *arg, uint32_t image, uint64_t offset), void *arg);
/* ... for its samples alone, with how many. */
void db_batch_each_sample(const struct db_batch *b,
			  void (*f)(void *arg, uint32_t image, uint64_t offset, uint64_t count),
			  void *arg);
/* What an image's number stands for, its path terminated; the batch's until it is cleared. */
void db_batch_get_image(const struct db_batch *b, uint32_t image, const struct image_id **ret_id,
			const char **ret_path);
size_t db_batch_images(const struct db_batch *b);

size_t db_batch_rows(const struct db_batch *b);
uint64_t db_batch_samples(const struct db_batch *b);
size_t db_batch_edges(const struct db_batch *b);  /* distinct ones; at most a quarter of max_rows */
size_t db_batch_stacks(const struct db_batch *b); /* ... a sixteenth */
size_t db_batch_raws(const struct db_batch *b);	  /* ... a sixteenth */

#endif

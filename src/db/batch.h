/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_DB_BATCH_H
#define CULPRIT_DB_BATCH_H

#include <stddef.h>
#include <stdint.h>
#include "util/identity.h"

/*
 * A batch collects in memory what one flush will write: counts by offset for each profile, that is
 * for each combination of image, event and subject; edges, stacks, raw records and touches; and
 * named counters and facts. Equal items are added up. A batch has limits: -ENOSPC from an add means
 * "flush now and add again".
 */
struct db_batch;

#define DB_EVENT_PRECISE    1u /* the hardware reports addresses without skid */
#define DB_EVENT_RANDOMIZED 2u /* the period was redrawn several times a second */
#define DB_EVENT_KERNEL	    4u /* kernel mode was sampled */
#define DB_EVENT_USER	    8u /* user mode was sampled */
/* The governor chose the period and may have changed it during the run: samples of one event under
 * two periods are distinct samples. */
#define DB_EVENT_GOVERNED 16u

struct db_event {
	const char *name; /* as a user writes it: "cycles", "cache-misses:u" */
	uint64_t period;  /* mean number of event units (cpu-clock: ns) between samples */
	uint32_t flags;
};

/* The event of samples taken at the scheduler's tick; like those of "cpu-clock" they measure
 * time. */
#define DB_EVENT_TICK_NAME "cpu-clock:tick"

#define DB_EVENT_NONE UINT32_MAX /* for counters that do not belong to an event */

struct db_batch *db_batch_new(size_t max_rows); /* NULL when out of memory */
void db_batch_free(struct db_batch *b);
/* Empties the batch with its dictionaries: all indexes that it gave become invalid. */
void db_batch_clear(struct db_batch *b);

/*
 * Dictionaries: equal entries get the same index. An image is identified by its id alone: its path
 * is the one that was given first. 0, -ENOSPC, -ENOMEM, or -EINVAL for a name that is too long
 * (path 4096, event 1024, subject SUBJECT_MAX_BYTES, fact 4096 bytes) or an index that is not of
 * this batch.
 */
int db_batch_image(struct db_batch *b, const struct image_id *id, const char *path,
		   size_t path_size, uint32_t *ret);
int db_batch_event(struct db_batch *b, const struct db_event *event, uint32_t *ret);
int db_batch_subject(struct db_batch *b, const void *subject, size_t size, uint32_t *ret);
int db_batch_profile(struct db_batch *b, uint32_t image, uint32_t event, uint32_t subject,
		     uint32_t *ret);

/* Adds count samples at offset. 0, or, with nothing added: -ENOSPC, -ENOMEM, -EINVAL (no such
 * profile). */
int db_batch_add(struct db_batch *b, uint32_t profile, uint64_t offset, uint64_t count);

/* How an edge was observed, and so what the sum of many tells; part of its key. The numbers are
 * stored in files. */
enum db_evidence {
	DB_EVIDENCE_WINDOWS = 1, /* windows of interpreted code, which start where samples hit */
	DB_EVIDENCE_RECORDS,	 /* the hardware's branch records, which start at branches */
	DB_EVIDENCE_COUNTS,	 /* counters in the program: every execution */
	DB_EVIDENCE_MAX = DB_EVIDENCE_COUNTS,
};

/*
 * An edge: control went from one instruction to another, as seen in a window of interpreted code or
 * in a list of branch records; both are called windows here. Edges belong to an image and to an
 * event such as "windows", and have no subject.
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
 * Edges of DB_EVIDENCE_COUNTS are the flow of whole functions: they include the edges of a
 * function's graph that are not branches, from the last instruction of a block to the first one of
 * the next; the edge that continues after a call goes from the call to the instruction that it
 * returned to. Two special rows are
 *
 *   DB_EDGE_START -> to	control came from outside of the function, or from nobody knows
 * where from -> DB_EDGE_END	it left the function, or went nobody knows where
 *
 * so that the sum of the edges into a block is its number of executions. In a function of which any
 * edge has a count, edges without one were not executed. Each execution is a window of its own. The
 * event is DB_COUNTS_EVENT with period 1: a count is an execution.
 */
#define DB_COUNTS_EVENT "executions"
/* Such an edge, before its image has a number. windows is the number of independent observations
 * that the count is worth; it equals the count when every execution was counted. */
struct db_execution {
	const struct image_id *image;
	const char *path;
	uint64_t from, to, count, windows;
};
/*
 * The fact that says what an epoch's counts cover. It is DB_COUNTS_WHOLE if the counts include, for
 * each function that has any, every execution in every process that the epoch has samples of;
 * otherwise it has another value.
 */
#define DB_COUNTS_FACT	"counts"
#define DB_COUNTS_WHOLE "whole"
#define DB_COUNTS_PART	"part"
/* The counts are estimates, scaled up from bursts that covered a part of the time: a row's windows
 * are fewer than its count, and give its precision as the number of independent observations. */
#define DB_COUNTS_BURSTS "bursts"

struct db_edge {
	uint32_t image, event; /* numbers that this batch gave */
	enum db_evidence evidence;
	uint32_t to_image; /* mostly equal to image; must be for DB_EDGE_START or DB_EDGE_END */
	uint64_t from, to; /* offsets */
};

/*
 * Adds count passes over an edge that were seen in windows windows (1 to count, as the passes in
 * one window are not independent; equal to count for DB_EVIDENCE_COUNTS). 0, or, with nothing
 * added: -ENOSPC, -ENOMEM, -EINVAL.
 */
int db_batch_edge(struct db_batch *b, const struct db_edge *edge, uint64_t count, uint64_t windows);

/*
 * A stack: the frames of one thread, from its start (the outermost frame) to where it was sampled.
 * The offset in the last frame is that of the sampled instruction; in the others it is that of the
 * last byte of the call in progress. Missing frames are represented by a frame too, in an image of
 * kind IMAGE_NOTE: that the outer ones are unknown, and why, or that some in the middle were left
 * out.
 */
#define DB_STACK_MAX 640

struct db_frame {
	uint32_t image; /* a number that this batch gave */
	uint64_t offset;
};

/* Adds count samples of a stack. 0, or, with nothing added: -ENOSPC, -ENOMEM, -EINVAL. */
int db_batch_stack(struct db_batch *b, uint32_t event, uint32_t subject,
		   const struct db_frame *frames, uint32_t frame_count, uint64_t count);

/*
 * A raw record: what the processor itself reported of one sample, for analyses of individual
 * samples (latencies, where data came from, which branch was mispredicted). Registers are numbered
 * within a kind; instsample/ibs.h has the numbers and their meaning, which the database does not
 * interpret. The sampled address is given by image and offset as in a row, and so is the target of
 * a sampled branch: the values hold no other addresses of code.
 */
enum db_raw_kind {
	DB_RAW_IBS_OP = 1, /* AMD's instruction-based sampling: an executed operation */
	DB_RAW_IBS_FETCH,  /* the same: an instruction fetch */
	DB_RAW_PAIR,	   /* general registers at two samples, compared: see pairs.h */
};

#define DB_RAW_VALUES_MAX 8
#define DB_RAW_NO_TARGET  UINT32_MAX

struct db_raw_form {
	uint32_t kind, caps; /* caps: the processor's capabilities, as the kernel reports them */
	uint32_t mask;	     /* one bit per register that is there: at most DB_RAW_VALUES_MAX */
};

struct db_raw {
	uint32_t image, event, subject; /* numbers that this batch gave */
	uint32_t target_image;		/* the same, or DB_RAW_NO_TARGET */
	struct db_raw_form form;
	uint64_t offset, target;
	uint64_t values[DB_RAW_VALUES_MAX]; /* of the registers in mask, lowest number first */
};

static inline unsigned db_raw_values(const struct db_raw_form *form)
{
	return (unsigned)__builtin_popcount(form->mask);
}

/* Adds count equal records (nearly always 1). 0, or, with nothing added: -ENOSPC, -ENOMEM,
 * -EINVAL. */
int db_batch_raw(struct db_batch *b, const struct db_raw *raw, uint64_t count);

/*
 * Adds to a named counter of an event: "samples", "lost.ring", "unknown.process", "enabled_ns",
 * "running_ns", ... Reports show all of them. One meaning has one name everywhere.
 */
int db_batch_count(struct db_batch *b, uint32_t event, const char *name, uint64_t value);
/* Sets a named text: "kernel", "cpu", "hostname", "command", ... The last value given is kept. */
int db_batch_fact(struct db_batch *b, const char *name, const char *value);
/* The wall-clock interval that the batch covers, ns since 1970. */
void db_batch_interval(struct db_batch *b, uint64_t start_ns, uint64_t end_ns);

/* Calls f for each code address in the batch, of rows and of frames of stacks, in no particular
 * order and possibly several times. */
void db_batch_each_place(const struct db_batch *b,
			 void (*f)(void *arg, uint32_t image, uint64_t offset), void *arg);
/* The same for rows only, with their number of samples. */
void db_batch_each_sample(const struct db_batch *b,
			  void (*f)(void *arg, uint32_t image, uint64_t offset, uint64_t count),
			  void *arg);
/* The id and the path (terminated) of an image's number. Owned by the batch, valid until it is
 * cleared. */
void db_batch_get_image(const struct db_batch *b, uint32_t image, const struct image_id **ret_id,
			const char **ret_path);
size_t db_batch_images(const struct db_batch *b);

size_t db_batch_rows(const struct db_batch *b);
uint64_t db_batch_samples(const struct db_batch *b);
size_t db_batch_edges(const struct db_batch *b);  /* distinct; at most max_rows / 4 */
size_t db_batch_stacks(const struct db_batch *b); /* ... a sixteenth */
size_t db_batch_raws(const struct db_batch *b);	  /* ... a sixteenth */

#endif

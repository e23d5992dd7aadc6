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
#define DB_EVENT_RANDOMIZED 2u /* the period was drawn anew several times a second */
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

/*
 * An edge: control went from one instruction to another, as a window of interpreted code saw it
 * (later: a branch record of the hardware). Edges belong to an image and an event such as
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

struct db_edge {
	uint32_t image, event; /* numbers that this batch gave */
	uint32_t to_image;     /* mostly the same; must be with DB_EDGE_START or DB_EDGE_END */
	uint64_t from, to;     /* offsets */
};

/*
 * Adds count passes over an edge, seen in so many windows (1 to count; passes of one window are not
 * independent). 0, -ENOSPC or -ENOMEM (then nothing was added), -EINVAL.
 */
int db_batch_edge(struct db_batch *b, const struct db_edge *edge, uint64_t count, uint64_t windows);

/*
 * A stack: the frames of one thread, from its start (the outermost) to where it was sampled. The
 * offset of the last is the sampled instruction's, that of the others the last byte of the call
 * that is under way. What is known instead of a frame - that and why the outer ones could not be
 * had, that some in the middle were left out - is a frame too, in an image of kind IMAGE_NOTE.
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
 * A raw record: what the processor itself wrote about one sample, for whoever looks at samples one
 * by one (latencies, where data came from, which branch went wrong). Registers are numbered within
 * a kind; instsample/ibs.h has the numbers and their meaning, which is none of the database's
 * business. The sampled address is image and offset, as of a row, and so is where a sampled branch
 * went: no other address of code is among the values.
 */
enum db_raw_kind {
	DB_RAW_IBS_OP = 1, /* AMD, instruction based sampling: an executed operation */
	DB_RAW_IBS_FETCH,  /* ... a fetch of instructions */
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
	uint64_t values[DB_RAW_VALUES_MAX]; /* of the registers in mask, by rising number */
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
/* What an image's number stands for, its path terminated; owned by the batch until it is cleared.
 */
void db_batch_get_image(const struct db_batch *b, uint32_t image, const struct image_id **ret_id,
			const char **ret_path);
size_t db_batch_images(const struct db_batch *b);

size_t db_batch_rows(const struct db_batch *b);
uint64_t db_batch_samples(const struct db_batch *b);
size_t db_batch_edges(const struct db_batch *b);  /* distinct ones; at most a quarter of max_rows */
size_t db_batch_stacks(const struct db_batch *b); /* ... a sixteenth */
size_t db_batch_raws(const struct db_batch *b);	  /* ... a sixteenth */

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_PROCESS_RESOLVE_H
#define CULPRIT_COLLECT_PROCESS_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "collect/events/event.h"
#include "collect/process/originals.h"
#include "collect/process/process.h"
#include "collect/events/sampler.h"
#include "collect/process/subject.h"
#include "db/batch.h"
#include "db/counters.h"
#include "image/kernel/kernel.h"

/*
 * From (process, PC, event) to (image, offset, subject, event) in the batch (DCPI, section 4.3.1).
 * Nothing is dropped: what no mapping explains goes to the image of kind IMAGE_UNKNOWN.
 */
struct resolver;
struct keeper;

struct resolver_config {
	/* All borrowed. */
	struct processes *processes;
	struct files *files;
	struct image_kernel *kernel; /* NULL: addresses of the kernel are hidden */
	struct db_batch *batch;
	const struct subject_labels *labels;
	const struct event *events;
	const uint64_t *periods; /* as they are when a batch begins */
	bool governed;		 /* periods that events were not given may change */
	size_t event_count;
	bool with_pid, randomized;
	/* Called when the batch is full: flushes and clears it. A failure drops the sample
	 * (counted). */
	int (*make_room)(void *arg);
	void *arg;
	/* Called, if not NULL, when samples of a process first fall into an image in a batch;
	 * m is NULL for images that are not files. */
	void (*saw_image)(struct keeper *keeper, const struct image_id *id, const char *path,
			  struct process *life, const struct mapping *m);
	struct keeper *keeper;
	struct originals originals;
};

#define RESOLVER_COPIES "/memfd:culprit-copies"

struct resolver *resolver_new(const struct resolver_config *config);
void resolver_free(struct resolver *r);

/* To be called after each db_batch_clear: the indices it gave are void. */
int resolver_begin_batch(struct resolver *r);
/* To be called before each drain: renews the number of second looks at /proc that it may take. */
void resolver_begin_drain(struct resolver *r);
/* One drained entry, which waits if it is not known yet which image its file is. Its signature is
 * sampler_drain's. */
void resolver_take(void *resolver, const struct sampler_entry *e);
/* After files_take_answers, or after a while: takes those that wait once more. One that has waited
 * for long (with must_end, every one) is charged to its file by the file's name (counted). */
void resolver_retry(struct resolver *r, bool must_end);
size_t resolver_waiting(const struct resolver *r);
/* What held since then must not be forgotten; UINT64_MAX: nobody waits. */
uint64_t resolver_oldest_ns(const struct resolver *r);

/*
 * The mapping that a process had at a user address at that time (CLOCK_MONOTONIC), its file known
 * or asked about; NULL when nothing is known of it. ret_life: whose it is.
 */
struct mapping *resolver_find_mapping(struct resolver *r, pid_t tgid, uint64_t pc, uint64_t time_ns,
				      struct process **ret_life);

/* Of an address of code that runs in a copy, the original's; else the address. */
uint64_t resolver_find_original(struct resolver *r, pid_t tgid, uint64_t pc, uint64_t time_ns);

/*
 * For those who follow stacks: the batch's number of what a sample of a process's thread (by its
 * name; empty: the process's name) is charged to, and of the image that has an address of the
 * process or of the kernel, with the offset there (what nothing explains is in the unknown image).
 * 0 or an error of the batch.
 */
int resolver_subject(struct resolver *r, pid_t tgid, const struct wire_name *thread,
		     uint64_t time_ns, uint32_t *ret);
int resolver_image(struct resolver *r, pid_t tgid, uint64_t pc, uint64_t time_ns,
		   uint32_t *ret_image, uint64_t *ret_offset);

struct resolver_event_counters {
	COUNTERS_OF_EVENT(COUNTER_FIELD)
};
/* Since the start. */
const struct resolver_event_counters *resolver_counters(const struct resolver *r, size_t event);

struct resolver_sums {
	COUNTERS_OF_RESOLVER(COUNTER_FIELD)
};
void resolver_read_sums(const struct resolver *r, struct resolver_sums *ret);
/* The batch's index of an event. */
uint32_t resolver_event(const struct resolver *r, size_t event);

/* The image of code that a process made at run time. */
void resolver_jit_image(const struct resolver *r, const struct process *life, struct image_id *ret);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_SIM_TRACE_H
#define CULPRIT_SIM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "sim/wire.h"
#include "util/diag.h"

/*
 * The reader's end of a trace: memory that it shares with the plugin. What stands there is the
 * traced program's to overwrite, so all that is read is checked.
 */
struct sim_trace;

/* One execution of a block: what it accessed, in order. */
struct sim_run {
	uint32_t block, next;	  /* numbers of records; next 0: the thread ended, or the trace */
	const uint64_t *accesses; /* words of wire.h; valid until the next call */
	size_t access_count;
};

#define SIM_ACCESSES_MAX 8192 /* of one block; what is more is left out and counted */

int sim_trace_new(struct sim_trace **ret, struct diag *diag);
/* A trace that is over, as bytes of the same form: for tests. Copied. -EBADMSG: too short. */
int sim_trace_of(const void *data, size_t size, struct sim_trace **ret, struct diag *diag);
void sim_trace_free(struct sim_trace *t);

/* What the plugin is given: a path that it opens. Owned by t. */
const char *sim_trace_path(const struct sim_trace *t);
/* The process is gone: words that it had not shown yet count, and no lane gets more. */
void sim_trace_end(struct sim_trace *t);
/* Tells the plugin to write no more. */
void sim_trace_stop(struct sim_trace *t);

/* Whether the lane has a thread that runs or has left words; a lane that is done is given back. */
bool sim_trace_lane(struct sim_trace *t, unsigned lane, uint32_t *ret_process,
		    uint32_t *ret_thread);
/* 1 and the lane's next run; 0: nothing is complete there now; -EPIPE: the thread ended there, and
 * the lane is free for the next. */
int sim_trace_next(struct sim_trace *t, unsigned lane, struct sim_run *ret);

/* Records of code from the start: the one at *at (0 at first), of which *at is then past. NULL: no
 * more for now. A record that contradicts itself ends them for good. */
const struct wire_record_head *sim_trace_record(struct sim_trace *t, uint64_t *at);
/* A block by its number; NULL: there is none such. */
const struct wire_block *sim_trace_block(const struct sim_trace *t, uint32_t number);

struct sim_trace_counters {
	uint64_t code_full, threads_refused, forks, execs;
	uint64_t damaged; /* words and records that made no sense */
	uint64_t accesses_left_out;
};
void sim_trace_read_counters(const struct sim_trace *t, struct sim_trace_counters *ret);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_PROCESS_RINGS_H
#define CULPRIT_COLLECT_PROCESS_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "util/buf.h"
#include "util/diag.h"

/*
 * The kernel's rings of records of processes, one a CPU, emptied by a thread of their own as soon
 * as one is a quarter full, into memory that has more room: whoever drains may be busy for longer
 * than a ring lasts. The kernel cannot be told to write less about one process; but what it writes
 * about one that maps without end is left out here, where that costs little
 * (collect/process/record_budget.h).
 */
struct rings;

#define RINGS_RECORD_MAX 65536
/* With its control page just what perf_event_mlock_kb grants by default (516 KiB a CPU). */
#define RINGS_BYTES (512u << 10)

int rings_new(bool build_ids, struct rings **ret, struct diag *diag);
void rings_free(struct rings *s);
int rings_start(struct rings *s, struct diag *diag);
size_t rings_count(const struct rings *s);
int rings_fd(const struct rings *s); /* readable when much has come */

struct rings_taken {
	uint64_t lost;	    /* by the kernel since the start, as far as it was asked */
	uint64_t lost_here; /* since the last time: no memory */
	uint64_t malformed; /* since the last time */
};
/* Adds the records of one ring that came so far to bytes, whole and in order. */
void rings_take(struct rings *s, size_t index, struct buf *bytes, struct rings_taken *ret);
/* As record_budget_calmed. */
bool rings_calmed(struct rings *s, pid_t *ret_pid, uint64_t *ret_left_out);

/*
 * Whether anybody needs a record of the kernel's. For threads only their process counts, and of the
 * records that a process can cause at any rate it likes (mappings and names: a fork or an exec
 * takes its time) only so many are wanted.
 */
struct perf_event_header;
struct record_budget;
bool rings_want(struct record_budget *b, const struct perf_event_header *h, const uint8_t *record,
		uint64_t now_ns);

/*
 * The record at tail of a ring of RINGS_BYTES in one piece, in scratch where it wraps around the
 * ring's end; left: the bytes from there to the ring's head. NULL: the ring is invalid there.
 * The kernel wrote it, so that is our own mistake or memory gone bad.
 */
const uint8_t *rings_peek(const uint8_t *ring, uint64_t tail, uint64_t left,
			  uint8_t scratch[RINGS_RECORD_MAX], struct perf_event_header *ret);

#endif

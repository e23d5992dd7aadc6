/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_SESSION_STATE_H
#define CULPRIT_COLLECT_SESSION_STATE_H

#include <stdbool.h>
#include "bpf/wire.h"
#include "collect/allowance.h"
#include "collect/budget.h"
#include "collect/descendants.h"
#include "collect/edges.h"
#include "collect/files.h"
#include "collect/keeper.h"
#include "collect/period.h"
#include "collect/process.h"
#include "collect/rate.h"
#include "collect/resolve.h"
#include "collect/sampler.h"
#include "collect/session.h"
#include "collect/sideband.h"
#include "collect/skid.h"
#include "collect/stacks.h"
#include "collect/subject.h"
#include "collect/tally.h"
#include "db/writer.h"
#include "image/kernel.h"

/* What is behind struct session; for the session*.c files and bench/stack_cost.c only. */

#define MOVES_MAX 4096 /* more than the notices ring holds */

struct session {
	struct session_config config;
	uint64_t periods[WIRE_EVENTS];
	struct rate rate;
	double interrupts_percent; /* of a CPU: what the rate keeps to */
	struct image_worker *worker;
	struct files *files;
	struct processes *processes;
	struct image_kernel *kernel;
	struct sideband *sideband;
	struct sampler *sampler;
	struct db_batch *batch;
	struct db_writer *writer;
	bool forget_due; /* the database may have lost what was kept */
	uint64_t forget_next_ns;
	struct resolver *resolver;
	struct keeper *keeper;
	struct edges *edges;   /* NULL: samples are not followed */
	struct diag edges_why; /* ... and why */
	struct stacks *stacks; /* NULL: none are taken */
	struct diag stacks_why;
	struct subject_labels labels;
	const char *types; /* while its parts are opened: kernel_types.h */
	struct tally tally;
	struct skid_facts skid[WIRE_EVENTS]; /* empty where it is not known */
	struct move {
		pid_t pid;
		uint64_t time_ns;
	} moves[MOVES_MAX]; /* between cgroups */
	size_t move_count, moves_done;
	bool moved;		   /* somebody, since all CPUs were drained */
	bool ending;		   /* nothing more is sampled */
	struct period tick;	   /* time between ticks, ns */
	struct allowance *helpers; /* of the threads that make tables and keep symbols */
	struct budget budget;
	uint64_t planned[WIRE_EVENTS]; /* periods, before any step of the budget */
	double planned_hz;	       /* of the rate; 0: the user's own */
	uint64_t records;	       /* of the kernel, of processes */
	uint64_t next_tick_ns, next_collect_ns, drained_slots;
	uint64_t last_tick_ns;
	uint64_t batch_start_ns, started_ns, flushed;
	unsigned cpus_missed; /* at the last look */
	bool running;
	pid_t roots[DESCENDANTS_ROOTS_MAX]; /* of the scope */
	size_t root_count, left_out, joined;
	struct diag trouble;	 /* why the last flush that nobody asked for failed */
	uint64_t unwritten_told; /* images whose symbols could not be written: said so */
};

/* session.c, with a struct session as their argument: the batch is full; and what processes did
 * until now is to be known. */
int session_make_room(void *arg);
void session_follow_processes(void *arg);
/* Writes what there is; the next batch has the periods as they are by then. */
int session_write_batch(struct session *s, struct diag *diag);
/* Drains all, so that what was taken before goes under what held then. */
int session_drain_all(struct session *s, struct diag *diag);

/* session_budget.c: from the start of sampling on; at a tick; what was spent until now. */
void session_start_budget(struct session *s);
void session_keep_budget(struct session *s, uint64_t now_ns);
void session_look(const struct session *s, struct budget_look *ret);
/* session_open.c: how often the event whose samples are followed is sampled on a busy CPU. */
double session_followed_hz(const struct session *s);
/* ... and what stacks may take while it is that. */
struct stacks_rate session_stacks_rate(const struct session *s, double hz);

/* session_scope.c: before the start, when records come and /proc has been scanned. Takes what comes
 * of the processes in scope already into it, or counts it. */
int session_take_descendants(struct session *s, struct diag *diag);

#endif

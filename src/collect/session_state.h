/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_SESSION_STATE_H
#define CULPRIT_COLLECT_SESSION_STATE_H

#include <stdbool.h>
#include "bpf/wire.h"
#include "collect/cost/allowance.h"
#include "collect/cost/budget.h"
#include "collect/cost/clock_meter.h"
#include "collect/process/descendants.h"
#include "collect/process/files.h"
#include "collect/keep/keeper.h"
#include "collect/events/period.h"
#include "collect/process/process.h"
#include "collect/cost/rate.h"
#include "collect/process/resolve.h"
#include "collect/events/sampler.h"
#include "collect/session.h"
#include "collect/process/sideband.h"
#include "collect/cost/core_measure.h"
#include "collect/cost/skid.h"
#include "collect/follow/followers.h"
#include "collect/process/subject.h"
#include "collect/tally.h"
#include "db/writer.h"
#include "image/kernel/kernel.h"

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
	struct resolver *resolver;
	struct keeper *keeper;
	struct followers followers;
	struct subject_labels labels;
	const char *types; /* while its parts are opened: kernel_types.h */
	struct tally tally;
	struct skid_facts skid[WIRE_EVENTS]; /* empty where it is not known */
	struct core_facts core;
	struct clock_meter clock;
	struct move {
		pid_t pid;
		uint64_t time_ns;
	} moves[MOVES_MAX]; /* between cgroups */
	size_t move_count, moves_done;
	bool moved;		   /* a process did, since all CPUs were drained */
	bool ending;		   /* nothing more is sampled */
	struct period round;	   /* time between rounds, ns */
	struct allowance *helpers; /* of the threads that make tables and keep symbols */
	struct budget budget;
	uint64_t
		planned[WIRE_EVENTS]; /* periods of the first plan, before any step of the budget */
	double first_hz;	      /* of the rate then */
	double planned_hz;	      /* of the rate by now; 0: the user's own */
	struct rate_wish wish;	      /* what was planned for */
	struct rate_watch *watch;     /* NULL: the cost of an interrupt is not looked at again */
	uint64_t next_watch_ns;
	double charged, charged_ns; /* interrupts charged at earlier costs, and their charge */
	uint64_t records;	    /* of the kernel, of processes */
	uint64_t next_round_ns, next_collect_ns, drained_slots;
	uint64_t last_round_ns;
	uint64_t batch_start_ns, started_ns, flushed;
	unsigned cpus_missed; /* at the last look */
	bool running;
	pid_t roots[DESCENDANTS_ROOTS_MAX]; /* of the scope */
	size_t root_count, left_out, joined;
	struct diag trouble;	 /* why the last flush that nobody asked for failed */
	uint64_t unwritten_told; /* images whose symbols could not be written: said so */
};

/* session.c, with a struct session as their argument: for when the batch is full, and for when what
 * processes did so far must be known. */
int session_make_room(void *arg);
void session_follow_processes(void *arg);
/* Writes what there is; the next batch has the periods as they are by then. */
int session_write_batch(struct session *s, struct diag *diag);
/* Drains all, so that samples taken before are stored under what held then. */
int session_drain_all(struct session *s, struct diag *diag);

/* session_budget.c: from the start of sampling on; at a round; what was spent so far. */
void session_start_budget(struct session *s);
void session_keep_budget(struct session *s, uint64_t now_ns);
void session_look(const struct session *s, struct budget_look *ret);
/* session_open.c: how often the event whose samples are followed is sampled on a busy CPU. */
double session_followed_hz(const struct session *s);
void session_follow_event(const struct session *s); /* has that one's samples followed */

/* session_scope.c: before the start, when records come and /proc has been scanned. Takes the
 * descendants that processes in scope have already into it, or counts them. */
int session_take_descendants(struct session *s, struct diag *diag);

#endif

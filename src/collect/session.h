/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_SESSION_H
#define CULPRIT_COLLECT_SESSION_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "collect/allowance.h"
#include "collect/budget.h"
#include "collect/edges.h"
#include "collect/stacks.h"
#include "collect/event.h"
#include "image/kernel.h"
#include "util/diag.h"

/*
 * One run of collection, from the interrupt to the database: what record and the daemon share.
 *
 * The caller sets it up, starts it, and calls session_wait in a loop; flushes when it wants to; and
 * finishes it. A session does its work in small steps: each tick draws the periods anew and drains
 * a part of the CPUs, so that there are no bursts (which DCPI's section 4.3.1 complains of).
 */
struct session;

/* Whether samples are followed for the edges of the control flow (collect/edges.h). */
enum session_edges {
	SESSION_EDGES_NONE,
	SESSION_EDGES_IF_POSSIBLE,
	SESSION_EDGES,
};

struct session_config {
	const char *db_path;
	const struct event *events; /* borrowed while the session lives */
	size_t event_count;
	double rate_hz;	       /* of clocks, per CPU; 0: chosen by the governor */
	double budget_percent; /* slowdown that the governor keeps to */
	bool scoped;	       /* only processes added by session_follow, and their children */
	bool tree;	       /* ... and what comes of them already when it starts */
	bool with_pid;	       /* subjects per process */
	bool fixed_periods;    /* no randomisation (for experiments) */
	enum session_edges edges;
	bool stacks;	    /* takes stacks of a share of the samples, if it is possible */
	bool stacks_needed; /* it is an error if not */
	double stack_hz;    /* of each CPU; 0: what a share of the budget pays for, up to STACKS_HZ;
			     * INFINITY: one with each sample */
	uint64_t stack_memory;	   /* bytes of unwind tables; 0: the default */
	const char *const *labels; /* "key=value", NULL after the last; may be NULL */
	const char *command;	   /* what was asked for, for the record; may be NULL */
};

/* Opens the database for writing, loads the program, opens the events and chooses the rate. */
int session_new(const struct session_config *config, struct session **ret, struct diag *diag);
/* After session_finish, or to give everything up (what was not flushed is lost then). */
void session_free(struct session *s);

int session_follow(struct session *s, pid_t pid, struct diag *diag);
int session_start(struct session *s, struct diag *diag);

/*
 * Works until one of the caller's descriptors is ready or timeout_ms (-1: none) is over; sets their
 * revents. The number that are ready, 0 after the timeout, -EINTR after a signal.
 */
int session_wait(struct session *s, struct pollfd *fds, size_t count, int timeout_ms);

/* Drains everything and writes it to the database: when it returns 0 all samples taken before are
 * safe. On failure nothing is lost: the next flush writes it. */
int session_flush(struct session *s, struct diag *diag);
/* Flushes, then begins a new epoch. */
int session_begin_epoch(struct session *s, struct diag *diag);
/* Stops sampling, flushes, seals the epoch. */
int session_finish(struct session *s, struct diag *diag);
/* Samples that no flush has written: 0 after one that returned 0. */
uint64_t session_unwritten(const struct session *s);
/* Writes them to another database, made if need be, where the session's own cannot take them. */
int session_write_to(struct session *s, const char *db_path, struct diag *diag);

/* Merges the epoch's segments when there are many, and applies the limits of age and size (0:
 * none). */
int session_tidy(struct session *s, uint64_t max_age_ns, uint64_t max_bytes, struct diag *diag);

/* Sets or, with an empty value, removes a label ("key=value") for the samples from now on. */
int session_label(struct session *s, const char *text, struct diag *diag);

/* Keeps a named text with the epoch; of one name the last stays. 0, -EINVAL or -ENOMEM. */
int session_fact(struct session *s, const char *name, const char *value);

/* What it is doing, for people and for status requests. */
struct session_status {
	double rate_hz, cost_ns, cost_spread_ns; /* cost 0: not asked for */
	bool cost_remembered; /* it was measured at an earlier start, so long ago: */
	uint64_t cost_age_s;
	const char *cost_note; /* why the cost is assumed, "" when it was measured; static */
	double budget_percent;
	double interrupts_percent; /* of it, what edges leave, and stacks that were not asked for */
	struct budget_use budget, budget_window; /* since the start; in the last window */
	unsigned budget_step;			 /* how far the rates are lowered: budget_factor */
	uint64_t budget_windows, budget_over;	 /* of them, above the budget */
	struct allowance_totals helpers;
	uint64_t started_ns, samples, outside, lost, unknown, rows, flushed;
	uint64_t hits, evictions; /* of the in-kernel tables */
	uint64_t processes, files, processes_refused, files_refused, mappings_refused;
	uint64_t files_unreadable, records_lost;
	uint64_t records_left_out; /* mappings and names of processes that had too many */
	/* Processes that came of those in scope before the start: without tree, and with it. */
	uint64_t left_out, joined;
	/* Files that wait to be looked at now; those whose user had too many of them; and samples
	 * that are charged to a file's name, because it was not known in time what it is. */
	uint64_t files_queued, files_crowded, by_name;
	uint64_t symbols_kept, symbols_failed, symbols_refused; /* of images, for reports to come */
	uint64_t code_refused, lines_refused; /* of images that have more than is kept */
	uint64_t symbols_unwritten;	      /* of failed: the disk was full, ... */
	struct image_kernel_counts kernel;    /* all 0 where its addresses are hidden */
	unsigned cpus, cpus_missed;	      /* missed: came online later, not sampled */
	const char *epoch;		      /* valid until the next call on the session */
	const char *edges_why;		      /* why samples are not followed, "" if they are */
	struct edges_status edges;	      /* all 0 if they are not */
	const char *stacks_why;		      /* why no stacks are taken, "" if they are */
	struct stacks_status stacks;
};
void session_read_status(const struct session *s, struct session_status *ret);

/* The mean period of an event. */
uint64_t session_period(const struct session *s, size_t event);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_SESSION_H
#define CULPRIT_COLLECT_SESSION_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "collect/cost/budget.h"
#include "collect/events/event.h"
#include "collect/follow/followers.h"
#include "collect/process/originals.h"
#include "db/counters.h"
#include "util/diag.h"

/*
 * One run of collection, from the interrupt to the database: what record and the daemon share.
 *
 * The caller sets it up, starts it, and calls session_wait in a loop; flushes when it wants to; and
 * finishes it. A session does its work in small steps: each round redraws the periods and drains
 * a part of the CPUs, so that there are no bursts (which DCPI's section 4.3.1 complains of).
 */
struct session;

struct session_config {
	const char *db_path;
	const struct event *events; /* borrowed while the session lives */
	size_t event_count;
	double rate_hz; /* of clocks, per CPU; 0: chosen by the governor */
	double most_hz; /* of what the governor chooses while ticks are sampled; 0: no limit */
	double budget_percent; /* slowdown that the governor keeps to */
	bool scoped;	       /* only processes added by session_follow, and their children */
	bool tree;	       /* ... and their descendants that are there when it starts */
	bool with_pid;	       /* subjects per process */
	bool fixed_periods;    /* no randomisation (for experiments) */
	struct follower_wish followers[FOLLOWERS_MAX];
	size_t follower_count;
	const char *const *labels;  /* "key=value", NULL after the last; may be NULL */
	const char *command;	    /* what was asked for, for the record; may be NULL */
	struct originals originals; /* of code that runs in copies; all 0: none does */
	/* The processor time that this process took for purposes other than sampling, which the
	 * budget does not cover. May be NULL. */
	uint64_t (*other_cpu_ns)(void *arg);
	void *other;
};

/* Opens the database for writing, loads the program, opens the events and chooses the rate. */
int session_new(const struct session_config *config, struct session **ret, struct diag *diag);
/* After session_finish, or to give everything up (what was not flushed is lost then). */
void session_free(struct session *s);

int session_follow(struct session *s, pid_t pid, struct diag *diag);
int session_start(struct session *s, struct diag *diag);

/*
 * Works until one of the caller's descriptors is ready or timeout_ms (-1: none) is over; sets their
 * revents. Returns the number that are ready, 0 after the timeout, -EINTR after a signal.
 */
int session_wait(struct session *s, struct pollfd *fds, size_t count, int timeout_ms);

/* Drains everything and writes it to the database: when it returns 0 all samples taken before are
 * safe. On failure nothing is lost: the next flush writes it. */
int session_flush(struct session *s, struct diag *diag);
/* Flushes, then begins a new epoch. */
int session_begin_epoch(struct session *s, struct diag *diag);
/* Stops sampling, flushes, seals the epoch. Writes nothing if session_start failed. */
int session_finish(struct session *s, struct diag *diag);
/* Samples that no flush has written: 0 after one that returned 0. */
uint64_t session_unwritten(const struct session *s);
/* Writes them to another database, made if need be, where the session's own cannot take them. */
int session_write_to(struct session *s, const char *db_path, struct diag *diag);

/* Merges the epoch's segments if they are many; applies limits of age and size (0: none). */
int session_tidy(struct session *s, uint64_t max_age_ns, uint64_t max_bytes, struct diag *diag);

/* Sets or, with an empty value, removes a label ("key=value") for the samples from now on. */
int session_label(struct session *s, const char *text, struct diag *diag);

/* Keeps a named text with the epoch; the last of one name stays. 0, -EINVAL or -ENOMEM. */
int session_fact(struct session *s, const char *name, const char *value);

/* What it is doing, for people and for status requests. */
struct session_status {
	COUNTERS_OF_SESSION(COUNTER_FIELD)
	double rate_hz, cost_ns, cost_spread_ns; /* cost 0: not asked for */
	double charge_ns;     /* of one interrupt, also if it was not asked for; 0: not known */
	bool cost_remembered; /* it was measured at an earlier start, this long ago: */
	uint64_t cost_age_s;
	bool cost_busy;	       /* beside other work: it may be less on a quiet machine */
	const char *cost_note; /* why the cost is assumed, "" when it was measured; static */
	double budget_percent;
	double interrupts_percent; /* of it, what edges, and stacks not asked for, leave */
	struct budget_use budget, budget_window; /* since the start; in the last window */
	unsigned budget_step;			 /* how far the rates are lowered: budget_factor */
	uint64_t started_ns;
	unsigned cpus;
	const char *epoch; /* valid until the next call on the session */
};
void session_read_status(const struct session *s, struct session_status *ret);
/* All that is counted in it, by all of its modules, except for what events have of their own. */
void session_each_counter(const struct session *s, const struct counter_taker *to);

/* Counts of executions (db/batch.h, DB_EVIDENCE_COUNTS), for the next flush. */
struct db_execution;
int session_add_count(struct session *s, const struct db_execution *c);
/* Executions of a path of an image; its image and event are given by this. */
struct db_path;
struct image_id;
int session_add_path(struct session *s, const struct image_id *image, const char *path,
		     const struct db_path *p, uint64_t count);
/* What was counted beside them, once, by a module that the session does not know. */
void session_add_counters(struct session *s, const struct counter_list *list, const void *values);

/* Every sample that was taken so far and is not written yet, with its count; image is the number of
 * an image until the next flush. */
struct session_sample {
	const char *path;
	uint32_t image;
	uint64_t address, count;
};
void session_each_sample(struct session *s, void (*f)(void *arg, const struct session_sample *one),
			 void *arg);

/* As followers_find: what follows samples, or why nothing does. */
void *session_follower(const struct session *s, const struct follower_ops *ops,
		       const char **ret_why);

/* The mean period of an event. */
uint64_t session_period(const struct session *s, size_t event);

#endif

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COUNTING_COUNTING_STATE_H
#define CULPRIT_COUNTING_COUNTING_STATE_H

/* What counting*.c share. */

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include "counting/bursts.h"
#include "counting/copies.h"
#include "counting/counting.h"
#include "counting/planner.h"

/* Where an image's copies are in some process, and by which of its patches that is seen. */
struct counted_spot {
	uint64_t bias;
	struct instrument_patch patch;
};

/* A file, as it was when it was planned. */
struct counted_image {
	struct stat file;
	char *path;
	bool failed;
	struct plans_facts facts;
	uint32_t number; /* the planner's */
	uint32_t first_slot;
	uint8_t *left; /* of each planned function, in any process: enum counting_left */
	struct counted_spot *spots;
	size_t spot_count, spot_room;
	bool placed; /* copies_image is known */
	uint32_t copies_image;
	bool is_put_in;	    /* into a process, at some time */
	bool is_missed;	    /* in a process, which ran it without copies */
	struct diag why;    /* ... the first time */
	struct buf edges;   /* struct plans_edge, or plans_path, at the end */
	struct buf windows; /* of bursts: 64 bits for each of them, see struct db_execution */
};

struct counting {
	struct bursts *bursts; /* NULL: the whole run is counted */
	uint32_t paths_max;    /* 0: edges are */
	const char *names;     /* of functions; NULL: all */
	bool is_running;       /* the process, when counting begins */
	struct planner *planner;
	uint32_t planned; /* images that it knows */
	struct copies *copies;
	struct attach *attach;
	struct counted_image *images;
	size_t image_count, image_room;
	uint32_t next_slot;
	pid_t *fresh; /* have become a program, and wait */
	size_t fresh_count, fresh_room;
	struct counting_report report;

	pthread_t thread;
	bool has_clock;
	clockid_t clock; /* of the thread */
	uint64_t cpu_ns; /* ... at the last look */
	bool started;
	atomic_bool ending;   /* nothing new is planned any more */
	atomic_bool stopping; /* ... and all is to be taken out */
	pid_t pid;
	/* Under the lock: whether it is traced, and what became of the command. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_open, has_ended, is_over;
	int open_error, status;
	struct diag why;
};

/* counting_process.c: counts a program from its exec on, and what its loader has mapped. */
void counting_take_program(struct counting *c, pid_t pid);
void counting_take_libraries(struct counting *c, pid_t pid);
/* Plans what was sampled in a program that runs, which need not be traced; then, when it is, puts
 * the copies into it. */
int counting_plan_running(struct counting *c, pid_t pid, struct diag *diag);
int counting_take_running(struct counting *c, pid_t pid, struct diag *diag);

/* counting.c: those of which copies are placed, with what the counters say. */
int counting_read_image(struct counting *c, struct counted_image *im, const uint64_t *sums,
			struct buf *edges);
void counting_read_all(struct counting *c,
		       int (*read)(struct counting *c, struct counted_image *im, void *arg),
		       void *arg);
void counting_end(struct counting *c);
void counting_take_end(void *arg, pid_t pid, int status);
bool counting_is_ending(void *arg);
void counting_say(struct counting *c, bool *what);
int counting_run_thread(struct counting *c, pid_t pid, void *(*run)(void *arg), struct diag *diag);

#endif

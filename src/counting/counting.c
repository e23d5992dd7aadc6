/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "counting/counting_state.h"

#include <errno.h>
#include <regex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include "counting/gate.h"
#include "util/array.h"

#define LOOK_NS	    1000000 /* between two looks at gates; signals and ends are seen at once */
#define WAITING_MAX 64	    /* processes served in one look */

int counting_new(struct counting **ret, struct diag *diag)
{
	struct counting *c = calloc(1, sizeof(*c));
	sigset_t children;
	int r;

	if (!c)
		return diag_fail(diag, ENOMEM, "out of memory");
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	c->next_slot = GATE_SLOTS;
	c->copies = copies_new();
	r = c->copies ? planner_new(NULL, &c->planner, diag)
		      : diag_fail(diag, ENOMEM, "out of memory");
	if (r) {
		counting_free(c);
		return r;
	}
	/* So that it waits to be taken by who traces, whichever thread it is sent to. */
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigprocmask(SIG_BLOCK, &children, NULL);
	*ret = c;
	return 0;
}

void counting_free(struct counting *c)
{
	if (!c)
		return;
	counting_stop(c);
	for (size_t i = 0; i < c->image_count; i++) {
		free(c->images[i].path);
		free(c->images[i].left);
		free(c->images[i].spots);
		buf_free(&c->images[i].edges);
		buf_free(&c->images[i].windows);
	}
	free(c->images);
	free(c->fresh);
	bursts_free(c->bursts);
	copies_free(c->copies);
	planner_free(c->planner);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

void counting_take_end(void *arg, pid_t pid, int status)
{
	struct counting *c = arg;

	if (pid != c->pid)
		return;
	pthread_mutex_lock(&c->lock);
	c->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	c->has_ended = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

bool counting_is_ending(void *arg)
{
	struct counting *c = arg;

	return atomic_load(&c->ending);
}

static bool take_program(void *arg, pid_t pid)
{
	struct counting *c = arg;

	if (array_grow(&c->fresh, c->fresh_count, &c->fresh_room, sizeof(*c->fresh), 16)) {
		counting_miss(&c->report, COUNTING_MISS_PROGRAM, 1, NULL, "out of memory");
		return false;
	}
	c->fresh[c->fresh_count++] = pid;
	return true;
}

/* What the counters say of an image. How many functions' do not fit together; or an error. */
int counting_read_image(struct counting *c, struct counted_image *im, const uint64_t *sums,
			struct buf *edges)
{
	uint8_t *left = malloc(im->facts.planned + 1);
	int r;

	if (!left)
		return -ENOMEM;
	for (uint32_t i = 0; i < im->facts.planned; i++)
		left[i] = im->left[i] != COUNTING_LEFT_NOT;
	r = planner_count(c->planner, im->number, &im->facts, sums + im->first_slot, left, edges);
	free(left);
	return r;
}

static void note_read(struct counting *c, const struct counted_image *im, uint32_t inconsistent)
{
	c->report.inconsistent += inconsistent;
	c->report.images++;
	c->report.functions += im->facts.functions;
	for (uint32_t i = 0; i < im->facts.planned; i++) {
		c->report.counted += im->left[i] == COUNTING_LEFT_NOT;
		c->report.left_late[im->left[i]] += im->left[i] != COUNTING_LEFT_NOT;
	}
	for (int k = 0; k < INSTRUMENT_REASONS; k++)
		c->report.left[k] += im->facts.left[k];
}

void counting_read_all(struct counting *c,
		       int (*read)(struct counting *c, struct counted_image *im, void *arg),
		       void *arg)
{
	for (size_t i = 0; i < c->image_count; i++) {
		struct counted_image *im = &c->images[i];
		int r = im->placed ? read(c, im, arg) : 0;

		if (r < 0) {
			buf_clear(&im->edges);
			counting_miss(&c->report, COUNTING_MISS_SUMS, 1, im->path, strerror(-r));
		} else if (im->placed) {
			note_read(c, im, (uint32_t)r);
		}
	}
}

static int read_image(struct counting *c, struct counted_image *im, void *sums)
{
	return sums ? counting_read_image(c, im, sums, &im->edges) : -ENOMEM;
}

/* The paths of an image, one after the other; what a planner answers may say anything. False: that
 * was the last one. */
static bool next_path(const struct counted_image *im, size_t *at, struct plans_path *ret)
{
	const size_t left = im->edges.size - *at;

	if (left < sizeof(*ret))
		return false;
	memcpy(ret, im->edges.data + *at, sizeof(*ret));
	if (ret->blocks > (left - sizeof(*ret)) / sizeof(uint64_t) ||
	    (ret->end != PLANS_PATH_UNSEEN && (ret->end > INSTRUMENT_PATH_CALL || !ret->blocks)))
		return false;
	*at += sizeof(*ret) + ret->blocks * sizeof(uint64_t);
	return true;
}

/* Sums for the report. */
static void read_paths(struct counting *c, const uint64_t *sums)
{
	struct counting_paths *r = &c->report.paths;

	r->left = sums[INSTRUMENT_PATHS_LEFT];
	r->lost = sums[INSTRUMENT_PATHS_LOST];
	for (size_t i = 0; i < c->image_count; i++) {
		const struct counted_image *im = &c->images[i];
		struct plans_path p;

		r->cut += im->placed ? im->facts.cut : 0;
		for (size_t at = 0; next_path(im, &at, &p);)
			*(p.end == PLANS_PATH_UNSEEN ? &r->unseen : &r->executions) += p.count;
	}
}

/* What the counters say, of all images that were placed. */
static void read_counts(struct counting *c)
{
	uint64_t *sums = calloc(c->next_slot, sizeof(*sums));

	if (sums)
		attach_read(c->attach, sums, c->next_slot);
	counting_read_all(c, read_image, sums);
	if (sums && c->paths_max)
		read_paths(c, sums);
	free(sums);
}

/* Each process that waits at its gates is looked at once: one may wait again at once, for ever. */
static void serve_gates(struct counting *c)
{
	pid_t pids[WAITING_MAX];
	size_t n = attach_waiting(c->attach, GATE_ENTERED, GATE_PASSED, pids, WAITING_MAX);

	for (size_t i = 0; i < n && !atomic_load(&c->stopping); i++)
		counting_take_libraries(c, pids[i]);
}

/* Handles what has happened; -ECHILD: nobody is left. */
static int work(struct counting *c)
{
	const struct timespec nap = {.tv_nsec = LOOK_NS};
	sigset_t children;
	int r = attach_serve(c->attach, false);

	while (c->fresh_count)
		counting_take_program(c, c->fresh[--c->fresh_count]);
	serve_gates(c);
	if (r)
		return r;
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	sigtimedwait(&children, NULL, &nap);
	return 0;
}

void counting_say(struct counting *c, bool *what)
{
	pthread_mutex_lock(&c->lock);
	*what = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

/* Of which the reason is that of the first. */
static void miss_several(struct counting_report *r, enum counting_miss cause, uint64_t count,
			 const char *why)
{
	counting_miss(r, cause, count != 0, NULL, why);
	counting_miss(r, cause, count ? count - 1 : 0, NULL, why);
}

static void take_counters(struct counting_report *r, const struct attach_counters *k)
{
	r->attach = *k;
	miss_several(r, COUNTING_MISS_FORK, k->forks_uncounted, k->forks_why.text);
	miss_several(r, COUNTING_MISS_PROGRAM, k->execs_uncounted, k->execs_why.text);
	counting_miss(r, COUNTING_MISS_TABLE, k->threads_without_table, NULL,
		      "there were too many: counts may be too low");
	counting_miss(r, COUNTING_MISS_GATE, k->gave_up_waiting, NULL,
		      "it stopped waiting for them after some seconds");
	counting_miss(r, COUNTING_MISS_GATE, k->gates_left_open, NULL,
		      "it waited too often without having mapped anything new");
}

/* What got no copies in any process is counted nowhere, so that it takes nothing from the others.
 */
static void take_missed(struct counting *c)
{
	for (size_t i = 0; i < c->image_count; i++) {
		const struct counted_image *im = &c->images[i];

		if (im->is_missed)
			counting_miss(&c->report,
				      im->is_put_in ? COUNTING_MISS_MAPPED : COUNTING_MISS_FILE, 1,
				      im->path, im->why.text);
	}
}

/* Takes all out of whoever is left. */
void counting_end(struct counting *c)
{
	struct diag why;

	if (attach_remove(c->attach, &why))
		counting_miss(&c->report, COUNTING_MISS_REMOVAL, 1, NULL, why.text);
	take_counters(&c->report, attach_counters(c->attach));
	take_missed(c);
}

static void settle(void *arg, uint64_t *table, uint32_t slots)
{
	const struct counting *c = arg;

	if (c->paths_max)
		instrument_paths_settle(table, slots);
}

/* Plans what runs before it is traced, which stops it. */
static int open_process(struct counting *c, const struct attach_ops *ops)
{
	int r = c->is_running ? counting_plan_running(c, c->pid, &c->why) : 0;

	r = r ?: attach_open(c->pid, ops, &c->attach, &c->why);
	if (!r && c->is_running) {
		r = counting_take_running(c, c->pid, &c->why);
		if (r)
			attach_close(c->attach);
	}
	return r;
}

static void *run(void *arg)
{
	struct counting *c = arg;
	const struct attach_ops ops = {
		.ended = counting_take_end,
		.became = take_program,
		.is_ending = counting_is_ending,
		.settle = settle,
		.arg = c,
	};
	int r = 0;

	c->open_error = open_process(c, &ops);
	counting_say(c, &c->is_open);
	if (c->open_error)
		return NULL;
	while (!atomic_load(&c->stopping) && r != -ECHILD)
		r = work(c);
	if (r != -ECHILD)
		attach_let_all_on(c->attach, GATE_PASSED);
	counting_end(c);
	read_counts(c);
	attach_close(c->attach);
	counting_say(c, &c->is_over);
	return NULL;
}

int counting_run_thread(struct counting *c, pid_t pid, void *(*run_it)(void *arg),
			struct diag *diag)
{
	int r;

	c->pid = pid;
	r = pthread_create(&c->thread, NULL, run_it, c);
	if (r)
		return diag_fail(diag, r, "cannot start counting: %s", strerror(r));
	c->started = true;
	c->has_clock = !pthread_getcpuclockid(c->thread, &c->clock);
	return 0;
}

int counting_start(struct counting *c, pid_t pid, struct diag *diag)
{
	int r = counting_run_thread(c, pid, run, diag);

	if (r)
		return r;
	pthread_mutex_lock(&c->lock);
	while (!c->is_open)
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
	if (c->open_error)
		*diag = c->why;
	return c->open_error;
}

int counting_start_running(struct counting *c, pid_t pid, struct diag *diag)
{
	c->is_running = c->report.of_running = true;
	return counting_start(c, pid, diag);
}

int counting_count_paths(struct counting *c, uint32_t max, const char *names, struct diag *diag)
{
	regex_t unused;

	if (names && regcomp(&unused, names, REG_EXTENDED | REG_NOSUB))
		return diag_fail(diag, EINVAL, "'%s' is not a regular expression", names);
	if (names)
		regfree(&unused);
	c->report.of_paths = true;
	c->paths_max = max;
	c->names = names;
	c->next_slot = INSTRUMENT_PATHS_FIRST_SLOT;
	return 0;
}

int counting_wait(struct counting *c)
{
	int status;

	/* Bursts end with the command's life, which need not be ours to see. */
	if (c->bursts)
		counting_stop(c);
	atomic_store(&c->ending, true);
	planner_cancel(c->planner);
	pthread_mutex_lock(&c->lock);
	while (!c->has_ended && !c->is_over)
		pthread_cond_wait(&c->changed, &c->lock);
	status = c->has_ended ? c->status : -1;
	pthread_mutex_unlock(&c->lock);
	return status;
}

void counting_stop(struct counting *c)
{
	if (!c->started)
		return;
	atomic_store(&c->ending, true);
	planner_cancel(c->planner);
	pthread_mutex_lock(&c->lock);
	atomic_store(&c->stopping, true);
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	c->started = false;
}

int counting_each(const struct counting *c, int (*f)(void *arg, const struct db_execution *e),
		  void *arg)
{
	int r = 0;

	for (size_t i = 0; !c->paths_max && i < c->image_count; i++) {
		const struct counted_image *im = &c->images[i];
		const struct plans_edge *e = (const struct plans_edge *)(void *)im->edges.data;
		const uint64_t *windows = (const uint64_t *)(void *)im->windows.data;

		for (size_t k = 0; !r && k < im->edges.size / sizeof(*e); k++)
			r = f(arg, &(struct db_execution){&im->facts.image.id, im->path, e[k].from,
							  e[k].to, e[k].count,
							  windows ? windows[k] : e[k].count});
	}
	return r;
}

int counting_each_path(const struct counting *c, int (*f)(void *arg, const struct counting_path *p),
		       void *arg)
{
	int r = 0;

	for (size_t i = 0; c->paths_max && i < c->image_count; i++) {
		const struct counted_image *im = &c->images[i];
		struct plans_path p;

		for (size_t at = 0; !r && next_path(im, &at, &p);)
			if (p.end != PLANS_PATH_UNSEEN)
				r = f(arg, &(struct counting_path){
						   &im->facts.image.id, im->path, p.function,
						   p.count, (enum instrument_path_end)p.end, p.to,
						   (const uint64_t *)(void *)(im->edges.data + at) -
							   p.blocks,
						   p.blocks});
	}
	return r;
}

void counting_read_report(const struct counting *c, struct counting_report *ret)
{
	*ret = c->report;
}

uint64_t counting_cpu_ns(void *arg)
{
	struct counting *c = arg;
	struct timespec t;

	/* Of a thread that has ended nothing is told any more. */
	if (c->started && c->has_clock && !clock_gettime(c->clock, &t))
		c->cpu_ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	return c->cpu_ns;
}

static bool find_original(void *arg, uint64_t inode, uint64_t offset, uint64_t *ret)
{
	const struct counting *c = arg;

	return copies_find(c->copies, inode, offset, ret);
}

static bool find_file(void *arg, uint64_t inode, struct originals_file *ret)
{
	const struct counting *c = arg;

	return copies_find_file(c->copies, inode, ret);
}

static int each_run(void *arg, uint32_t image, int (*f)(void *, const struct originals_run *),
		    void *f_arg)
{
	const struct counting *c = arg;

	return copies_each_run(c->copies, image, f, f_arg);
}

void counting_fill_originals(struct counting *c, struct originals *ret)
{
	*ret = (struct originals){find_original, find_file, each_run, c};
}

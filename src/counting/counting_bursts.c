/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "counting/counting_state.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>
#include "db/batch.h"
#include "instrument/attach/tracer.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/io.h"
#include "util/num.h"
#include "util/proc.h"

/*
 * Counts in bursts: the copies are mapped once; at random moments the program is stopped, its code
 * is patched and it is let run into them, and a fixed time later stopped again and taken out.
 *
 * Moments are one in each of equal stretches of time, and as many as the budget pays for: what
 * counts is their number. The time between is as long as what the last ones cost asks for.
 */
#define BURST_NS     2000000 /* that each lasts */
#define STRETCH_MIN  (4 * BURST_NS)
#define PATIENCE_MS  20	      /* that others wait for one that does not stop */
#define LOOK_NS	     20000000 /* between two looks at clocks; what happens wakes us */
#define AGAIN_NS     1000000  /* after which what failed is tried again */
#define FAILURES_MAX 100      /* in turn, of bursts: then nobody is troubled any more */
/* What a counter costs, and what comes with it, as far as the budget goes: what it really was is
 * known when all is over (bursts_settle). */
#define COUNTER_NS 0.8
#define COST_KEPT  0.8 /* of what bursts cost, in the mean, at the next one */

#define CHILDREN_MAX_BYTES (1u << 20) /* of a list of them */

/* Of one run. */
struct schedule {
	uint64_t random;
	uint64_t began_ns, next_ns;
	double spent_ns, cost_ns; /* all of it; a burst's */
	unsigned bursts, failures;
};

static double draw(struct schedule *s)
{
	/* splitmix64 */
	uint64_t z = s->random += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* The next stretch, and a moment in it: later where more was spent than may be by now. */
static uint64_t draw_moment(const struct counting *c, struct schedule *s, uint64_t now)
{
	const double share = c->bursts->share;
	const double stretch = s->cost_ns / share > STRETCH_MIN ? s->cost_ns / share : STRETCH_MIN;
	const double due = (double)s->began_ns + s->spent_ns / share;
	const double from = (double)s->next_ns > (double)now ? (double)s->next_ns : (double)now;

	s->next_ns = (uint64_t)((due > from ? due : from) + stretch);
	return (uint64_t)((double)s->next_ns - draw(s) * stretch);
}

static void look(struct counting *c, bool begins, uint64_t *ret_ns)
{
	pid_t pids[BURSTS_PROCESSES_MAX];
	size_t count = attach_processes(c->attach, pids, BURSTS_PROCESSES_MAX);
	uint64_t ns = bursts_look(c->bursts, pids, count, begins);

	if (ret_ns)
		*ret_ns = ns;
}

/* Lets it run until then, or until all have ended: -ECHILD. */
static int run_until(struct counting *c, uint64_t until)
{
	sigset_t children;
	int r = 0;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	for (;;) {
		uint64_t now = clock_monotonic_ns();
		struct timespec nap = {0};

		if (now >= until || atomic_load(&c->stopping))
			return 0;
		r = attach_serve(c->attach, false);
		if (r == -ECHILD)
			return r;
		nap.tv_nsec = (long)(until - now < LOOK_NS ? until - now : LOOK_NS);
		sigtimedwait(&children, NULL, &nap);
		look(c, false, NULL);
	}
}

/* Takes it out, however often it is asked. */
static int leave(struct counting *c)
{
	struct diag why;
	int r = attach_leave(c->attach, &why);

	for (unsigned try = 0; r && try < FAILURES_MAX; try++) {
		attach_go_on(c->attach);
		if (run_until(c, clock_monotonic_ns() + AGAIN_NS) || atomic_load(&c->stopping))
			return -ECANCELED;
		r = attach_leave(c->attach, &why);
	}
	return r;
}

static void note_burst(struct counting *c, struct schedule *s, uint64_t took_ns, uint64_t stopped)
{
	const unsigned group = s->bursts++ % BURSTS_GROUPS;
	const uint64_t counters = bursts_add(c->bursts, group, took_ns);
	const double cost = COUNTER_NS * (double)counters + (double)stopped;

	s->spent_ns += cost;
	s->cost_ns = s->cost_ns > 0 ? COST_KEPT * s->cost_ns + (1 - COST_KEPT) * cost : cost;
	c->report.bursts.count++;
	c->report.bursts.stopped_ns += stopped;
	if (stopped > c->report.bursts.longest_ns)
		c->report.bursts.longest_ns = stopped;
}

/* One burst. Out of time: it is none. */
static int burst(struct counting *c, struct schedule *s)
{
	uint64_t began = clock_monotonic_ns(), running, ended, took = 0;
	struct diag why;
	int r = attach_enter(c->attach, &why);

	if (!r) {
		attach_read(c->attach, c->bursts->before, c->bursts->slots);
		look(c, true, NULL);
	}
	attach_go_on(c->attach);
	running = clock_monotonic_ns();
	if (!r)
		r = run_until(c, running + BURST_NS);
	if (r == -ECHILD)
		return r;
	ended = clock_monotonic_ns();
	if (!r) {
		r = leave(c);
		attach_read(c->attach, c->bursts->now, c->bursts->slots);
		look(c, false, &took);
	} else {
		leave(c);
	}
	attach_go_on(c->attach);
	uint64_t stopped = running - began + clock_monotonic_ns() - ended;
	if (r) {
		s->spent_ns += (double)stopped;
		s->failures++;
		c->report.bursts.failed++;
		return s->failures < FAILURES_MAX ? 0 : r;
	}
	s->failures = 0;
	note_burst(c, s, took, stopped);
	return 0;
}

/* Copies into the program, which is taken out of them again at once. */
static int put_in(struct counting *c, struct schedule *s)
{
	struct diag why;
	int r = counting_take_running(c, c->pid, &why);

	if (r)
		counting_miss(&c->report, COUNTING_MISS_PROGRAM, 1, NULL, why.text);
	r = r ?: leave(c);
	attach_go_on(c->attach);
	r = r ?: bursts_set_slots(c->bursts, c->next_slot);
	s->began_ns = s->next_ns = clock_monotonic_ns();
	return r;
}

static void count(struct counting *c)
{
	struct schedule s = {0};
	int r = put_in(c, &s);

	if (getrandom(&s.random, sizeof(s.random), 0) < 0)
		s.random = s.began_ns;
	attach_be_patient(c->attach, PATIENCE_MS);
	while (!r && !atomic_load(&c->stopping)) {
		r = run_until(c, draw_moment(c, &s, clock_monotonic_ns()));
		if (!r && !atomic_load(&c->stopping))
			r = burst(c, &s);
	}
	/* Who has ended is not to be taken out; others run on as they were, to their end. */
	while (r != -ECHILD && !atomic_load(&c->stopping))
		r = run_until(c, clock_monotonic_ns() + LOOK_NS);
	if (r != -ECHILD)
		look(c, false, NULL);
	attach_be_patient(c->attach, 0);
}

static int compare_edges(const void *pa, const void *pb)
{
	const struct plans_edge *a = pa, *b = pb;

	return NUM_ORDER(a->from, b->from) ?: NUM_ORDER(a->to, b->to);
}

static size_t sort_edges(struct buf *edges)
{
	size_t count = edges->size / sizeof(struct plans_edge);

	array_sort(edges->data, count, sizeof(struct plans_edge), compare_edges);
	return count;
}

/* What each group has of an edge. */
struct of_groups {
	uint64_t counts[BURSTS_GROUPS];
};

/* Adds a group's counts to the edges that all have: both are sorted. */
static void join_group(const struct plans_edge *all, size_t all_count, const struct plans_edge *own,
		       size_t own_count, struct of_groups *groups, unsigned group)
{
	for (size_t i = 0, k = 0; i < all_count && k < own_count;) {
		const int order = compare_edges(&all[i], &own[k]);

		if (!order)
			groups[i].counts[group] += own[k].count;
		i += order < 0;
		k += order >= 0;
	}
}

static int read_groups(struct counting *c, struct counted_image *im, size_t count,
		       struct of_groups *groups)
{
	struct buf own;
	int r = 0;

	buf_init(&own, SIZE_MAX);
	for (unsigned g = 0; r >= 0 && g < BURSTS_GROUPS; g++) {
		buf_clear(&own);
		r = counting_read_image(c, im, c->bursts->sums[g], &own);
		if (r >= 0)
			join_group((const struct plans_edge *)(void *)im->edges.data, count,
				   (const struct plans_edge *)(void *)own.data, sort_edges(&own),
				   groups, g);
	}
	buf_free(&own);
	return r < 0 ? r : 0;
}

/* What is counted in all groups. */
struct counted_sums {
	uint64_t *of_slots;
	uint64_t entries; /* of functions, from outside */
};

static int read_image(struct counting *c, struct counted_image *im, void *arg)
{
	struct counted_sums *sums = arg;
	int r = sums->of_slots ? counting_read_image(c, im, sums->of_slots, &im->edges) : -ENOMEM;
	size_t count = r < 0 ? 0 : sort_edges(&im->edges);
	const struct plans_edge *edges = (const struct plans_edge *)(void *)im->edges.data;

	for (size_t i = 0; i < count; i++)
		if (edges[i].from == DB_EDGE_START)
			sums->entries += edges[i].count;
	return r;
}

/* Taken for the whole time. */
static int estimate_image(struct counting *c, struct counted_image *im)
{
	const size_t count = im->edges.size / sizeof(struct plans_edge);
	struct of_groups *groups = calloc(count + 1, sizeof(*groups));
	struct plans_edge *edges = (struct plans_edge *)(void *)im->edges.data;
	int r = groups ? read_groups(c, im, count, groups) : -ENOMEM;

	for (size_t i = 0; !r && i < count; i++) {
		const struct bursts_estimate e =
			bursts_estimate(c->bursts, edges[i].count, groups[i].counts);

		edges[i].count = e.count;
		r = buf_append(&im->windows, &e.windows, sizeof(e.windows));
	}
	free(groups);
	return r;
}

static void estimate_images(struct counting *c)
{
	for (size_t i = 0; i < c->image_count; i++) {
		struct counted_image *im = &c->images[i];
		int r = im->edges.size ? estimate_image(c, im) : 0;

		if (r) {
			buf_clear(&im->edges);
			buf_clear(&im->windows);
			counting_miss(&c->report, COUNTING_MISS_SUMS, 1, im->path, strerror(-r));
		}
	}
}

static void read_bursts(struct counting *c)
{
	struct bursts *b = c->bursts;
	struct counted_sums sums = {.of_slots = calloc(b->slots + 1, sizeof(*sums.of_slots))};

	for (int g = 0; sums.of_slots && g < BURSTS_GROUPS; g++)
		for (uint32_t i = 0; i < b->slots; i++)
			sums.of_slots[i] += b->sums[g][i];
	counting_read_all(c, read_image, &sums);
	free(sums.of_slots);
	bursts_settle(b, sums.entries);
	estimate_images(c);
	c->report.bursts.total_ns = (uint64_t)bursts_total_ns(b);
	c->report.bursts.counted_ns = (uint64_t)bursts_counted_ns(b);
	for (int g = 0; g < BURSTS_GROUPS; g++)
		c->report.bursts.ran_ns += b->ran_ns[g];
}

/* What became of a process's children: how many it has, and what ended ones took, in ticks. */
struct kin {
	uint64_t children, ticks;
};

static uint64_t count_children(pid_t pid)
{
	char path[64], *list;
	DIR *tasks;
	struct dirent *entry;
	uint64_t count = 0;
	size_t size;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", (int)pid,
			 entry->d_name);
		if (entry->d_name[0] == '.' || io_read_file(path, CHILDREN_MAX_BYTES, &list, &size))
			continue;
		for (size_t i = 0; i < size; i++)
			count += list[i] == ' ';
		free(list);
	}
	if (tasks)
		closedir(tasks);
	return count;
}

static struct kin find_kin(pid_t pid)
{
	struct proc_stat stat = {0};

	proc_read_stat(pid, &stat);
	return (struct kin){count_children(pid), stat.children_ticks};
}

/* Children that began before the bursts are sampled, and not counted. */
static void judge_kin(struct counting *c)
{
	const struct kin now = find_kin(c->pid);

	if (now.children > c->bursts->children || now.ticks > c->bursts->child_ticks)
		counting_miss(&c->report, COUNTING_MISS_FORK, 1, NULL,
			      "the process had children before bursts began");
}

static bool wait_for_samples(struct counting *c)
{
	pthread_mutex_lock(&c->lock);
	while (!c->bursts->given && !atomic_load(&c->stopping))
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
	return !atomic_load(&c->stopping);
}

static void *run(void *arg)
{
	struct counting *c = arg;
	const struct attach_ops ops = {
		.ended = counting_take_end, .is_ending = counting_is_ending, .arg = c};
	struct diag why;
	int r;

	prctl(PR_SET_TIMERSLACK, 1000);
	if (!wait_for_samples(c)) {
		counting_miss(&c->report, COUNTING_MISS_PROGRAM, 1, NULL,
			      "it ended before there were enough samples to choose functions by");
		counting_say(c, &c->is_over);
		return NULL;
	}
	r = counting_plan_running(c, c->pid, &why);
	r = r ?: attach_open(c->pid, &ops, &c->attach, &why);
	if (!r) {
		judge_kin(c);
		count(c);
		counting_end(c);
		if (c->bursts->slots)
			read_bursts(c);
		attach_close(c->attach);
	} else {
		counting_miss(&c->report, COUNTING_MISS_PROGRAM, 1, NULL, why.text);
	}
	counting_say(c, &c->is_over);
	return NULL;
}

int counting_start_bursts(struct counting *c, pid_t pid, double percent, struct diag *diag)
{
	struct kin kin = {0, 0};

	c->bursts = calloc(1, sizeof(*c->bursts));
	if (!c->bursts)
		return diag_fail(diag, ENOMEM, "out of memory");
	c->bursts->share = percent / 100;
	/* From now on its time counts. */
	bursts_look(c->bursts, &pid, 1, false);
	/* All that come of a command are sampled, those that it has by now too. */
	if (tracer_status(pid, 0, "PPid", 0) != getpid())
		kin = find_kin(pid);
	c->bursts->children = kin.children;
	c->bursts->child_ticks = kin.ticks;
	return counting_run_thread(c, pid, run, diag);
}

bool counting_wants_samples(struct counting *c)
{
	return c->bursts && c->started && !c->bursts->given && !c->is_over;
}

int counting_take_sample(struct counting *c, uint32_t image, const char *path, uint64_t address,
			 uint64_t samples)
{
	return bursts_add_sample(c->bursts, image, path, address, samples);
}

void counting_take_samples_end(struct counting *c)
{
	counting_say(c, &c->bursts->given);
}

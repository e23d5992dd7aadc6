/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A load in slices of the same work, in which the events of a running daemon are on or off:
 *
 *     budget-slices PID SECONDS SEED memory MS | server MS | idle MS | build COMMAND... -- FILE...
 *
 * It runs on the last two CPUs at once, which may share a core, as real-time threads of the least
 * priority. Each block is three slices in an order that is drawn: off, off again, on. For each
 * block and CPU a line: its number, and what the three took in ns, in that order; of the CPU's time
 * and not of the clock, so that neither who else runs nor the host that runs others counts. The
 * interrupts are in it, since the kernel charges them to whom they interrupt (unless
 * CONFIG_IRQ_TIME_ACCOUNTING). Between two blocks the CPUs are left to the others for as long.
 *
 * The daemon's descriptors are had by pidfd_getfd(2); of its events those that are on, not the one
 * with which it looks again at what an interrupt costs. In a slice of so many ms there is one
 * interrupt, or none: its events are switched on before all three, since that alone, with its
 * calls to the other CPU and its timers that are set, costs a loop as much of its caches as half an
 * interrupt; of those off the first interrupt would come after the slice. A build and an idle
 * machine have the daemon's periods, of which what was left is kept, so that there are as many
 * while it is on; an event that is off does not interrupt and writes no records.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "budget_server.h"
#include "collect/cost/governor.h"
#include "collect/cost/governor_work.h"

#define CPUS 2
/* The one interrupt comes after that part of a slice, and no second one before it took twice as
 * long; in a slice without, when that much of it has passed. */
#define ONE_AT		0.75
#define NONE_AT		2
#define FOLLOW		0.1 /* so much of the way to the right amount of work with each block */
#define SLICES		3   /* of a block; the last is the one with the events on */
#define DESCRIPTORS_MAX 1024
#define LOOK_US		100000

/* What the processes of the CPUs share. */
struct shared {
	_Atomic unsigned arrived, ended;
	double took_ns[CPUS][SLICES];
};

static struct {
	int fds[DESCRIPTORS_MAX];
	unsigned count;
	int cpu; /* that this process runs on */
	unsigned number, rounds;
	pid_t other; /* of the process that counts */
	struct shared *shared;
} it;

struct load {
	double ms;
	/* Before the slices of a block, and one of them. */
	void (*begin)(struct load *l);
	double (*slice)(struct load *l);
	struct governor_work work;
	struct server server;
	unsigned long amount; /* of a slice; found out in the first */
	char **command, **files;
	unsigned file, files_count;
};

static double clock_ns(clockid_t which)
{
	struct timespec t;

	need(!clock_gettime(which, &t), "clock_gettime");
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* For how long it was on; of events of records, which say less, and are: until now. */
static double enabled_ns(int fd)
{
	uint64_t v[3]; /* value, time enabled, time running */

	return read(fd, v, sizeof(v)) == (ssize_t)sizeof(v) ? (double)v[1]
							    : clock_ns(CLOCK_MONOTONIC);
}

/* Gives back those that are not on all the time. */
static void keep_those_on(void)
{
	double before[DESCRIPTORS_MAX], start = clock_ns(CLOCK_MONOTONIC), took;
	unsigned kept = 0;

	for (unsigned i = 0; i < it.count; i++)
		before[i] = enabled_ns(it.fds[i]);
	usleep(LOOK_US);
	took = clock_ns(CLOCK_MONOTONIC) - start;
	for (unsigned i = 0; i < it.count; i++)
		if (enabled_ns(it.fds[i]) - before[i] > took / 2)
			it.fds[kept++] = it.fds[i];
		else
			close(it.fds[i]);
	it.count = kept;
}

static void grab_events(pid_t pid)
{
	char path[64], target[64];
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	need(pidfd >= 0 && d, path);
	for (struct dirent *e; (e = readdir(d)) && it.count < DESCRIPTORS_MAX;) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1);

		target[n > 0 ? n : 0] = 0;
		if (strcmp(target, "anon_inode:[perf_event]") != 0)
			continue;
		it.fds[it.count] = (int)syscall(SYS_pidfd_getfd, pidfd, atoi(e->d_name), 0);
		need(it.fds[it.count++] >= 0, "pidfd_getfd");
	}
	closedir(d);
	close(pidfd);
	keep_those_on();
}

static void switch_events(bool on)
{
	for (unsigned i = 0; i < it.count; i++)
		ioctl(it.fds[i], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

/* The next interrupt comes that long after an event is switched on; 0: when it would anyway. */
static void set_period(double ns)
{
	uint64_t period = (uint64_t)ns;

	for (unsigned i = 0; period && i < it.count; i++)
		ioctl(it.fds[i], PERF_EVENT_IOC_PERIOD, &period); /* those of records have none */
}

static void switch_back(void)
{
	switch_events(true);
}

static void set_real_time(pid_t pid, bool on)
{
	const struct sched_param p = {.sched_priority = on};

	need(!sched_setscheduler(pid, on ? SCHED_FIFO : SCHED_OTHER, &p), "sched_setscheduler");
}

static void use_cpu(pid_t pid)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(it.cpu, &set);
	need(!sched_setaffinity(pid, sizeof(set), &set), "sched_setaffinity");
}

/* Towards a slice that takes as long as it should. */
static void adjust(struct load *l, double took_ns, double part)
{
	double factor = pow(l->ms * 1e6 / fmax(took_ns, 1), part);

	l->amount = (unsigned long)ceil((double)l->amount * factor);
}

static void begin_memory(struct load *l)
{
	governor_work_run(&l->work, 2 * governor_work_round(&l->work));
	if (l->amount)
		return;
	l->amount = 100000;
	adjust(l, l->slice(l), 1);
}

static double slice_memory(struct load *l)
{
	double start = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	governor_work_run(&l->work, l->amount);
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}

/* The server waits while the clients' side looks, on the same CPU: its time stands still. */
static double server_ns(const struct load *l)
{
	clockid_t server;

	need(!clock_getcpuclockid(l->server.pid, &server), "clock_getcpuclockid");
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) + clock_ns(server);
}

static double slice_server(struct load *l)
{
	double start = server_ns(l);

	for (unsigned long i = 0; i < l->amount; i++)
		server_ask(&l->server);
	return server_ns(l) - start;
}

static void begin_server(struct load *l)
{
	if (!l->server.pid) {
		server_start(&l->server);
		use_cpu(l->server.pid);
		l->amount = 100;
		slice_server(l);
		adjust(l, slice_server(l), 1);
	}
	set_real_time(l->server.pid, true);
	slice_server(l);
}

/* All slices of a block compile the same file. */
static double slice_build(struct load *l)
{
	char *argv[256];
	unsigned n = 0;
	struct rusage u;
	pid_t pid;

	for (; l->command[n] && n < 250; n++)
		argv[n] = l->command[n];
	argv[n++] = l->files[l->file];
	argv[n] = NULL;
	pid = fork();
	need(pid >= 0, "fork");
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 2);
		execvp(argv[0], argv);
		_exit(127);
	}
	need(wait4(pid, NULL, 0, &u) == pid, "wait4");
	return ((double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec) * 1e9 +
	       ((double)u.ru_utime.tv_usec + (double)u.ru_stime.tv_usec) * 1e3;
}

static void begin_build(struct load *l)
{
	l->file = (l->file + 1) % l->files_count;
}

/* Of this CPU; up to date, since it is not idle while it reads. */
static double idle_ns(void)
{
	char line[256];
	int cpu = -1;
	double ns = -1;
	FILE *f = fopen("/proc/timer_list", "r");

	need(f != NULL, "/proc/timer_list");
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "cpu: %d", &cpu);
		if (cpu == it.cpu && sscanf(line, " .idle_sleeptime : %lf", &ns) == 1)
			break;
	}
	fclose(f);
	return ns;
}

/* Of so much time what this CPU was not idle. */
static double slice_idle(struct load *l)
{
	double idle, start = clock_ns(CLOCK_MONOTONIC);

	idle = idle_ns();
	usleep((useconds_t)(l->ms * 1e3));
	idle = idle_ns() - idle;
	return clock_ns(CLOCK_MONOTONIC) - start - idle;
}

static void begin_nothing(struct load *l)
{
	(void)l;
}

static bool choose_load(char **argv, struct load *l)
{
	const char *name = argv[0];

	l->ms = argv[1] && strcmp(name, "build") != 0 ? strtod(argv[1], NULL) : 0;
	if (!strcmp(name, "memory") && l->ms > 0) {
		size_t bytes = governor_set_bytes("", it.cpu, GOVERNOR_SECOND_LEVEL);

		need(!governor_work_new(bytes, &l->work), "mmap");
		l->begin = begin_memory;
		l->slice = slice_memory;
	} else if (!strcmp(name, "server") && l->ms > 0) {
		l->begin = begin_server;
		l->slice = slice_server;
	} else if (!strcmp(name, "idle") && l->ms > 0) {
		l->begin = begin_nothing;
		l->slice = slice_idle;
	} else if (!strcmp(name, "build")) {
		l->command = ++argv;
		while (*argv && strcmp(*argv, "--") != 0)
			argv++;
		if (!*argv)
			return false;
		*argv++ = NULL;
		for (l->files = argv; *argv; argv++)
			l->files_count++;
		l->begin = begin_build;
		l->slice = slice_build;
		return l->files_count > 0;
	}
	return l->begin;
}

static void draw_order(unsigned *order, uint64_t *state)
{
	for (unsigned i = 0; i < SLICES; i++)
		order[i] = i;
	for (unsigned i = SLICES - 1; i > 0; i--) {
		unsigned j, swap = order[i];

		*state = *state * 6364136223846793005u + 1442695040888963407u;
		j = (unsigned)(*state >> 33) % (i + 1);
		order[i] = order[j];
		order[j] = swap;
	}
}

/* Until both are there. But for the first time each has its CPU for itself. Who counts ends where
 * the other did; the other is killed with it. */
static void meet(bool asleep)
{
	unsigned all = ++it.rounds * CPUS;

	it.shared->arrived++;
	while (it.shared->arrived < all) {
		if (it.other && waitpid(it.other, NULL, WNOHANG) == it.other)
			exit(1);
		if (asleep)
			usleep(100);
	}
}

/* For one slice, with interrupts or without. */
static void prepare_events(const struct load *l, bool on)
{
	switch_events(false);
	if (l->amount)
		set_period(l->ms * 1e6 * (on ? ONE_AT : NONE_AT));
	if (on || l->amount)
		switch_events(true);
}

static void run_block(struct load *l, uint64_t *state)
{
	double start = clock_ns(CLOCK_MONOTONIC);
	unsigned order[SLICES];

	draw_order(order, state);
	set_real_time(0, true);
	meet(true);
	l->begin(l);
	for (unsigned i = 0; i < SLICES; i++) {
		meet(false);
		if (!it.number)
			prepare_events(l, order[i] == SLICES - 1);
		meet(false);
		it.shared->took_ns[it.number][order[i]] = l->slice(l);
	}
	meet(false);
	set_real_time(0, false);
	if (l->amount)
		adjust(l, fmin(it.shared->took_ns[it.number][0], it.shared->took_ns[it.number][1]),
		       FOLLOW);
	if (l->server.pid)
		set_real_time(l->server.pid, false);
	if (!it.number) {
		if (l->amount)
			set_period(l->ms * 1e6 * SLICES);
		switch_events(true);
		for (unsigned i = 0; i < CPUS; i++) {
			double *took = it.shared->took_ns[i];

			printf("%u %.0f %.0f %.0f\n", i, took[0], took[1], took[2]);
		}
	}
	usleep((useconds_t)((clock_ns(CLOCK_MONOTONIC) - start) / 1e3));
}

static void run(struct load *l, double seconds, uint64_t state)
{
	double end = clock_ns(CLOCK_MONOTONIC) + seconds * 1e9;

	use_cpu(0);
	do {
		run_block(l, &state);
		if (!it.number)
			it.shared->ended = clock_ns(CLOCK_MONOTONIC) >= end;
		meet(true);
	} while (!it.shared->ended);
	if (l->server.pid)
		server_end(&l->server);
}

int main(int argc, char **argv)
{
	double seconds = argc > 4 ? strtod(argv[2], NULL) : 0;
	struct load l = {0};

	it.cpu = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
	if (!(seconds > 0) || it.cpu + 1 < CPUS || !choose_load(argv + 4, &l)) {
		fprintf(stderr,
			"usage: %s PID SECONDS SEED memory MS | server MS | idle MS | build "
			"COMMAND... -- FILE...\n",
			argv[0]);
		return 2;
	}
	it.shared = mmap(NULL, sizeof(*it.shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	need(it.shared != MAP_FAILED, "mmap");
	grab_events(atoi(argv[1]));
	it.other = fork();
	need(it.other >= 0, "fork");
	if (it.other == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		it.cpu--;
		it.number = 1;
	} else {
		atexit(switch_back);
	}
	run(&l, seconds, strtoull(argv[3], NULL, 10));
	return 0;
}

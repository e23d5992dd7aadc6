/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/process/process.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/process/procfs.h"
#include "collect/process/subject.h"
#include "util/array.h"
#include "util/clock.h"
#include "util/hash.h"

#define PROCESSES_MAX  262144
#define SCAN_SHARE     50   /* of the time is for looks at one process's mappings: one in so many */
#define DUE_MAX	       1024 /* processes whose mappings are to be looked at */
#define DUE_NS	       50000000
#define DUE_SHARE      10   /* ... which may take one in so many of the time */
#define LIVES_MAX_EACH 8192 /* of one PID between two collections: execs and reuses */

struct processes {
	struct files *files;
	struct map64 *by_pid; /* pid -> newest life, a struct process pointer */
	struct processes_counters counters;
	bool must_rescan;
	pid_t due[DUE_MAX];
	size_t due_count;
	uint64_t due_next_ns; /* none is looked at before */
	void (*catch_up)(void *arg);
	void *catch_up_arg;
};

static void free_life(struct process *life)
{
	space_unref(life->space);
	free(life->cgroup);
	free(life->jitdump);
	subject_free(life);
	if (life->map_fd)
		close(life->map_fd - 1);
	if (life->dump_fd)
		close(life->dump_fd - 1);
	free(life);
}

static void free_lives(uint64_t pid, uint64_t value, void *arg)
{
	(void)pid, (void)arg;
	for (struct process *life = (struct process *)(uintptr_t)value, *older; life;
	     life = older) {
		older = life->older;
		free_life(life);
	}
}

void processes_free(struct processes *p)
{
	if (!p)
		return;
	if (p->by_pid)
		map64_each(p->by_pid, free_lives, NULL);
	map64_free(p->by_pid);
	free(p);
}

struct process *processes_newest(struct processes *p, pid_t pid)
{
	uint64_t value;

	if (pid < 0 || map64_get(p->by_pid, (uint64_t)pid, &value))
		return NULL;
	return (struct process *)(uintptr_t)value;
}

struct process *processes_find(struct processes *p, pid_t pid, uint64_t time_ns)
{
	struct process *life = processes_newest(p, pid);

	while (life && life->born_ns > time_ns)
		life = life->older;
	return life;
}

/* A new newest life of pid; the one before, if any, ends. */
static struct process *begin_life(struct processes *p, pid_t pid, uint64_t born_ns)
{
	struct process *before = processes_newest(p, pid), *life = calloc(1, sizeof(*life));

	if (!life || map64_put(p->by_pid, (uint64_t)pid, (uint64_t)(uintptr_t)life)) {
		p->counters.processes_refused++;
		free(life);
		return NULL;
	}
	if (before && before->forebears == LIVES_MAX_EACH) {
		/* Something execs in a loop. Samples of the lives forgotten here become unknown. */
		free_lives(0, (uint64_t)(uintptr_t)before->older, NULL);
		p->counters.lives -= before->forebears;
		before->older = NULL;
		before->forebears = 0;
	}
	life->forebears = before ? before->forebears + 1 : 0;
	life->pid = pid;
	life->born_ns = life->started_ns = born_ns;
	life->ended_ns = UINT64_MAX;
	life->older = before;
	if (before && before->ended_ns == UINT64_MAX)
		before->ended_ns = born_ns;
	p->counters.lives++;
	return life;
}

static void set_comm(struct process *life, const char *name, size_t size)
{
	size = size < sizeof(life->comm) ? size : sizeof(life->comm) - 1;
	if (size == life->comm_size && !memcmp(life->comm, name, size))
		return;
	memcpy(life->comm, name, size);
	life->comm_size = size;
	subject_forget(life);
}

struct processes *processes_new(struct files *files)
{
	struct processes *p = calloc(1, sizeof(*p));
	struct process *idle;

	if (!p)
		return NULL;
	p->files = files;
	p->by_pid = map64_new(PROCESSES_MAX);
	/* The idle tasks are in no list of processes. */
	idle = p->by_pid ? begin_life(p, 0, 0) : NULL;
	if (!idle) {
		processes_free(p);
		return NULL;
	}
	set_comm(idle, "swapper", 7);
	return p;
}

static void copy_cgroup(struct process *to, const struct process *from)
{
	free(to->cgroup);
	to->cgroup = from->cgroup ? strdup(from->cgroup) : NULL;
}

static void take_fork(struct processes *p, const struct sideband_record *r)
{
	struct process *parent, *life;

	if (r->pid == r->ppid)
		return; /* a thread */
	life = begin_life(p, r->pid, r->time_ns);
	if (!life)
		return;
	life->parent = r->ppid;
	parent = processes_find(p, r->ppid, r->time_ns);
	if (!parent)
		return;
	set_comm(life, parent->comm, parent->comm_size);
	copy_cgroup(life, parent);
	life->space = parent->space ? space_ref(parent->space) : NULL;
}

static void take_comm(struct processes *p, const struct sideband_record *r)
{
	struct process *before = processes_newest(p, r->pid), *life = before;

	if (r->exec || !life) {
		life = begin_life(p, r->pid, r->exec ? r->time_ns : 0);
		if (!life)
			return;
		life->space = r->exec ? space_new() : NULL;
		if (before) {
			life->parent = before->parent;
			life->started_ns = before->started_ns;
			copy_cgroup(life, before);
		}
	} else if (r->pid != r->tid) {
		return; /* the name of a thread */
	}
	set_comm(life, r->name, r->name_size);
}

static bool is_jitdump(const char *path, size_t size)
{
	static const char prefix[] = "/jit-", suffix[] = ".dump";
	const char *slash = memrchr(path, '/', size);

	return slash && (size_t)(path + size - slash) > sizeof(prefix) + sizeof(suffix) - 2 &&
	       !memcmp(slash, prefix, sizeof(prefix) - 1) &&
	       !memcmp(path + size - sizeof(suffix) + 1, suffix, sizeof(suffix) - 1);
}

static void add_mapping(struct processes *p, struct process *life, const struct file_name *name,
			uint64_t start, uint64_t end, uint64_t file_offset, uint64_t born_ns)
{
	struct mapped_file *file;
	bool new_here = born_ns > 0; /* not there already when collection began */

	if (!life->jitdump && !name->deleted && is_jitdump(name->path, name->path_size)) {
		life->jitdump = strndup(name->path, name->path_size);
		life->jit_next_ns = life->jit_wait_ns = 0;
	}
	if (!life->space)
		life->space = space_new();
	file = life->space ? files_take(p->files, name) : NULL;
	if (file && new_here)
		files_meet(p->files, &file, &(struct file_mapping){life->pid, start, end, born_ns});
	if (!file || space_add(&life->space, start, end, file_offset, file, born_ns))
		p->counters.mappings_refused++;
}

void processes_move(struct processes *p, pid_t pid, uint64_t time_ns)
{
	struct process *before = processes_newest(p, pid), *life;
	char *cgroup = before ? procfs_read_cgroup(pid) : NULL;

	/* In another hierarchy than the one that counts, or gone already. */
	if (!cgroup || (before->cgroup && !strcmp(cgroup, before->cgroup))) {
		free(cgroup);
		return;
	}
	life = begin_life(p, pid, time_ns);
	if (!life) {
		free(cgroup);
		return;
	}
	life->cgroup = cgroup;
	life->parent = before->parent;
	life->started_ns = before->started_ns;
	life->space = before->space ? space_ref(before->space) : NULL;
	life->jitdump = before->jitdump ? strdup(before->jitdump) : NULL;
	life->leader_gone = before->leader_gone;
	set_comm(life, before->comm, before->comm_size);
}

static void take_mmap(struct processes *p, const struct sideband_record *r)
{
	struct process *life = processes_newest(p, r->pid);
	struct file_name name = {
		.build_id_size = r->build_id_size,
		.device_major = r->device_major,
		.device_minor = r->device_minor,
		.inode = r->inode,
		.inode_generation = r->inode_generation,
	};

	if (r->pid <= 0 || r->size > UINT64_MAX - r->address)
		return;
	if (!life)
		life = begin_life(p, r->pid, 0);
	if (!life)
		return;
	memcpy(name.build_id, r->build_id, sizeof(name.build_id));
	file_name_set(&name, r->name, r->name_size);
	add_mapping(p, life, &name, r->address, r->address + r->size, r->file_offset, r->time_ns);
}

static void take_exit(struct processes *p, const struct sideband_record *r)
{
	struct process *life = processes_newest(p, r->pid);

	/* Other threads may go on; processes_collect looks. */
	if (life && r->pid == r->tid)
		life->leader_gone = true;
}

static void scan_later(struct processes *p, pid_t pid)
{
	for (size_t i = 0; i < p->due_count; i++)
		if (p->due[i] == pid)
			return;
	if (p->due_count < DUE_MAX)
		p->due[p->due_count++] = pid;
	else
		p->must_rescan = true;
}

void processes_take(struct processes *p, const struct sideband_record *r)
{
	switch (r->type) {
	case SIDEBAND_FORK:
		take_fork(p, r);
		break;
	case SIDEBAND_COMM:
		take_comm(p, r);
		break;
	case SIDEBAND_MMAP:
		take_mmap(p, r);
		break;
	case SIDEBAND_EXIT:
		take_exit(p, r);
		break;
	case SIDEBAND_LOST:
		p->counters.records_lost += r->lost;
		p->must_rescan = true;
		break;
	case SIDEBAND_LEFT_OUT:
		p->counters.records_left_out += r->lost;
		if (r->pid)
			scan_later(p, r->pid);
		else
			p->must_rescan = true;
		break;
	case SIDEBAND_KSYMBOL:
		break; /* the kernel's images are not ours */
	}
}

bool processes_must_rescan(struct processes *p)
{
	bool must = p->must_rescan;

	p->must_rescan = false;
	return must;
}

void processes_set_catch_up(struct processes *p, void (*catch_up)(void *arg), void *arg)
{
	p->catch_up = catch_up;
	p->catch_up_arg = arg;
}

struct scan {
	struct processes *p;
	struct process *life; /* as known when it began; NULL: none */
	uint64_t time_ns, begun_ns;
	struct procfs_mapping *found; /* what is not known of it; their paths are ours */
	size_t count, room;
};

static void take_found(void *arg, const struct procfs_mapping *m)
{
	struct scan *scan = arg;
	struct procfs_mapping copy = *m;

	if (scan->life && scan->life->space &&
	    space_has(scan->life->space, m->start, m->end, m->file_offset, m->name.path,
		      m->name.path_size))
		return;
	copy.name.path = strndup(m->name.path, m->name.path_size);
	if (!copy.name.path ||
	    array_grow(&scan->found, scan->count, &scan->room, sizeof(copy), 16)) {
		free((void *)copy.name.path);
		scan->p->counters.mappings_refused++;
		return;
	}
	scan->found[scan->count++] = copy;
}

/* Where a record told of a mapping meanwhile, that is the newer one. */
static void keep_found(const struct scan *scan)
{
	for (size_t i = 0; i < scan->count; i++) {
		const struct procfs_mapping *m = &scan->found[i];

		if (!space_changed(scan->life->space, m->start, m->end, scan->begun_ns))
			add_mapping(scan->p, scan->life, &m->name, m->start, m->end, m->file_offset,
				    scan->time_ns);
	}
}

static void free_found(struct scan *scan)
{
	for (size_t i = 0; i < scan->count; i++)
		free((void *)scan->found[i].name.path);
	free(scan->found);
}

/*
 * Whether what was read is of the life that is known now. A process that became another program, or
 * whose number went to another, while it was read is better known by its records.
 */
static bool is_of_newest(struct scan *scan, pid_t pid)
{
	if (scan->p->catch_up && (scan->count || !scan->life))
		scan->p->catch_up(scan->p->catch_up_arg);
	return processes_newest(scan->p, pid) == scan->life;
}

/* Takes over what was read. */
static int keep_scan(struct scan *scan, pid_t pid, const struct procfs_status *status)
{
	if (!scan->life) {
		scan->life = begin_life(scan->p, pid, 0);
		if (!scan->life)
			return -ENOMEM;
		scan->life->parent = status->parent;
	}
	set_comm(scan->life, status->comm, status->comm_size);
	if (status->is_kernel)
		return 0;
	/* Now, so that the children that it has later inherit what it had then. */
	if (!scan->life->cgroup)
		scan->life->cgroup = procfs_read_cgroup(pid);
	keep_found(scan);
	return 0;
}

int processes_scan_one(struct processes *p, pid_t pid, uint64_t time_ns)
{
	struct scan scan = {.p = p, .time_ns = time_ns, .begun_ns = clock_monotonic_ns()};
	struct procfs_status status;
	int r = procfs_read_status(pid, &status), kept = 0;
	uint64_t took_ns;

	if (r)
		return r;
	scan.life = processes_newest(p, pid);
	if (!status.is_kernel) /* half of all, of which there is no more to read */
		r = procfs_each_mapping(pid, take_found, &scan);
	took_ns = clock_monotonic_ns() - scan.begun_ns;
	if (is_of_newest(&scan, pid)) {
		kept = keep_scan(&scan, pid, &status);
		if (!kept)
			scan.life->scan_next_ns = scan.begun_ns + took_ns * (1 + SCAN_SHARE);
	}
	free_found(&scan);
	p->counters.mappings_refused += r == -E2BIG;
	return kept ?: r == -E2BIG ? 0 : r;
}

static void scan_pid(void *arg, pid_t pid)
{
	struct scan *scan = arg;
	const struct process *life = processes_newest(scan->p, pid);

	if (life && scan->time_ns && scan->time_ns < life->scan_next_ns)
		scan_later(scan->p, pid);
	else
		/* A process may end while it is read: what was read of it stays. */
		processes_scan_one(scan->p, pid, scan->time_ns);
}

void processes_scan_due(struct processes *p, uint64_t now_ns)
{
	uint64_t begun_ns = clock_monotonic_ns(), spent_ns = 0;
	size_t kept = 0;

	if (!p->due_count || now_ns < p->due_next_ns)
		return;
	for (size_t i = 0; i < p->due_count; i++) {
		const struct process *life = processes_newest(p, p->due[i]);

		if (spent_ns > DUE_NS || (life && now_ns < life->scan_next_ns)) {
			p->due[kept++] = p->due[i];
			continue;
		}
		processes_scan_one(p, p->due[i], now_ns);
		spent_ns = clock_monotonic_ns() - begun_ns;
	}
	p->due_count = kept;
	p->due_next_ns = now_ns + spent_ns * DUE_SHARE;
}

/* Whether it has ended is to be looked at: the record of that may be among those that were lost. */
static void doubt(uint64_t pid, uint64_t value, void *arg)
{
	struct process *newest = (struct process *)(uintptr_t)value;

	(void)arg;
	if (newest->ended_ns == UINT64_MAX && kill((pid_t)pid, 0) && errno == ESRCH)
		newest->leader_gone = true;
}

int processes_scan(struct processes *p, uint64_t time_ns, struct diag *diag)
{
	struct scan scan = {.p = p, .time_ns = time_ns};

	if (time_ns > 0)
		map64_each(p->by_pid, doubt, NULL);
	return procfs_each_process(scan_pid, &scan, diag);
}

struct each {
	void (*f)(void *arg, struct process *process);
	void *arg;
};

static void each_life(uint64_t pid, uint64_t value, void *arg)
{
	struct each *each = arg;

	(void)pid;
	for (struct process *life = (struct process *)(uintptr_t)value; life; life = life->older)
		each->f(each->arg, life);
}

void processes_each(struct processes *p, void (*f)(void *arg, struct process *process), void *arg)
{
	struct each each = {.f = f, .arg = arg};

	map64_each(p->by_pid, each_life, &each);
}

struct collection {
	struct processes *p;
	uint64_t before_ns, now_ns;
	struct each ending;
	pid_t *emptied; /* PIDs without a life left */
	size_t emptied_count, emptied_room;
};

static void collect_older(struct collection *c, struct process *newest)
{
	struct process **at = &newest->older, *life;

	while ((life = *at)) {
		if (life->ended_ns >= c->before_ns) {
			at = &life->older;
			continue;
		}
		if (c->ending.f)
			c->ending.f(c->ending.arg, life);
		*at = life->older;
		free_life(life);
		newest->forebears--;
		c->p->counters.lives--;
	}
}

static void collect_pid(uint64_t pid, uint64_t value, void *arg)
{
	struct process *newest = (struct process *)(uintptr_t)value;
	struct collection *c = arg;

	collect_older(c, newest);
	if (newest->space)
		space_collect(newest->space, c->before_ns);
	if (newest->leader_gone && newest->ended_ns == UINT64_MAX && kill((pid_t)pid, 0) &&
	    errno == ESRCH)
		newest->ended_ns = c->now_ns;
	/* Ended is when it was noticed, which is late enough for all of its samples. */
	if (newest->ended_ns >= c->before_ns || newest->older)
		return;
	if (c->emptied_count < c->emptied_room)
		c->emptied[c->emptied_count++] = (pid_t)pid;
}

void processes_collect(struct processes *p, uint64_t before_ns, uint64_t now_ns,
		       void (*ending)(void *arg, struct process *process), void *arg)
{
	struct collection c = {
		.p = p,
		.before_ns = before_ns,
		.now_ns = now_ns,
		.ending = {.f = ending, .arg = arg},
		.emptied_room = map64_count(p->by_pid),
	};

	c.emptied = calloc(c.emptied_room ?: 1, sizeof(*c.emptied));
	map64_each(p->by_pid, collect_pid, &c);
	for (size_t i = 0; c.emptied && i < c.emptied_count; i++) {
		struct process *life = processes_newest(p, c.emptied[i]);

		if (ending)
			ending(arg, life);
		map64_remove(p->by_pid, (uint64_t)c.emptied[i]);
		free_life(life);
		p->counters.lives--;
	}
	free(c.emptied);
}

void processes_read_counters(const struct processes *p, struct processes_counters *ret)
{
	*ret = p->counters;
	ret->processes = map64_count(p->by_pid);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "instrument/attach/attach_state.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "util/array.h"

#define ROUNDS_MAX	  64 /* who is found may have made others before it was stopped */
#define THREADS_LOOKED_AT 64
#define TASK_LINKS	  3 /* of /proc/PID/task, where there is one thread */

static bool is_in(pid_t tid, pid_t of)
{
	return !syscall(SYS_kcmp, tid, of, KCMP_VM, 0, 0);
}

/* Whether a process has the memory that a thread has. Its first thread tells, or, for that may have
 * ended, another. */
static bool shares(pid_t tid, pid_t pid)
{
	bool shared = is_in(tid, pid);
	struct dirent *entry;
	struct stat st;
	char path[32];
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	if (shared || stat(path, &st) || st.st_nlink <= TASK_LINKS)
		return shared;
	tasks = opendir(path);
	for (int i = 0; tasks && !shared && i < THREADS_LOOKED_AT && (entry = readdir(tasks)); i++)
		shared = isdigit((unsigned char)entry->d_name[0]) &&
			 is_in(tid, (pid_t)atoi(entry->d_name));
	if (tasks)
		closedir(tasks);
	return shared;
}

static bool is_traced(const struct attach *a, pid_t pid)
{
	for (size_t i = 0; i < a->tracer.count; i++)
		if (a->tracer.list[i]->tgid == pid)
			return true;
	return false;
}

/*
 * Who does not have the memory never will: it is had by birth alone. So each process is asked once,
 * and known by the number that its folder of /proc has for as long as it lives. Both lists ascend
 * by process.
 */
static bool is_stranger(const struct attach_space *s, size_t *at, pid_t pid, uint64_t inode)
{
	while (*at < s->stranger_count && s->strangers[*at].pid < pid)
		++*at;
	return *at < s->stranger_count && s->strangers[*at].pid == pid &&
	       s->strangers[*at].inode == inode;
}

static void set_strangers(struct attach_space *s, struct attach_stranger *list, size_t count)
{
	free(s->strangers);
	s->strangers = list;
	s->stranger_count = count;
}

/* ret_pid: whose threads cannot be. How many were seized, or a negative errno. */
static int seize_sharers(struct attach *a, struct attach_space *s, pid_t *ret_pid)
{
	const pid_t tid = attach_space_tid(a, s);
	DIR *processes = opendir("/proc");
	struct attach_stranger *list = NULL;
	size_t count = 0, room = 0, at = 0;
	struct dirent *entry;
	int seized = 0, r = 0;

	if (!processes)
		return -errno;
	while (r >= 0 && (entry = readdir(processes))) {
		const struct attach_stranger one = {(pid_t)atoi(entry->d_name), entry->d_ino};
		bool strange;

		if (!isdigit((unsigned char)entry->d_name[0]) || is_traced(a, one.pid))
			continue;
		strange = is_stranger(s, &at, one.pid, one.inode) || !shares(tid, one.pid);
		if (strange && !array_grow(&list, count, &room, sizeof(*list), 256))
			list[count++] = one;
		if (strange)
			continue;
		*ret_pid = one.pid;
		r = tracer_seize_more(&a->tracer, one.pid);
		seized += r > 0 ? r : 0;
	}
	closedir(processes);
	set_strangers(s, list, count);
	return r < 0 ? r : seized;
}

static int seize_all(struct attach *a, struct attach_space *s, pid_t *ret_pid)
{
	const size_t count = a->tracer.count;
	int seized = 0, r = 0;

	for (size_t i = 0; r >= 0 && i < count; i++) {
		const struct tracee *e = a->tracer.list[i];

		if (e->space != s || e->tid != e->tgid)
			continue;
		*ret_pid = e->tgid;
		r = tracer_seize_more(&a->tracer, e->tgid);
		seized += r > 0 ? r : 0;
		/* Those of a process that has just ended. */
		r = r == -ENOENT || r == -ESRCH ? 0 : r;
	}
	r = r < 0 ? r : seize_sharers(a, s, ret_pid);
	return r < 0 ? r : seized + r;
}

int attach_space_gather(struct attach *a, struct attach_space *s, struct diag *diag)
{
	for (int round = 0; round < ROUNDS_MAX; round++) {
		const size_t before = a->tracer.count;
		pid_t pid = s->pid;
		int r = attach_space_tid(a, s) ? seize_all(a, s, &pid) : 0;

		for (size_t i = before; i < a->tracer.count; i++) {
			attach_space_join(s, a->tracer.list[i]);
			a->counters.threads++;
		}
		if (r < 0)
			return diag_fail(
				diag, EBUSY,
				"process %d shares the memory of process %d, which is to be "
				"counted, and cannot be traced: %s",
				(int)pid, (int)s->pid, strerror(-r));
		if (!r)
			return 0;
		r = tracer_stop(&a->tracer, a->tracer.family, diag);
		if (r)
			return r;
		for (size_t i = 0; i < a->tracer.count; i++)
			if (a->tracer.list[i]->space == s &&
			    a->tracer.list[i]->table == ATTACH_TABLE_NONE)
				tables_give(a, a->tracer.list[i]);
	}
	return diag_fail(diag, EBUSY,
			 "process %d keeps starting threads that escape tracing: try again",
			 (int)s->pid);
}

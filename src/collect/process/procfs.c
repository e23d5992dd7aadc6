/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/process/procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/io.h"
#include "util/proc.h"

#define SMALL_MAX     65536
#define KERNEL_THREAD 0x200000u /* the kernel's PF_KTHREAD */

int procfs_each_process(void (*f)(void *arg, pid_t pid), void *arg, struct diag *diag)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	if (!d)
		return diag_fail(diag, errno, "cannot read /proc: %s", strerror(errno));
	while ((e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]))
			f(arg, (pid_t)strtol(e->d_name, NULL, 10));
	closedir(d);
	return 0;
}

static int read_proc(pid_t pid, const char *name, char **ret, size_t *ret_size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return io_read_file(path, SMALL_MAX, ret, ret_size);
}

int procfs_read_status(pid_t pid, struct procfs_status *ret)
{
	char *text, *open, *close;
	unsigned flags;
	size_t size;
	int parent, r = read_proc(pid, "stat", &text, &size);

	if (r)
		return r;
	/* PID (name) state parent group session tty its-group flags ...: the name may hold
	 * parentheses and spaces itself. */
	open = strchr(text, '(');
	close = strrchr(text, ')');
	if (!open || !close || close < open ||
	    sscanf(close + 1, " %*c %d %*d %*d %*d %*d %u", &parent, &flags) != 2) {
		free(text);
		return -EBADMSG;
	}
	size = (size_t)(close - open - 1);
	ret->comm_size = size < sizeof(ret->comm) ? size : sizeof(ret->comm) - 1;
	memcpy(ret->comm, open + 1, ret->comm_size);
	ret->parent = parent;
	ret->is_kernel = flags & KERNEL_THREAD;
	free(text);
	return 0;
}

char *procfs_parse_cgroup(const char *text)
{
	const char *best = NULL;
	size_t best_size = 0, best_depth = 0;

	/* Lines are NUMBER:CONTROLLERS:PATH; the unified hierarchy has number 0. */
	for (const char *line = text; *line;) {
		size_t size = strcspn(line, "\n"), depth = 0;
		const char *path = memchr(line, ':', size);
		bool unified = !strncmp(line, "0::", 3);

		path = path ? memchr(path + 1, ':', size - (size_t)(path + 1 - line)) : NULL;
		if (path) {
			size_t path_size = size - (size_t)(++path - line);

			for (size_t i = 0; i < path_size; i++)
				depth += path[i] == '/' && path_size > 1;
			if (!best || depth > best_depth ||
			    (unified && depth && depth >= best_depth)) {
				best = path;
				best_size = path_size;
				best_depth = depth;
			}
			if (unified && depth)
				break;
		}
		line += size + (line[size] == '\n');
	}
	return best ? strndup(best, best_size) : NULL;
}

char *procfs_read_cgroup(pid_t pid)
{
	char *text, *cgroup;
	size_t size;

	if (read_proc(pid, "cgroup", &text, &size))
		return NULL;
	cgroup = procfs_parse_cgroup(text);
	free(text);
	return cgroup;
}

int procfs_read_user(pid_t pid, uid_t *ret)
{
	char *line = proc_read_status(pid, 0, "Uid");
	unsigned user;
	int r = line && sscanf(line, "%u", &user) == 1 ? 0 : -ESRCH;

	free(line);
	if (!r)
		*ret = user;
	return r;
}

pid_t procfs_process_of(pid_t tid)
{
	char *line = proc_read_status(tid, 0, "Tgid");
	pid_t pid = line ? atoi(line) : 0;

	free(line);
	return pid;
}

pid_t procfs_inner_pid(pid_t pid)
{
	char *line = proc_read_status(pid, 0, "NSpid"), *last = line ? strrchr(line, '\t') : NULL;
	pid_t inner = pid;

	if (last && atoi(last + 1) > 0)
		inner = atoi(last + 1);
	free(line);
	return inner;
}

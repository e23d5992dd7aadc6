/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/rights.h"
#include "util/io.h"

#define SMALL_MAX 65536

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
	size_t size;
	int parent, r = read_proc(pid, "stat", &text, &size);

	if (r)
		return r;
	/* PID (name) state parent ...: the name may hold parentheses and spaces itself. */
	open = strchr(text, '(');
	close = strrchr(text, ')');
	if (!open || !close || close < open || sscanf(close + 1, " %*c %d", &parent) != 1) {
		free(text);
		return -EBADMSG;
	}
	size = (size_t)(close - open - 1);
	ret->comm_size = size < sizeof(ret->comm) ? size : sizeof(ret->comm) - 1;
	memcpy(ret->comm, open + 1, ret->comm_size);
	ret->parent = parent;
	free(text);
	return 0;
}

/* /proc writes a newline in a path as \012, and nothing else that way. */
static size_t undo_escapes(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		if (!strncmp(from, "\\012", 4)) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = 0;
	return (size_t)(to - path);
}

int procfs_parse_mapping(char *line, struct procfs_mapping *ret)
{
	unsigned long long start, end, offset, inode;
	unsigned major, minor;
	char rights[5];
	size_t size;
	int at = 0;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, rights, &offset, &major,
		   &minor, &inode, &at) < 7 ||
	    strlen(rights) < 3)
		return -EBADMSG;
	if (rights[2] != 'x')
		return -ENOMSG;
	*ret = (struct procfs_mapping){
		.start = start,
		.end = end,
		.file_offset = offset,
		.name = {.device_major = major, .device_minor = minor, .inode = inode},
	};
	size = at ? undo_escapes(line + at) : 0;
	/* The kernel's records name it so. */
	file_name_set(&ret->name, size ? line + at : "//anon", size ? size : 6);
	return 0;
}

int procfs_each_mapping(pid_t pid, void (*f)(void *arg, const struct procfs_mapping *m), void *arg)
{
	struct procfs_mapping m;
	char *line = NULL;
	size_t room = 0, lines = 0;
	int fd = rights_open_maps(pid);
	FILE *file;

	if (fd < 0)
		return fd;
	file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	while (lines < PROCFS_MAPPINGS_MAX && getline(&line, &room, file) > 0) {
		lines++;
		if (procfs_parse_mapping(line, &m) == 0)
			f(arg, &m);
	}
	free(line);
	fclose(file);
	return lines == PROCFS_MAPPINGS_MAX ? -E2BIG : 0;
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

/* What follows name in /proc/PID/status, up to the end of the line. */
static char *read_status_line(pid_t pid, const char *name)
{
	char *text, *at, *line = NULL;
	size_t size;

	if (read_proc(pid, "status", &text, &size))
		return NULL;
	at = strstr(text, name);
	if (at) {
		at += strlen(name);
		line = strndup(at, strcspn(at, "\n"));
	}
	free(text);
	return line;
}

int procfs_read_user(pid_t pid, uid_t *ret)
{
	char *line = read_status_line(pid, "\nUid:");
	unsigned user;
	int r = line && sscanf(line, "%u", &user) == 1 ? 0 : -ESRCH;

	free(line);
	if (!r)
		*ret = user;
	return r;
}

pid_t procfs_process_of(pid_t tid)
{
	char *line = read_status_line(tid, "\nTgid:");
	pid_t pid = line ? atoi(line) : 0;

	free(line);
	return pid;
}

pid_t procfs_inner_pid(pid_t pid)
{
	char *line = read_status_line(pid, "\nNSpid:"), *last = line ? strrchr(line, '\t') : NULL;
	pid_t inner = pid;

	if (last && atoi(last + 1) > 0)
		inner = atoi(last + 1);
	free(line);
	return inner;
}

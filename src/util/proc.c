/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "util/proc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "util/io.h"

#define SMALL_MAX 65536

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

int proc_parse_mapping(char *line, struct proc_mapping *ret)
{
	unsigned long long start, end, offset, inode;
	unsigned major, minor;
	char rights[5];
	int at = 0;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, rights, &offset, &major,
		   &minor, &inode, &at) < 7 ||
	    strlen(rights) != 4)
		return -EBADMSG;
	*ret = (struct proc_mapping){
		.start = start,
		.end = end,
		.offset = offset,
		.inode = inode,
		.device_major = major,
		.device_minor = minor,
		.readable = rights[0] == 'r',
		.writable = rights[1] == 'w',
		.executable = rights[2] == 'x',
		.private = rights[3] == 'p',
		.path = at ? line + at : "",
		.path_size = at ? undo_escapes(line + at) : 0,
	};
	return 0;
}

char *proc_read_status(pid_t pid, pid_t tid, const char *key)
{
	const size_t length = strlen(key);
	char path[64], *text, *line, *found = NULL;
	size_t size;

	if (tid)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	else
		snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (io_read_file(path, SMALL_MAX, &text, &size))
		return NULL;
	/* The first line is a name, which nobody asks for. */
	for (line = strchr(text, '\n'); line && !found; line = strchr(line + 1, '\n')) {
		const char *value = line + 1 + length;

		if (strncmp(line + 1, key, length) || *value != ':')
			continue;
		value++;
		value += strspn(value, " \t");
		found = strndup(value, strcspn(value, "\n"));
	}
	free(text);
	return found;
}

int proc_read_stat(pid_t pid, struct proc_stat *ret)
{
	unsigned long long start, user, system;
	unsigned flags;
	char path[64], *text, *close;
	size_t size;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	r = io_read_file(path, SMALL_MAX, &text, &size);
	if (r)
		return r;
	/* PID (name) state, and the sixth from there, the thirteenth and fourteenth, and the
	 * twentieth: the name may hold anything. */
	close = strrchr(text, ')');
	if (close && sscanf(close + 1,
			    " %*c %*s %*s %*s %*s %*s %u %*s %*s %*s %*s %*s %*s %llu %llu %*s "
			    "%*s %*s %*s %llu",
			    &flags, &user, &system, &start) == 4)
		*ret = (struct proc_stat){
			.start_ticks = start, .children_ticks = user + system, .flags = flags};
	else
		r = -EBADMSG;
	free(text);
	return r;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/keep/jit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/process/procfs.h"
#include "util/clock.h"
#include "util/foreign.h"

#define HELD_FD_MAX 1024
/* Between two looks for a perf map that is not there: most programs that make code write none. */
#define JIT_WAIT_LEAST_NS 50000000ull /* a map is begun soon after the first code, or never */
#define JIT_WAIT_MOST_NS  32000000000ull

/*
 * A file that says what a process's code is, in the process's own view of the file system. Whoever
 * runs the process may have put any name there, so it must be his own file: nobody is to learn from
 * a report what he may not read. When the process is gone, so is the knowledge of whose it was:
 * then the file must be one that everybody may read.
 */
static int open_of_process(pid_t pid, const char *path)
{
	char root[32] = "/";
	struct stat st;
	uid_t user;
	bool lives = procfs_read_user(pid, &user) == 0;
	int fd;

	if (lives)
		snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	fd = foreign_open_below(root, path, &st);
	if (fd < 0 || (lives ? st.st_uid == user : (st.st_mode & S_IROTH) != 0))
		return fd;
	close(fd);
	return -EACCES;
}

static void name_map(pid_t pid, char *ret, size_t room)
{
	snprintf(ret, room, "/tmp/perf-%d.map", (int)procfs_inner_pid(pid));
}

/* Descriptors are handed out from the lowest, so this bounds how many are kept beside those of the
 * events, which on a large machine are thousands and were open before the first of these. */
static int keep_open(struct jit_files *j, int fd)
{
	if (fd < 0)
		return 0;
	if (!j->held_end)
		j->held_end = fd + HELD_FD_MAX;
	if (fd < j->held_end)
		return fd + 1;
	close(fd);
	return 0;
}

void jit_files_hold(struct jit_files *j, struct process *life)
{
	uint64_t now_ns = clock_monotonic_ns();
	char path[64];

	if (now_ns < life->jit_next_ns)
		return;
	life->jit_wait_ns = life->jit_wait_ns ? 2 * life->jit_wait_ns : JIT_WAIT_LEAST_NS;
	if (life->jit_wait_ns > JIT_WAIT_MOST_NS)
		life->jit_wait_ns = JIT_WAIT_MOST_NS;
	life->jit_next_ns = now_ns + life->jit_wait_ns;
	name_map(life->pid, path, sizeof(path));
	if (!life->map_fd)
		life->map_fd = keep_open(j, open_of_process(life->pid, path));
	if (!life->dump_fd && life->jitdump)
		life->dump_fd = keep_open(j, open_of_process(life->pid, life->jitdump));
}

static int open_or_held(pid_t pid, const char *path, int held)
{
	char self[32];
	/* Once it has ended, the path may be another's. */
	int fd = held && kill(pid, 0) && errno == ESRCH ? -1 : open_of_process(pid, path);

	if (fd >= 0 || !held)
		return fd;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", held - 1);
	return open(self, O_RDONLY | O_CLOEXEC);
}

void jit_files_open(const struct process *life, int *ret_map, int *ret_dump)
{
	char path[64];

	name_map(life->pid, path, sizeof(path));
	*ret_map = open_or_held(life->pid, path, life->map_fd);
	if (life->jitdump)
		*ret_dump = open_or_held(life->pid, life->jitdump, life->dump_fd);
}

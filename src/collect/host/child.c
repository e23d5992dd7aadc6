/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/host/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* 0, or the errno that an exec of it gives: -EISDIR too, which it calls EACCES. */
static int check_program(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	return access(path, X_OK) ? -errno : 0;
}

/* What a shell would make of it, where it looks like a line for one. */
static bool is_shell_line(const char *name)
{
	return strpbrk(name, " \t\n|&;<>()$`*?\"'") != NULL;
}

static int explain(const char *name, int r, struct diag *diag)
{
	if (!*name)
		return diag_fail(diag, EINVAL, "the command's name is empty");
	if (r == ENOENT && is_shell_line(name))
		return diag_fail(diag, r,
				 "cannot run '%s': there is no such program; a line for a shell "
				 "needs one: record -- sh -c '...'",
				 name);
	if (r == ENOENT && !strchr(name, '/'))
		return diag_fail(
			diag, r,
			"cannot run '%s': it is not in $PATH; name it by its path, or have a "
			"shell run what only a shell knows: record -- sh -c '...'",
			name);
	if (r == EISDIR)
		return diag_fail(diag, r,
				 "cannot run '%s': it is a directory; name a program in it", name);
	if (r == EACCES)
		return diag_fail(
			diag, r,
			"cannot run '%s': Permission denied; a program must be executable "
			"(chmod +x), or is named after what runs it (sh FILE, python3 FILE)",
			name);
	return diag_fail(diag, r, "cannot run '%s': %s", name, strerror(r));
}

int child_check(const char *name, struct diag *diag)
{
	const char *path = getenv("PATH") ?: "/bin:/usr/bin";
	int r = -ENOENT;

	if (strchr(name, '/'))
		r = check_program(name);
	for (const char *dir = path; r && *name && !strchr(name, '/');) {
		size_t size = strcspn(dir, ":");
		char *full;
		int one;

		if (asprintf(&full, "%.*s%s%s", (int)size, dir, size ? "/" : "", name) < 0)
			return diag_fail(diag, ENOMEM, "out of memory");
		one = check_program(full);
		free(full);
		/* A directory of that name is passed over, as a shell does. */
		if (one != -ENOENT && one != -ENOTDIR && one != -EISDIR)
			r = one;
		if (!dir[size])
			break;
		dir += size + 1;
	}
	return r ? explain(name, -r, diag) : 0;
}

void child_note_heritage(struct child_heritage *ret)
{
	sigprocmask(SIG_SETMASK, NULL, &ret->blocked);
	getrlimit(RLIMIT_NOFILE, &ret->files);
}

/* Never returns. Both pipes close at the exec. */
static void run_child(char *const argv[], const struct child_heritage *heritage, int go, int said)
{
	char byte;
	ssize_t n;

	do
		n = read(go, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1) {
		setrlimit(RLIMIT_NOFILE, &heritage->files);
		sigprocmask(SIG_SETMASK, &heritage->blocked, NULL);
		execvp(argv[0], argv);
		int r = errno;

		n = write(said, &r, sizeof(r));
	}
	_exit(127);
}

int child_start(char *const argv[], const struct child_heritage *heritage, struct child *ret,
		struct diag *diag)
{
	int go[2], said[2];
	struct child c;

	if (pipe2(go, O_CLOEXEC))
		return diag_fail(diag, errno, "cannot start %s: %s", argv[0], strerror(errno));
	if (pipe2(said, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return diag_fail(diag, errno, "cannot start %s: %s", argv[0], strerror(errno));
	}
	c.pid = fork();
	if (c.pid == 0) {
		close(go[1]);
		run_child(argv, heritage, go[0], said[1]);
	}
	close(go[0]);
	close(said[1]);
	c.go = go[1];
	c.said = said[0];
	c.pidfd = c.pid > 0 ? (int)syscall(SYS_pidfd_open, c.pid, 0) : -1;
	if (c.pidfd < 0) {
		int r = errno;

		close(c.go);
		close(c.said);
		if (c.pid > 0)
			waitpid(c.pid, NULL, 0);
		return diag_fail(diag, r, "cannot start %s: %s", argv[0], strerror(r));
	}
	*ret = c;
	return 0;
}

int child_release(struct child *c, struct diag *diag)
{
	int r = 0;
	ssize_t n;

	/* The child may have been killed meanwhile; then it has ended, which is no failure. */
	if (write(c->go, "g", 1) != 1 && errno != EPIPE)
		return diag_fail(diag, errno, "cannot release the command: %s", strerror(errno));
	close(c->go);
	c->go = -1;
	do
		n = read(c->said, &r, sizeof(r));
	while (n < 0 && errno == EINTR);
	close(c->said);
	c->said = -1;
	if (n != sizeof(r))
		return 0;
	child_reap(c);
	/* It was there and executable when it was checked. */
	if (r == ENOENT)
		return diag_fail(
			diag, r,
			"cannot run the command: what its first line (#!) or its header says "
			"runs it is not there: No such file or directory");
	return diag_fail(diag, r, "cannot run the command: %s", strerror(r));
}

int child_reap(struct child *c)
{
	int status = 0;
	pid_t r;

	do
		r = waitpid(c->pid, &status, 0);
	while (r < 0 && errno == EINTR);
	close(c->pidfd);
	if (r < 0)
		return 127;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void child_cancel(struct child *c)
{
	close(c->go);
	close(c->said);
	child_reap(c);
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "render/dot.h"

extern char **environ;

/* By suffix; NULL format: the text itself. */
static const struct {
	const char *suffix, *format;
} formats[] = {
	{".svg", "svg"}, {".pdf", "pdf"}, {".ps", "ps"}, {".eps", "eps"},
	{".png", "png"}, {".dot", NULL},  {".gv", NULL},
};

static int find_format(const char *path, const char **ret, struct diag *diag)
{
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (!strcmp(dot, formats[i].suffix)) {
			*ret = formats[i].format;
			return 0;
		}
	}
	return diag_fail(diag, EINVAL,
			 "'%s' does not end in .svg, .pdf, .ps, .eps, .png, .dot or .gv, which "
			 "select the format",
			 path);
}

int dot_check_path(const char *path, struct diag *diag)
{
	const char *format;

	return find_format(path, &format, diag);
}

bool dot_is_text(const char *path)
{
	const char *format = "";

	return !find_format(path, &format, NULL) && !format;
}

/* A file without a name that holds the text, to be read from its start. */
static int hold_text(const struct buf *b)
{
	int fd = memfd_create("culprit-dot", MFD_CLOEXEC);
	size_t done = 0;

	while (fd >= 0 && done < b->size) {
		ssize_t n = write(fd, b->data + done, b->size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			close(fd);
			return -1;
		}
		done += (size_t)n;
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

/* The first line of what dot said, without its own name. */
static void read_reason(int fd, char *out, size_t room)
{
	ssize_t n = pread(fd, out, room - 1, 0);
	char *name;

	out[n > 0 ? n : 0] = 0;
	out[strcspn(out, "\n")] = 0;
	name = strncmp(out, "Error: ", 7) ? out : out + 7;
	memmove(out, name, strlen(name) + 1);
}

static int fail_dot(int status, int errors, struct diag *diag)
{
	char reason[256];

	read_reason(errors, reason, sizeof(reason));
	return diag_fail(diag, EIO,
			 "Graphviz's dot failed (%s %d%s%s); write the text instead (-o FILE.dot), "
			 "or try another form (.svg)",
			 WIFEXITED(status) ? "exit status" : "signal",
			 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
			 *reason ? ": " : "", reason);
}

/* What dot says goes to errors: its warnings are of fonts and the like, which are no concern of who
 * gets a drawing. */
static int run_dot(int in, int out, int errors, const char *format, struct diag *diag)
{
	char option[16];
	char *argv[] = {"dot", option, NULL};
	posix_spawn_file_actions_t files;
	int status, r;
	pid_t pid;

	snprintf(option, sizeof(option), "-T%s", format);
	r = posix_spawn_file_actions_init(&files);
	if (r)
		return diag_fail(diag, r, "cannot run dot: %s", strerror(r));
	r = posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
	if (!r)
		r = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	if (!r)
		r = posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
	if (!r)
		r = posix_spawnp(&pid, "dot", &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	if (r == ENOENT)
		return diag_fail(diag, ENOENT,
				 "drawing needs Graphviz's dot, which is not installed: install "
				 "the package graphviz, or write the text (-o FILE.dot)");
	if (r)
		return diag_fail(diag, r, "cannot run dot: %s", strerror(r));
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return diag_fail(diag, errno, "cannot wait for dot: %s", strerror(errno));
	}
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return 0;
	/* Of a full disk dot says less than the disk. */
	if (write(out, "", 1) < 0)
		return diag_fail(diag, errno, "cannot write the drawing: %s", strerror(errno));
	return fail_dot(status, errors, diag);
}

static int copy_text(int in, int out, struct diag *diag)
{
	char block[65536];
	ssize_t n, done;

	while ((n = read(in, block, sizeof(block))) > 0) {
		done = write(out, block, (size_t)n);
		if (done != n)
			return diag_fail(diag, done < 0 ? errno : ENOSPC,
					 "cannot write the drawing: %s",
					 strerror(done < 0 ? errno : ENOSPC));
	}
	return n ? diag_fail(diag, errno, "cannot copy the drawing: %s", strerror(errno)) : 0;
}

/* As far as a file that is made plainly: the user's mask has its say. */
static void let_others_read(int fd)
{
	mode_t mask = umask(077);

	umask(mask);
	fchmod(fd, 0666 & ~mask);
}

int dot_render(const struct buf *b, const char *path, struct diag *diag)
{
	const char *format = NULL;
	char *temporary = NULL;
	int in = -1, out = -1, errors = -1, r;

	r = find_format(path, &format, diag);
	if (r)
		return r;
	if (b->error || asprintf(&temporary, "%s.XXXXXX", path) < 0)
		return diag_fail(diag, ENOMEM, "out of memory");
	in = hold_text(b);
	errors = memfd_create("culprit-dot-errors", MFD_CLOEXEC);
	if (in < 0 || errors < 0) {
		r = diag_fail(diag, errno, "cannot hold the drawing: %s", strerror(errno));
		goto out;
	}
	out = mkostemp(temporary, O_CLOEXEC);
	if (out < 0) {
		r = diag_fail(diag, errno, "cannot write %s: %s", path, strerror(errno));
		goto out;
	}
	let_others_read(out);
	r = format ? run_dot(in, out, errors, format, diag) : copy_text(in, out, diag);
	if (!r && rename(temporary, path))
		r = diag_fail(diag, errno, "cannot write %s: %s", path, strerror(errno));
	if (r)
		unlink(temporary);
out:
	if (in >= 0)
		close(in);
	if (errors >= 0)
		close(errors);
	if (out >= 0)
		close(out);
	free(temporary);
	return r;
}

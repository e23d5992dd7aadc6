/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "sim/launch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "config.h"
#include "util/trusted.h"

#define MODULE_NAME "culprit-qemu.so"
#define QEMU	    "qemu-x86_64"

/* Directories from the program's own: the build's program, its tests and benchmarks. */
static const char *const beside[] = {"/src/sim/plugin", "/../src/sim/plugin",
				     "/../../src/sim/plugin"};

static bool find_in_path(const char *name, char out[LAUNCH_PATH])
{
	const char *path = getenv("PATH") ?: "/usr/bin:/bin", *end;

	if (strchr(name, '/')) {
		snprintf(out, LAUNCH_PATH, "%s", name);
		return access(out, R_OK) == 0;
	}
	for (;; path = end + 1) {
		struct stat st;

		end = strchrnul(path, ':');
		int size = snprintf(out, LAUNCH_PATH, "%.*s/%s", (int)(end - path), path, name);
		if (size < LAUNCH_PATH && end > path && access(out, X_OK) == 0 &&
		    stat(out, &st) == 0 && S_ISREG(st.st_mode))
			return true;
		if (!*end)
			return false;
	}
}

int launch_find(const char *name, char out[LAUNCH_PATH], struct diag *diag)
{
	Elf64_Ehdr head = {0};
	struct stat st;

	if (!find_in_path(name, out))
		return diag_fail(diag, ENOENT, "%s: no such program", name);
	int fd = open(out, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		if (fd >= 0)
			close(fd);
		return diag_fail(diag, ENOEXEC, "%s: cannot be read, or is no file", out);
	}
	ssize_t size = read(fd, &head, sizeof(head));
	close(fd);
	if (size >= 2 && !memcmp(&head, "#!", 2))
		return diag_fail(diag, ENOEXEC,
				 "%s is a script: name its interpreter, as in culprit sim -- "
				 "/usr/bin/python3 SCRIPT",
				 out);
	if (size != sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return diag_fail(diag, ENOEXEC, "%s is no ELF program", out);
	if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != EM_X86_64)
		return diag_fail(diag, ENOEXEC,
				 "%s is no program of x86-64: only such can be simulated", out);
	return 0;
}

static bool program_directory(char out[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);

	if (n <= 0)
		return false;
	out[n] = '\0';
	char *slash = strrchr(out, '/');
	if (slash)
		*slash = '\0';
	return slash != NULL;
}

/* As other modules are: only from where nobody else could have put it, and by its descriptor. */
static int open_module(struct diag *diag)
{
	const char *named = secure_getenv("CULPRIT_QEMU_MODULE");
	char directory[PATH_MAX], path[2 * PATH_MAX];
	struct diag why = {""};
	int fd;

	if (named) {
		fd = open(named, O_RDONLY | O_CLOEXEC);
		return fd >= 0 ? fd : diag_fail(diag, errno, "%s: %s", named, strerror(errno));
	}
	fd = trusted_open(CULPRIT_MODULE_DIR "/" MODULE_NAME, &why);
	for (size_t i = 0;
	     fd == -ENOENT && i < sizeof(beside) / sizeof(*beside) && program_directory(directory);
	     i++) {
		snprintf(path, sizeof(path), "%s%s/" MODULE_NAME, directory, beside[i]);
		fd = trusted_open(path, &why);
	}
	if (fd == -ENOENT)
		return diag_fail(diag, ENOENT,
				 "culprit's module for qemu (" MODULE_NAME ") is not installed");
	if (fd < 0)
		return diag_fail(diag, -fd, "culprit's module for qemu: %s", why.text);
	return fd;
}

/* In the child. */
static void run(const char *qemu, const char *program, char *const *argv, const char *plugin)
{
	const char *args[4096];
	size_t count = 0;
	sigset_t none;

	args[count++] = QEMU;
	args[count++] = "-cpu";
	args[count++] = "max";
	args[count++] = "-plugin";
	args[count++] = plugin;
	args[count++] = "-0";
	args[count++] = argv[0];
	args[count++] = program;
	for (size_t i = 1; argv[i] && count + 1 < sizeof(args) / sizeof(*args); i++)
		args[count++] = argv[i];
	args[count] = NULL;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv(qemu, (char *const *)args);
	_exit(127);
}

int launch(const char *program, char *const *argv, const char *trace, pid_t *ret, struct diag *diag)
{
	char qemu[LAUNCH_PATH], plugin[256];
	int module;
	pid_t child;

	if (!find_in_path(QEMU, qemu))
		return diag_fail(diag, ENOENT,
				 "there is no " QEMU ": the modelled core runs programs under it; "
				 "install qemu-user");
	module = open_module(diag);
	if (module < 0)
		return module;
	snprintf(plugin, sizeof(plugin), "/proc/%d/fd/%d,to=%s", (int)getpid(), module, trace);
	child = fork();
	if (child == 0)
		run(qemu, program, argv, plugin);
	if (child < 0) {
		int r = -errno;

		close(module);
		return diag_fail(diag, -r, "cannot start a process: %s", strerror(-r));
	}
	/* It stays open: the child opens it by our number for it. */
	*ret = child;
	return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "config.h"
#include "machine/llvm_load.h"
#include "util/trusted.h"

#define MODULE_NAME "culprit-llvm.so"

/* Directories from the program's own: the build's program, its tests and benchmarks. */
static const char *const beside[] = {"/src/machine", "/../src/machine", "/../../src/machine"};

static bool program_directory(char out[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);

	if (n <= 0)
		return false;
	out[n] = '\0';
	char *slash = strrchr(out, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

/* Why there is none: err, a positive errno, and the sentence. */
struct refusal {
	int err;
	char why[sizeof(((struct diag *)0)->text)];
};

static void *open_path(const char *path, struct refusal *no)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (!handle)
		*no = (struct refusal){.err = ENOENT};
	if (!handle)
		snprintf(no->why, sizeof(no->why), "%s", dlerror() ?: "dlopen failed");
	return handle;
}

/* What is found by search is executed only where nobody else could have put it, and by its
 * descriptor, so that nobody puts another there meanwhile. */
static void *try_open(const char *directory, const char *below, struct refusal *no)
{
	struct diag diag;
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s%s/" MODULE_NAME, directory, below);
	int fd = trusted_open(path, &diag);
	if (fd < 0) {
		if (fd != -ENOENT) {
			no->err = EPERM;
			snprintf(no->why, sizeof(no->why), "%s", diag.text);
		}
		return NULL;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	void *handle = open_path(path, no);
	close(fd);
	return handle;
}

static void *open_module(struct refusal *no)
{
	const char *named = secure_getenv("CULPRIT_LLVM_MODULE");
	char directory[PATH_MAX];

	if (named)
		return open_path(named, no);
	void *handle = try_open(CULPRIT_MODULE_DIR, "", no);
	if (!handle && program_directory(directory))
		for (size_t i = 0; i < sizeof(beside) / sizeof(*beside) && !handle; i++)
			handle = try_open(directory, beside[i], no);
	return handle;
}

static int fail_load(const struct refusal *no, struct diag *diag)
{
	if (no->err == EPERM)
		return diag_fail(diag, EPERM,
				 "instruction costs of LLVM are not loaded from where others could "
				 "have put them: %s",
				 no->why);
	return diag_fail(diag, no->err,
			 "instruction costs of LLVM 19 are not available: %s; install libllvm19 "
			 "and culprit's module for it",
			 no->why);
}

int llvm_module_load(struct llvm_module **ret, struct diag *diag)
{
	static struct llvm_module module;

	if (!module.table) {
		struct refusal no = {ENOENT, "the module " MODULE_NAME " is not installed"};
		void *handle = open_module(&no);
		const struct llvm_costs_table *table =
			handle ? dlsym(handle, "culprit_llvm_costs") : NULL;
		const struct llvm_text_table *text =
			handle ? dlsym(handle, "culprit_llvm_text") : NULL;

		if (handle && (!table || !text))
			no = (struct refusal){ENOENT, MODULE_NAME " is not culprit's"};
		if (!table || !text)
			return fail_load(&no, diag);
		if (table->abi != LLVM_COSTS_ABI || text->abi != LLVM_TEXT_ABI)
			return diag_fail(diag, EPROTO,
					 "%s is of another version of culprit (interfaces %u and "
					 "%u, not %u and %u): install the two together",
					 MODULE_NAME, table->abi, text->abi, LLVM_COSTS_ABI,
					 LLVM_TEXT_ABI);
		module = (struct llvm_module){table, text};
	}
	*ret = &module;
	return 0;
}

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

static void *try_open(const char *directory, const char *below, char why[256])
{
	char path[2 * PATH_MAX];
	snprintf(path, sizeof(path), "%s%s/" MODULE_NAME, directory, below);
	if (access(path, F_OK))
		return NULL;
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!handle)
		snprintf(why, 256, "%s", dlerror() ?: "dlopen failed");
	return handle;
}

static void *open_module(char why[256])
{
	const char *named = secure_getenv("CULPRIT_LLVM_MODULE");
	char directory[PATH_MAX];
	if (named) {
		void *handle = dlopen(named, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
		if (!handle)
			snprintf(why, 256, "%s", dlerror() ?: "dlopen failed");
		return handle;
	}
	void *handle = try_open(CULPRIT_MODULE_DIR, "", why);
	if (!handle && program_directory(directory))
		for (size_t i = 0; i < sizeof(beside) / sizeof(*beside) && !handle; i++)
			handle = try_open(directory, beside[i], why);
	return handle;
}

int llvm_module_load(struct llvm_module **ret, struct diag *diag)
{
	static struct llvm_module module;
	if (!module.table) {
		char why[256] = "the module " MODULE_NAME " is not installed";
		void *handle = open_module(why);
		const struct llvm_costs_table *table =
			handle ? dlsym(handle, "culprit_llvm_costs") : NULL;
		const struct llvm_text_table *text =
			handle ? dlsym(handle, "culprit_llvm_text") : NULL;
		if (!table || !text)
			return diag_fail(diag, ENOENT,
					 "instruction costs of LLVM 19 cannot be had: %s; install "
					 "libllvm19 and culprit's module for it",
					 why);
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

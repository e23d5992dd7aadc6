/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Control-flow graphs of whole images: time, memory, and the share of functions that are complete.
 *
 *     bench-cfg BUILD [-v] [FILE...]
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../tests/unit/cfg_file.h"
#include "image/worker/worker.h"

struct totals {
	uint64_t functions, complete, instructions, blocks, edges;
	uint64_t why[CFG_REASONS], proven, inferred, never, landings;
};

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void add(struct totals *t, const struct cfg_function *f, bool verbose)
{
	t->functions++;
	t->complete += f->complete;
	t->instructions += f->instruction_count;
	t->blocks += f->block_count;
	t->edges += f->edge_count;
	t->proven += f->tables_proven;
	t->inferred += f->tables_inferred;
	t->never += !f->returns;
	for (int i = 0; i < CFG_REASONS; i++) {
		t->why[i] += f->why[i];
		if (verbose && f->why[i])
			printf("incomplete %#llx: %s, %u\n", (unsigned long long)f->entry,
			       cfg_reason_text((enum cfg_reason)i), f->why[i]);
	}
	for (uint32_t i = 0; verbose && i < f->block_count; i++)
		if (f->blocks[i].flags & CFG_BLOCK_MISSING)
			printf("  missing after %#llx\n",
			       (unsigned long long)f
				       ->instructions[f->blocks[i].first_instruction +
						      f->blocks[i].instruction_count - 1]
				       .address);
}

static int walk(struct cfg_image *image, struct totals *t, bool verbose)
{
	for (size_t i = 0; i < cfg_image_count(image); i++) {
		const struct cfg_function *f;
		const uint64_t entry = cfg_image_entry(image, i);
		int err = cfg_image_function(image, entry, &f);
		if (err == -ENOENT)
			continue;
		if (err < 0)
			return err;
		if (f->entry == entry)
			add(t, f, verbose);
	}
	return 0;
}

/* In a process of its own, whose peak is this image's. */
static int measure(const char *path, bool verbose)
{
	struct cfg_image *image;
	struct totals t = {0};
	struct diag diag = {""};
	struct rusage usage;
	double begin = now_s();
	int err = cfg_image_open_file(path, &image, &diag);
	if (err < 0) {
		fprintf(stderr, "%s: %s\n", path, diag.text);
		return err;
	}
	double opened = now_s();
	err = walk(image, &t, verbose);
	double end = now_s();
	getrusage(RUSAGE_SELF, &usage);
	cfg_image_free(image);
	if (err < 0)
		return err;
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	const double cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
	const double share = t.functions ? 100 * (double)t.complete / (double)t.functions : 100;
	printf("row\tgraphs of all of %s, CPU time\ts\t%.2f\t-\t-\t%s\n", name, cpu_s,
	       strstr(name, "libLLVM") ? "<= 20" : "-");
	printf("row\tits memory\tMB\t%.0f\t-\t-\t%s\n", (double)usage.ru_maxrss / 1024,
	       strstr(name, "libLLVM") ? "<= 1000" : "-");
	printf("row\tits complete functions\t%%\t%.3f\t-\t-\t>= 99.5\n", share);
	printf("note %s: %llu functions (%llu never return), %llu instructions, %llu blocks, "
	       "%llu edges, %llu jump tables proven, %llu inferred; %.2f s by the clock, of which "
	       "%.2f s to open; missing:",
	       name, (unsigned long long)t.functions, (unsigned long long)t.never,
	       (unsigned long long)t.instructions, (unsigned long long)t.blocks,
	       (unsigned long long)t.edges, (unsigned long long)t.proven,
	       (unsigned long long)t.inferred, end - begin, opened - begin);
	for (int i = 0; i < CFG_REASONS; i++)
		if (t.why[i])
			printf(" %llu %s,", (unsigned long long)t.why[i],
			       cfg_reason_text((enum cfg_reason)i));
	printf(" in all in %llu functions\n", (unsigned long long)(t.functions - t.complete));
	return 0;
}

static int measure_apart(const char *path, bool verbose)
{
	int status = 0;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		int err = measure(path, verbose);
		fflush(stdout);
		_exit(err < 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 1;
	return status != 0;
}

int main(int argc, char **argv)
{
	static const char *const wanted[] = {
		"/usr/lib/x86_64-linux-gnu/libLLVM*.so.*",
		"/usr/lib/llvm-*/lib/libLLVM.so.*",
		"/usr/lib/gcc/x86_64-linux-gnu/*/cc1",
		"/usr/bin/python3",
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.*",
	};
	bool verbose = argc > 2 && strcmp(argv[2], "-v") == 0;
	int failed = 0;
	image_worker_dispatch(argc, argv);
	for (int i = 2 + verbose; i < argc; i++)
		failed |= measure_apart(argv[i], verbose);
	for (size_t i = 0; argc < 3 + verbose && i < sizeof(wanted) / sizeof(*wanted); i++) {
		glob_t g;
		if (glob(wanted[i], 0, NULL, &g) != 0)
			continue;
		for (size_t k = 0; k < g.gl_pathc; k++)
			failed |= measure_apart(g.gl_pathv[k], verbose);
		globfree(&g);
	}
	return failed;
}

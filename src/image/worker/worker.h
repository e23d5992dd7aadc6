/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_IMAGE_WORKER_WORKER_H
#define CULPRIT_IMAGE_WORKER_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "image/elf/debug_link.h"
#include "image/facts.h"
#include "image/layout.h"
#include "image/line_table.h"
#include "image/python.h"
#include "image/strip.h"
#include "image/symbols.h"
#include "unwind/unwind.h"
#include "util/diag.h"

/*
 * A child process without privileges that parses foreign formats for its parent: no capabilities,
 * no file system (the parent opens the files and passes descriptors), a seccomp filter, limits on
 * memory and on time per request. When a file kills it, stops it or makes it answer nonsense, the
 * request fails with -EBADMSG or -ETIMEDOUT, naming the reason, and the next request gets a fresh
 * child: a hostile file costs only itself. Starts on first use and ends after image_worker_idle.
 */
struct image_worker;

/*
 * To be called first in main() of every program that uses a worker: the child is this very program,
 * executed again under the name culprit-image-worker, so that it shares no memory with its parent.
 * Does not return in the child.
 */
void image_worker_dispatch(int argc, char **argv);

struct image_worker_limits {
	uint64_t memory_bytes; /* default 1 GiB */
	uint64_t time_ns;      /* CPU time that a request may take; default 30 s */
	uint64_t wait_ns;      /* from a request to its answer, default time_ns */
};

#define IMAGE_WORKER_ADDRESSES_MAX (1u << 20) /* of one image_worker_lines() */
#define IMAGE_WORKER_RANGES_MAX	   (IMAGE_WORKER_ADDRESSES_MAX / 2)

/* One worker serves one thread at a time. NULL when out of memory. */
struct image_worker *image_worker_new(const struct image_worker_limits *limits /* or NULL */);
void image_worker_free(struct image_worker *w);
void image_worker_idle(struct image_worker *w); /* ends the child, to give its memory back */
/* From any thread: makes the current request, and all after it, fail soon. */
void image_worker_cancel(struct image_worker *w);

struct image_worker_stats {
	uint64_t requests; /* that were given to a child */
	uint64_t failed;   /* of these: cost the child its life */
	uint64_t timeouts; /* of failed: took too long */
	uint64_t starts;   /* of children */
	pid_t pid;	   /* of the child, 0 when there is none */
};
struct image_worker_stats image_worker_stats(const struct image_worker *w);
/* CPU time of all its children so far; only for the thread that it serves. */
uint64_t image_worker_cpu_ns(struct image_worker *w);

/* As the functions of the same name without "worker". fd must be a regular file. */
int image_worker_facts(struct image_worker *w, int fd, struct image_facts *ret, struct diag *diag);
int image_worker_identify(struct image_worker *w, int fd, struct image_facts *ret,
			  struct diag *diag);
int image_worker_symbols(struct image_worker *w, int fd, int debug_fd, size_t max_bytes,
			 struct image_symbols **ret, struct diag *diag);
int image_worker_data_symbols(struct image_worker *w, int fd, int debug_fd, size_t max_bytes,
			      struct image_symbols **ret, struct diag *diag);
int image_worker_lines(struct image_worker *w, int fd, int debug_fd, const uint64_t *addresses,
		       size_t count, struct image_lines **ret, struct diag *diag);
/* As image_line_table_read(). */
int image_worker_line_table(struct image_worker *w, int fd, int debug_fd,
			    const struct image_range *ranges, size_t count,
			    struct image_line_table *ret, struct diag *diag);
/* As image_debug_link_read(). */
int image_worker_debug_link(struct image_worker *w, int fd, struct image_debug_link *ret,
			    struct diag *diag);
/* image_perf_map_read(), or image_jitdump_read() when is_jitdump. */
int image_worker_jit(struct image_worker *w, int fd, bool is_jitdump, size_t max_bytes,
		     struct image_symbols **ret, struct diag *diag);
/* As image_starts_read(). */
int image_worker_starts(struct image_worker *w, int fd, size_t max_bytes, uint64_t **ret,
			size_t *ret_count, struct diag *diag);
/* As image_code_read(). */
int image_worker_code(struct image_worker *w, int fd, uint64_t address, size_t size,
		      uint8_t **ret_data, size_t *ret_size, struct diag *diag);

/* The layout (image/layout.h) of an ELF file; max_bytes as for image_layout_load(). */
int image_worker_layout(struct image_worker *w, int fd, uint64_t max_bytes,
			struct image_layout **ret, struct diag *diag);
int image_worker_unwind(struct image_worker *w, int fd, struct image_unwind **ret,
			struct diag *diag);
/* As image_python_read(). */
int image_worker_python(struct image_worker *w, int fd, struct image_python *ret,
			struct diag *diag);
/* As image_strip_describe(), into ret_strip and ret_micros. The strip keeps to its rules; what the
 * operations say is for their user to check. */
int image_worker_strip(struct image_worker *w, int fd, const struct image_strip_wanted *wanted,
		       struct wire_strip *ret_strip, struct wire_micro ret_micros[WIRE_STRIP_BYTES],
		       struct diag *diag);

#endif

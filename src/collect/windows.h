/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CULPRIT_COLLECT_WINDOWS_H
#define CULPRIT_COLLECT_WINDOWS_H

#include <stddef.h>
#include <stdint.h>
#include "bpf/wire_edges.h"
#include "util/diag.h"

/*
 * The interpreter of edge samples in the kernel: loading it, giving it files and decoded code,
 * draining the windows that it saw. bpf/wire_edges.h says what all this is. Knows nothing of images
 * or processes beyond the numbers of the wire.
 */
struct windows;

struct windows_config {
	uint32_t files;	 /* the most that can have a slot */
	uint32_t strips; /* the most that can be decoded */
	uint32_t micros; /* the most operations; 16 bytes each, and they are allocated at once */
	uint32_t ring_bytes; /* a power of two, at least a page */
	const char *types;   /* kernel_types.h; NULL: all of the kernel's; for windows_new only */
};

/*
 * Loads the program, attached to nothing. -EOPNOTSUPP: the machine is not x86-64, or the kernel is
 * older than Linux 6.1 or does not take the program; with the reason.
 */
int windows_new(const struct windows_config *config, struct windows **ret, struct diag *diag);
/* The sampler must be gone, or the program taken out of it. */
void windows_free(struct windows *w);
const void *windows_object(size_t *ret_size); /* as sampler_object(); NULL: there is none */

/* The program, for sampler_set_interpreter(). */
int windows_program(const struct windows *w);

/* The operations: an array of as many as configured, to be written before the strip that uses it.
 */
struct wire_micro *windows_micros(struct windows *w);

/* 0 or -errno: -E2BIG when the table is full. */
int windows_put_file(struct windows *w, const struct wire_file *file, uint32_t slot);
int windows_put_strip(struct windows *w, uint32_t slot, uint32_t number,
		      const struct wire_strip *strip);
void windows_drop_file(struct windows *w, const struct wire_file *file);
void windows_drop_strip(struct windows *w, uint32_t slot, uint32_t number);

/*
 * Hands each window since the last call to take, and forgets it. Records are checked: reason and
 * edge count are in their ranges.
 */
void windows_drain(struct windows *w, void (*take)(void *arg, const struct wire_window *window),
		   void *arg);

/* Sums over all CPUs since the start. */
void windows_count(const struct windows *w, struct wire_window_counters *ret);

/* For people, of an enum wire_end. */
const char *windows_end_text(unsigned reason);

#endif
